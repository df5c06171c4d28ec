// Another process at a SQLite pool's file, for situations that need a separate process.
//
//   sqlite_actor hold-turn PATH     takes the write turn; "held" once it has it; keeps it until killed
//   sqlite_actor fill PATH BYTES    opens the log with no file allowed to grow beyond BYTES, and appends until that
//                                   fails; then lifts the limit and appends once more. "ERRC COUNT" for the entries
//                                   that fitted, then "again ERRC" for the last one
//   sqlite_actor open-as UID URL    opens the log as another user, of the group of the same number: "ERRC MESSAGE"
//   sqlite_actor join URL           opens the log, loads its snapshot, and appends "by the newcomer": ERRC; where that
//   is
//                                   ok, then "read DATA" for each entry behind the snapshot, until killed

#include <grp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>

#include "log/open.h"
#include "log/sqlite/wake_file.h"
#include "log/sqlite/write_turn.h"
#include "log_conformance/waiting.h"

namespace tenure::conformance {
namespace {

std::string_view name_of(Errc code) { return code == Errc{} ? "ok" : to_string(code); }

int hold_turn(const std::string& path) {
  const auto wake = sqlite::WakeFile::open(path, false);
  if (!wake) return 1;
  sqlite::WriteTurn turn(**wake);
  if (!turn.acquire()) return 1;
  std::cout << "held" << std::endl;
  for (;;) pause();
}

void limit_files(rlim_t bytes) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_FSIZE, &limit);
}

int fill(const std::string& path, rlim_t bytes) {
  signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit is an error like that of a full disk
  const auto log = open_log("sqlite:" + path, {});
  if (!log) return 1;
  limit_files(bytes);
  int fitted = 0;
  Errc code{};
  while (code == Errc{}) {
    code = code_of(append(**log, "entry" + std::to_string(fitted) + Bytes(20'000, '.')));
    if (code == Errc{}) ++fitted;
  }
  std::cout << name_of(code) << " " << fitted << std::endl;
  limit_files(RLIM_INFINITY);
  std::cout << "again " << name_of(code_of(append(**log, "room again"))) << std::endl;
  return 0;
}

int open_as(uid_t user, const std::string& url) {
  if (setgroups(0, nullptr) != 0 || setgid(user) != 0 || setuid(user) != 0) return 1;
  const auto log = open_log(url, {});
  std::cout << name_of(code_of(log)) << " " << (log ? "" : log.error().message()) << std::endl;
  return 0;
}

int join(const std::string& url) {
  const auto log = open_log(url, {});
  Errc code = code_of(log);
  Cursor cursor;
  if (log) {
    const auto snapshot = load_snapshot(**log);
    code = code_of(snapshot);
    if (snapshot) {
      cursor = snapshot->cursor;
      code = code_of(append(**log, "by the newcomer"));
    }
  }
  std::cout << name_of(code) << std::endl;
  while (code == Errc{}) {
    const auto run = read(**log, cursor);
    if (!run) break;
    for (const Entry& entry : *run) std::cout << "read " << entry.data << std::endl;
    cursor = Cursor::at(run->back());
  }
  return 0;
}

int act(int count, char** words) {
  const std::string what = count > 2 ? words[1] : "";
  if (what == "hold-turn") return hold_turn(words[2]);
  if (what == "join") return join(words[2]);
  if (what == "fill" && count == 4) return fill(words[2], static_cast<rlim_t>(std::atoll(words[3])));
  if (what == "open-as" && count == 4) return open_as(static_cast<uid_t>(std::atoi(words[2])), words[3]);
  return 2;
}

}  // namespace
}  // namespace tenure::conformance

int main(int count, char** words) { return tenure::conformance::act(count, words); }
