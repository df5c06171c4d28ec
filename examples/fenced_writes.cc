// The database itself rejects a writer whose tenure has ended. Every write carries the epoch of its hold, and the row
// keeps the highest epoch that has written:
//
//     UPDATE accounts SET balance = ?1, epoch = ?2 WHERE id = ?3 AND epoch <= ?2
//
// No lease and no clock can prevent a paused process from executing one more statement. With this condition, that
// statement changes nothing.

#include <sqlite3.h>

#include <condition_variable>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tenure/tenure.hpp>

using namespace std::chrono_literals;

namespace {

class Accounts {
 public:
  Accounts() {
    sqlite3_open(":memory:", &db_);
    sqlite3_exec(db_,
                 "CREATE TABLE accounts(id TEXT PRIMARY KEY, balance INTEGER, epoch INTEGER);"
                 "INSERT INTO accounts VALUES('anna', 0, 0)",
                 nullptr, nullptr, nullptr);
  }
  ~Accounts() { sqlite3_close(db_); }
  Accounts(const Accounts&) = delete;
  Accounts& operator=(const Accounts&) = delete;

  // False if a later holder has written already.
  bool write(const std::string& id, int balance, std::uint64_t epoch) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(db_, "UPDATE accounts SET balance = ?1, epoch = ?2 WHERE id = ?3 AND epoch <= ?2", -1,
                       &statement, nullptr);
    sqlite3_bind_int(statement, 1, balance);
    sqlite3_bind_int64(statement, 2, static_cast<sqlite3_int64>(epoch));
    sqlite3_bind_text(statement, 3, id.c_str(), -1, nullptr);
    sqlite3_step(statement);
    const bool written = sqlite3_changes(db_) == 1;
    sqlite3_finalize(statement);
    return written;
  }

 private:
  sqlite3* db_ = nullptr;
};

// Remembers each job it was given, as a process does that was paused in the middle of one.
class Writer final : public tenure::Handler {
 public:
  tenure::Outcome start(tenure::Job& job) override {
    std::lock_guard lock(mutex_);
    job_ = job;
    changed_.notify_all();
    return {};
  }
  tenure::Job job() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return job_.has_value(); });
    return *job_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<tenure::Job> job_;
};

}  // namespace

int main(int argc, char** argv) {
  tenure::Pool pool("accounts", argc > 1 ? argv[1] : "memory:accounts");
  Accounts accounts;
  const auto before = std::make_shared<Writer>();
  const auto after = std::make_shared<Writer>();
  tenure::Worker old_worker = pool.add_worker(before).value();
  pool.dispatch("anna").value().wait_started(10s).value();
  const tenure::Job stale = before->job();
  if (!accounts.write("anna", 100, stale.epoch())) return 1;

  pool.add_worker(after).value();
  old_worker.remove().value();
  const tenure::Job fresh = after->job();
  if (!accounts.write("anna", 200, fresh.epoch())) return 1;

  const bool refused = !accounts.write("anna", 101, stale.epoch());
  std::cout << "epoch " << stale.epoch() << " after " << fresh.epoch() << ": " << (refused ? "refused" : "WRITTEN")
            << '\n';
  return refused ? 0 : 1;
}
