#include "demo/ledger.h"

#include <sqlite3.h>

namespace tenure::demo {
namespace {

constexpr int kBusyMs = 5'000;

// Data that was handed to the kernel survives a killed process. The demo does not need more.
constexpr char kOpen[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;";
constexpr char kSchema[] =
    "CREATE TABLE tenants(key TEXT PRIMARY KEY, ticks INTEGER NOT NULL, epoch INTEGER NOT NULL, worker TEXT NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE TABLE journal(id INTEGER PRIMARY KEY AUTOINCREMENT, what INTEGER NOT NULL, key TEXT NOT NULL,"
    " worker TEXT NOT NULL, epoch INTEGER NOT NULL, value INTEGER NOT NULL, at_ns INTEGER NOT NULL);";

}  // namespace

// A statement for one use. There are a few hundred a second, and preparing one costs microseconds.
class Ledger::Statement {
 public:
  Statement(sqlite3* database, const char* sql) { sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(std::int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  Statement& bind(std::uint64_t number) { return bind(static_cast<std::int64_t>(number)); }

  // SQLITE_ROW, SQLITE_DONE or an error, also if the statement could not be prepared.
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  std::int64_t number(int column) { return sqlite3_column_int64(statement_, column); }
  std::uint64_t natural(int column) { return static_cast<std::uint64_t>(number(column)); }
  std::string text(int column) {
    return {reinterpret_cast<const char*>(sqlite3_column_text(statement_, column)),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

Ledger::Ledger(sqlite3* database) : database_(database) { sqlite3_busy_timeout(database_, kBusyMs); }

Ledger::~Ledger() { sqlite3_close_v2(database_); }

Result<std::unique_ptr<Ledger>> Ledger::open(const std::string& path) {
  sqlite3* database = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &database,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Ledger> ledger(new Ledger(database));
  if (opened != SQLITE_OK) return ledger->failure("open ledger");
  if (Status ready = ledger->run(kOpen); !ready) return Failure(ready.error());
  return ledger;
}

Result<std::unique_ptr<Ledger>> Ledger::create(const std::string& path, const std::vector<std::string>& keys) {
  Result<std::unique_ptr<Ledger>> ledger = open(path);
  if (!ledger) return ledger;
  if (Status made = (*ledger)->run(kSchema); !made) return Failure(made.error());
  const Status filled = (*ledger)->in_transaction("create ledger", [&]() -> Status {
    for (const std::string& key : keys) {
      Statement insert((*ledger)->database_, "INSERT INTO tenants VALUES(?, 0, 0, '')");
      if (insert.bind(key).step() != SQLITE_DONE) return (*ledger)->failure("create ledger");
    }
    return {};
  });
  if (!filled) return Failure(filled.error());
  return ledger;
}

Result<std::optional<std::uint64_t>> Ledger::begin(const std::string& key, std::uint64_t epoch,
                                                   const std::string& worker, Instant began) {
  std::optional<std::uint64_t> ticks;
  const Status done = in_transaction("begin", [&]() -> Status {
    Statement claim(database_,
                    "UPDATE tenants SET epoch = ?1, worker = ?2 WHERE key = ?3 AND epoch <= ?1 RETURNING ticks");
    const int step = claim.bind(epoch).bind(worker).bind(key).step();
    if (step == SQLITE_ROW) {
      ticks = claim.natural(0);
      return journal(JournalLine::What::begin, key, worker, epoch, 0, began);
    }
    if (step != SQLITE_DONE) return failure("begin");
    const Result<std::uint64_t> newer = epoch_of(key);
    if (!newer) return Failure(newer.error());
    return journal(JournalLine::What::refused, key, worker, epoch, *newer, clock_.now());
  });
  if (!done) return Failure(done.error());
  return ticks;
}

Status Ledger::write(std::vector<TickWrite>& ticks, const std::string& worker) {
  return in_transaction("tick", [&]() -> Status {
    for (TickWrite& tick : ticks) {
      const Result<bool> taken = write_one(tick, worker);
      if (!taken) return Failure(taken.error());
      tick.taken = *taken;
    }
    return {};
  });
}

Result<bool> Ledger::write_one(const TickWrite& tick, const std::string& worker) {
  Statement update(database_, "UPDATE tenants SET ticks = ?1, epoch = ?2, worker = ?3 WHERE key = ?4 AND epoch <= ?2");
  if (update.bind(tick.ticks).bind(tick.epoch).bind(worker).bind(tick.key).step() != SQLITE_DONE) {
    return failure("tick");
  }
  if (sqlite3_changes(database_) == 1) {
    const Status told = journal(JournalLine::What::tick, tick.key, worker, tick.epoch, tick.ticks, clock_.now());
    return told ? Result<bool>(true) : Failure(told.error());
  }
  const Result<std::uint64_t> newer = epoch_of(tick.key);
  if (!newer) return Failure(newer.error());
  const Status told = journal(JournalLine::What::refused, tick.key, worker, tick.epoch, *newer, clock_.now());
  return told ? Result<bool>(false) : Failure(told.error());
}

Result<std::uint64_t> Ledger::epoch_of(const std::string& key) {
  Statement select(database_, "SELECT epoch FROM tenants WHERE key = ?");
  if (select.bind(key).step() != SQLITE_ROW) return failure("look up a tenant");
  return select.natural(0);
}

Status Ledger::journal(JournalLine::What what, const std::string& key, const std::string& worker, std::uint64_t epoch,
                       std::uint64_t value, Instant at) {
  Statement insert(database_, "INSERT INTO journal(what, key, worker, epoch, value, at_ns) VALUES(?, ?, ?, ?, ?, ?)");
  insert.bind(static_cast<std::int64_t>(what)).bind(key).bind(worker).bind(epoch).bind(value);
  if (insert.bind(std::int64_t{at.since_boot.count()}).step() != SQLITE_DONE) return failure("journal");
  return {};
}

Result<std::vector<JournalLine>> Ledger::journal_after(std::int64_t id) {
  Statement select(database_,
                   "SELECT id, what, key, worker, epoch, value, at_ns FROM journal WHERE id > ? ORDER BY id");
  select.bind(id);
  std::vector<JournalLine> lines;
  int step = 0;
  while ((step = select.step()) == SQLITE_ROW) {
    lines.push_back({select.number(0), static_cast<JournalLine::What>(select.number(1)), select.text(2), select.text(3),
                     select.natural(4), select.natural(5), select.number(6)});
  }
  if (step != SQLITE_DONE) return failure("read the journal");
  return lines;
}

Status Ledger::drop_journal_up_to(std::int64_t id) {
  Statement drop(database_, "DELETE FROM journal WHERE id <= ?");
  if (drop.bind(id).step() != SQLITE_DONE) return failure("drop the journal");
  return {};
}

Result<std::vector<TenantRow>> Ledger::tenants() {
  Statement select(database_, "SELECT key, worker, ticks FROM tenants ORDER BY key");
  std::vector<TenantRow> rows;
  int step = 0;
  while ((step = select.step()) == SQLITE_ROW) rows.push_back({select.text(0), select.text(1), select.natural(2)});
  if (step != SQLITE_DONE) return failure("read the tenants");
  return rows;
}

bool Ledger::free_within(Nanos patience) {
  sqlite3_busy_timeout(database_, static_cast<int>(to_ms(patience)));
  const bool free = run("BEGIN IMMEDIATE").has_value();
  if (free) static_cast<void>(run("ROLLBACK"));
  sqlite3_busy_timeout(database_, kBusyMs);
  return free;
}

template <class Work>
Status Ledger::in_transaction(const char* operation, Work work) {
  if (Status begun = run("BEGIN IMMEDIATE"); !begun) return failure(operation);
  Status done = work();
  if (done) done = run("COMMIT");
  if (!done) static_cast<void>(run("ROLLBACK"));  // the first error is the one to tell
  return done;
}

Status Ledger::run(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return failure("ledger");
}

Failure Ledger::failure(const char* operation) const {
  return fail(Errc::unavailable, operation, sqlite3_errmsg(database_));
}

}  // namespace tenure::demo
