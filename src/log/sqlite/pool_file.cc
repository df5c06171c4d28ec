#include "log/sqlite/pool_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "log/sqlite/bus_guard.h"
#include "log/sqlite/checkpointer.h"
#include "log/sqlite/errors.h"
#include "log/sqlite/log_clock.h"
#include "log/sqlite/schema.h"
#include "log/sqlite/side_files.h"

namespace tenure::sqlite {
namespace {

constexpr Nanos kTryAgain = std::chrono::milliseconds(50);

// The files that are open for writing, by path: one writer per file and process. The lock is held throughout an
// opening, so that two openers do not start two writers.
struct Registry {
  std::timed_mutex mutex;
  std::map<std::string, std::weak_ptr<PoolFile>> files;  // guarded by mutex

  static Registry& instance() {
    static Registry* const registry = new Registry;  // never destroyed, because handles may outlive static destructors
    return *registry;
  }
};

}  // namespace

Result<std::shared_ptr<PoolFile>> PoolFile::open(const SqliteSettings& settings, const LogOptions& options,
                                                 TurnPatience patience) {
  if (options.read_only) return open_for_reading(settings, options);
  const BootClock clock;
  const Instant began = clock.now();
  // A file beside the database may just have been truncated or removed. Processes that use the pool notice within half
  // a second, release their files, and create it again.
  for (;;) {
    auto file = open_known(settings, options, patience);
    const bool may_pass = !file && file.error().code == Errc::unavailable;
    if (!may_pass || clock.now() - began >= patience.stuck) return file;
    std::this_thread::sleep_for(kTryAgain);
  }
}

Result<std::shared_ptr<PoolFile>> PoolFile::open_known(const SqliteSettings& settings, const LogOptions& options,
                                                       TurnPatience patience) {
  Registry& registry = Registry::instance();
  const std::unique_lock lock(registry.mutex, patience.stuck);
  if (!lock) return fail(Errc::unavailable, "sqlite open", settings.path + ": this process is opening another file");
  std::erase_if(registry.files, [](const auto& named) { return named.second.expired(); });
  std::weak_ptr<PoolFile>& known = registry.files[settings.path];
  if (auto file = known.lock(); file && file->still_there()) {
    if (Status ours = check_owner(settings.path, file->pool(), file->shards(), options); !ours) {
      return Failure(ours.error());
    }
    file->writer().require(settings.sync);
    return file;
  }
  auto file = open_for_writing(settings, options, patience);
  if (!file) return file;
  (*file)->writer().require(settings.sync);
  known = *file;
  return file;
}

Result<std::shared_ptr<PoolFile>> PoolFile::open_for_reading(const SqliteSettings& settings,
                                                             const LogOptions& options) {
  const std::string& path = settings.path;
  const auto facts = facts_of(path);
  if (!facts) {
    return fail(Errc::refused, "sqlite open",
                path + ": no pool is here, and a read-only opener does not create one: start a worker first");
  }
  let_bus_errors_through();
  auto connection = Connection::open(path, Connection::Mode::existing);
  if (!connection) return Failure(connection.error());
  const Result<std::uint32_t> shards = check_schema(*connection, options);
  if (!shards) return Failure(shards.error());
  auto wake = WakeFile::open(path, true);
  if (!wake) return Failure(wake.error());
  std::shared_ptr<PoolFile> file(
      new PoolFile(path, options.pool, *shards, std::move(*wake), Proof::of(path, *connection)));
  file->kept_ = std::move(*connection);
  return file;
}

Result<std::shared_ptr<PoolFile>> PoolFile::open_for_writing(const SqliteSettings& settings, const LogOptions& options,
                                                             TurnPatience patience) {
  const std::string& path = settings.path;
  let_bus_errors_through();
  if (facts_of(path) && faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) return not_writable(path);
  auto wake = WakeFile::open(path, false);
  if (!wake) return Failure(wake.error());
  // While this process has the write turn, no other creates, upgrades or removes the pool.
  WriteTurn turn(**wake);
  if (const Status taken = turn.acquire(patience); !taken) return Failure(taken.error());
  if (const Status settled = settle_files(settings, *(*wake)->map()); !settled) return Failure(settled.error());
  auto connection = Connection::open(path, Connection::Mode::create);
  if (!connection) return Failure(connection.error());
  const Result<std::uint32_t> shards = create_or_check_schema(*connection, options);
  if (!shards) return Failure(shards.error());
  share_files(path);
  std::shared_ptr<PoolFile> file(
      new PoolFile(path, options.pool, *shards, std::move(*wake), Proof::of(path, *connection)));
  // Another handle of this process may still have replaced files open, and SQLite would share them.
  if (const Status there = file->still_there(); !there) {
    return fail(Errc::unavailable, "sqlite open", there.error().context + ", and is still in use by this process");
  }
  note_files(file->proof_, *file->wake_->map());
  const Status started = file->start_writer(std::move(*connection));
  turn.release();
  if (!started) return Failure(started.error());
  return file;
}

Status PoolFile::start_writer(Connection connection) {
  const auto offset_ms = boot_offset_ms(connection, BootClock());
  if (!offset_ms) return Failure(offset_ms.error());
  auto entries = EntryWriter::prepare(connection, *offset_ms);
  if (!entries) return Failure(entries.error());
  auto checkpoints = connect();
  if (!checkpoints) return Failure(checkpoints.error());
  auto syncs = connect();
  if (!syncs) return Failure(syncs.error());
  writer_ =
      std::make_unique<Writer>(std::move(connection), std::move(*entries), std::move(*checkpoints), std::move(*syncs),
                               *wake_, recent_, [this](Connection& writing) { return prove_for_writing(writing); });
  return {};
}

// With the write turn held. A new wake file does not know yet which files belong together.
Status PoolFile::prove_for_writing(Connection& connection) {
  const auto map = wake_->map();
  if (Status there = still_there(); !there) {
    if (are_noted(proof_, *map) && proof_.can_save_wal(connection)) checkpoint(connection);
    return there;
  }
  if (!has_noted(*map)) note_files(proof_, *map);
  return {};
}

Status PoolFile::has(const Connection& connection) const {
  if (proof_.holds_for(connection)) return {};
  return fail(Errc::unavailable, "sqlite open", path_ + ": the files beside it are being replaced; it is tried again");
}

}  // namespace tenure::sqlite
