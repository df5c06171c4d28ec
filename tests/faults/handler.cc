// The handler of the fault tests, run by `tenure work --exec`. A resident writes to the ledger as fast as a database
// without a disk allows, each time with its epoch. A task writes its payload; one that begins with "poison" fails for
// good. Every step goes to the history file with the time of CLOCK_BOOTTIME, in one write, so that lines of several
// processes do not mix.
//
//   faults_handler LEDGER HISTORY

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

namespace {

constexpr int kNeverAgain = 65;

volatile std::sig_atomic_t stopping = 0;

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class History {
 public:
  explicit History(const char* path) : file_(open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {}

  void say(const char* what) const {
    const std::string line = std::string(what) + " " + std::to_string(now_ns()) + " " + environment("TENURE_KEY") +
                             " " + environment("TENURE_EPOCH") + " " + environment("TENURE_WORKER") + "\n";
    if (write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::_Exit(3);
  }

 private:
  int file_;
};

// True if the statement changed something: the ledger refuses an epoch that is older than the last one it has seen.
bool run(sqlite3* ledger, const char* sql, const std::string& key, std::int64_t epoch, const std::string& text) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(ledger, sql, -1, &statement, nullptr) != SQLITE_OK) std::_Exit(4);
  sqlite3_bind_text(statement, 1, key.c_str(), -1, SQLITE_TRANSIENT);
  sqlite3_bind_int64(statement, 2, epoch);
  if (sqlite3_bind_parameter_count(statement) > 2) sqlite3_bind_text(statement, 3, text.c_str(), -1, SQLITE_TRANSIENT);
  const int done = sqlite3_step(statement);
  sqlite3_finalize(statement);
  if (done != SQLITE_DONE) std::_Exit(5);
  return sqlite3_changes(ledger) != 0;
}

int resident(sqlite3* ledger, const History& history) {
  const std::string key = environment("TENURE_KEY");
  const std::int64_t epoch = std::stoll(environment("TENURE_EPOCH"));
  history.say("begin");
  while (stopping == 0) {
    const bool accepted = run(ledger,
                              "INSERT INTO held VALUES(?1, ?2, 1) ON CONFLICT(key) DO UPDATE SET epoch = ?2, "
                              "writes = writes + 1 WHERE epoch <= ?2",
                              key, epoch, "");
    history.say(accepted ? "write" : "refused");
    usleep(20'000);
  }
  history.say("end");
  return 0;
}

int task(sqlite3* ledger, const History& history) {
  std::ifstream file(environment("TENURE_DIR") + "/payload");
  const std::string payload{std::istreambuf_iterator<char>(file), {}};
  history.say("begin");
  if (payload.starts_with("poison")) {
    history.say("end");
    return kNeverAgain;
  }
  run(ledger, "INSERT INTO done VALUES(?1, ?2, ?3)", environment("TENURE_KEY"), std::stoll(environment("TENURE_EPOCH")),
      payload);
  history.say("end");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 65;
  struct sigaction action{};
  action.sa_handler = [](int) { stopping = 1; };
  sigaction(SIGTERM, &action, nullptr);
  const History history(words[2]);
  sqlite3* ledger = nullptr;
  if (sqlite3_open(words[1], &ledger) != SQLITE_OK) return 1;
  sqlite3_busy_timeout(ledger, 10'000);
  sqlite3_exec(ledger, "PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);
  const int exit = environment("TENURE_KIND") == "task" ? task(ledger, history) : resident(ledger, history);
  sqlite3_close(ledger);
  return exit;
}
