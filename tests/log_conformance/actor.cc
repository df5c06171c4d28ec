// Another process of a pool, for the suite: opens a log and does one thing. Reports in lines.
//
//   actor URL append PREFIX COUNT   appends PREFIX-0, PREFIX-1, …, keeping a few outstanding; "POSITION DATA" for each
//                                   acknowledged one
//   actor URL lose-answer DATA      appends DATA and kills itself instead of reporting the acknowledgement
//   actor URL begin-anew DATA       reads, "read ENTRY" for each, until a read fails; "ERRC" then; loads the snapshot
//                                   and appends DATA
//   actor URL measure COUNT         reads COUNT entries whose data is the CLOCK_BOOTTIME at which they were sent;
//                                   "ready" when it starts to, then "NANOSECONDS" for each

#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "log/open.h"
#include "log_conformance/waiting.h"

namespace tenure::conformance {
namespace {

constexpr int kOutstandingMax = 32;

// One write per line: what a killed process has reported is whole lines.
void report(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(3);
}

int append_all(Log& log, const std::string& prefix, int count) {
  std::mutex mutex;
  std::condition_variable changed;
  int outstanding = 0;
  bool failed = false;
  std::unique_lock lock(mutex);
  for (int i = 0; i < count && !failed; ++i) {
    changed.wait(lock, [&] { return outstanding < kOutstandingMax; });
    ++outstanding;
    lock.unlock();
    const std::string data = prefix + "-" + std::to_string(i);
    log.append(Lane::data, data, [&, data](Result<Position> position) {
      if (position)
        report(std::to_string(*position) + " " + data);
      else
        std::cerr << position.error().message() << "\n";
      std::lock_guard relock(mutex);
      failed = failed || !position;
      --outstanding;
      changed.notify_one();
    });
    lock.lock();
  }
  changed.wait(lock, [&] { return outstanding == 0; });
  return failed ? 1 : 0;
}

int lose_answer(Log& log, const std::string& data) {
  Answer<Result<Position>> never;
  const auto unanswered = never.callback();
  log.append(Lane::data, data, [&](const Result<Position>&) { ::raise(SIGKILL); });
  (void)never.get();
  return 1;
}

int begin_anew(Log& log, const std::string& data) {
  Cursor cursor;
  auto run = read(log, cursor);
  for (; run; run = read(log, cursor)) {
    for (const Entry& entry : *run) report("read " + entry.data);
    cursor = Cursor::at(run->back());
  }
  report(std::string(to_string(run.error().code)));
  return load_snapshot(log) && append(log, data) ? 0 : 1;
}

int measure(Log& log, int count) {
  Cursor cursor;
  report("ready");
  while (count > 0) {
    const auto run = read(log, cursor);
    const Nanos now = BootClock().now().since_boot;
    if (!run) return 1;
    for (const Entry& entry : *run) {
      report(std::to_string(now.count() - std::stoll(entry.data)));
      --count;
    }
    cursor = Cursor::at(run->back());
  }
  return 0;
}

int act(int count, char** words) {
  if (count < 4) return 2;
  auto log = open_log(words[1], {});
  if (!log) {
    std::cerr << log.error().message() << "\n";
    return 1;
  }
  const std::string what = words[2];
  if (what == "append" && count == 5) return append_all(**log, words[3], std::atoi(words[4]));
  if (what == "lose-answer") return lose_answer(**log, words[3]);
  if (what == "begin-anew") return begin_anew(**log, words[3]);
  if (what == "measure") return measure(**log, std::atoi(words[3]));
  return 2;
}

}  // namespace
}  // namespace tenure::conformance

int main(int count, char** words) { return tenure::conformance::act(count, words); }
