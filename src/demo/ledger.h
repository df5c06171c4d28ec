#pragma once

// The tenants' database, like the database of any user of a pool. It has a row for each tenant with its ticks and the
// epoch of the last holder that wrote it. The statement itself refuses a write with a smaller epoch:
//
//   UPDATE tenants SET ticks = ?, epoch = ?, worker = ? WHERE key = ? AND epoch <= ?
//
// For the audit there is a journal of begins, ticks and refusals, in the order of their commits. A journal line is
// committed together with its write.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "demo/audit.h"

struct sqlite3;

namespace tenure::demo {

struct TickWrite {
  std::string key;
  std::uint64_t epoch = 0;
  std::uint64_t ticks = 0;
  bool taken = false;  // the answer
};

struct TenantRow {
  std::string key;
  std::string worker;
  std::uint64_t ticks = 0;
};

// Not thread-safe.
class Ledger {
 public:
  static Result<std::unique_ptr<Ledger>> create(const std::string& path, const std::vector<std::string>& keys);
  static Result<std::unique_ptr<Ledger>> open(const std::string& path);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // For holders. Claims the row for the epoch and returns the ticks so far, or nothing if it came too late.
  Result<std::optional<std::uint64_t>> begin(const std::string& key, std::uint64_t epoch, const std::string& worker,
                                             Instant began);
  // One transaction. The epoch of each write is checked separately.
  Status write(std::vector<TickWrite>& ticks, const std::string& worker);

  // For the parent.
  Result<std::vector<JournalLine>> journal_after(std::int64_t id);
  Status drop_journal_up_to(std::int64_t id);
  Result<std::vector<TenantRow>> tenants();
  // Whether writes are possible: a process that was frozen inside a transaction blocks all others.
  bool free_within(Nanos patience);

 private:
  class Statement;

  explicit Ledger(sqlite3* database);
  Status run(const char* sql);
  Failure failure(const char* operation) const;
  Status journal(JournalLine::What what, const std::string& key, const std::string& worker, std::uint64_t epoch,
                 std::uint64_t value, Instant at);
  Result<bool> write_one(const TickWrite& tick, const std::string& worker);
  Result<std::uint64_t> epoch_of(const std::string& key);
  template <class Work>
  Status in_transaction(const char* operation, Work work);

  sqlite3* database_;
  BootClock clock_;
};

}  // namespace tenure::demo
