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
#include "log/sqlite/whereabouts.h"

namespace tenure::sqlite {
namespace {

constexpr Nanos kTryAgain = std::chrono::milliseconds(50);

// The files that are open for writing, by the path that only this pool can have: one writer per file and process. The
// lock is held throughout an opening, so that two openers do not start two writers.
struct Registry {
  std::timed_mutex mutex;
  std::map<std::string, std::weak_ptr<PoolFile>> files;  // guarded by mutex

  static Registry& instance() {
    static Registry* const registry = new Registry;  // never destroyed, because handles may outlive static destructors
    return *registry;
  }
};

bool may_write(const std::string& path) {
  return !facts_of(path) || faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

Failure no_such_pool(const SqliteSettings& settings, const LogOptions& options) {
  return fail(Errc::no_such_pool, "sqlite open", settings.path + ": there is no pool '" + options.pool + "'");
}

// The opener starts over.
Failure moved(const std::string& path) {
  return fail(Errc::unavailable, "sqlite open", path + ": the file was just created or removed; it is tried again");
}

// Whether the file at the path is another pool's. With the write turn held: the file's identity would prove nothing,
// since a new file may have got the number of one that was removed.
Result<bool> is_others(const std::string& path, const std::string& pool) {
  if (!facts_of(path)) return false;
  auto connection = Connection::open(path, Connection::Mode::existing);
  const auto owner =
      connection ? pool_in(*connection) : Result<std::optional<std::string>>(Failure(connection.error()));
  if (owner) return *owner && **owner != pool;
  if (!facts_of(path)) return false;  // it has just been removed
  return Failure(owner.error());
}

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
  std::weak_ptr<PoolFile>& known = registry.files[settings.own_path];
  if (auto file = known.lock(); file && file->still_there()) {
    if (Status ours = check_owner(file->path_, file->pool(), file->shards(), options); !ours) {
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
  const std::string& path = facts_of(settings.own_path) ? settings.own_path : settings.path;
  if (!facts_of(path)) {
    return fail(Errc::refused, "sqlite open",
                path + ": no pool is here, and a read-only opener does not create one: start a worker first");
  }
  let_bus_errors_through();
  auto connection = Connection::open(path, Connection::Mode::existing);
  if (!connection) return Failure(connection.error());
  if (path == settings.path) {
    const auto owner = pool_in(*connection);
    if (owner && *owner && **owner != options.pool) return no_such_pool(settings, options);
  }
  const Result<std::uint32_t> shards = check_schema(*connection, options);
  if (!shards) return Failure(shards.error());
  auto wake = WakeFile::open(path, true);
  if (!wake) return Failure(wake.error());
  std::shared_ptr<PoolFile> file(new PoolFile(path, path == settings.path ? settings.own_path : "", options.pool,
                                              *shards, std::move(*wake), Proof::of(path, *connection)));
  file->kept_ = std::move(*connection);
  return file;
}

Result<std::shared_ptr<PoolFile>> PoolFile::open_for_writing(const SqliteSettings& settings, const LogOptions& options,
                                                             TurnPatience patience) {
  let_bus_errors_through();
  if (facts_of(settings.own_path)) return open_own(settings, options, patience);
  if (!options.create && !facts_of(settings.path)) return no_such_pool(settings, options);
  auto file = open_first(settings, options, patience);
  if (!file || *file) return file;
  return open_own(settings, options, patience);
}

Result<std::shared_ptr<PoolFile>> PoolFile::open_first(const SqliteSettings& settings, const LogOptions& options,
                                                       TurnPatience patience) {
  const std::string& path = settings.path;
  if (!may_write(path)) return not_writable(path);
  auto wake = WakeFile::open(path, false);
  if (!wake) return Failure(wake.error());
  // While this process has the write turn, no other creates, upgrades or removes the pool.
  WriteTurn turn(**wake);
  if (const Status taken = turn.acquire(patience); !taken) return Failure(taken.error());
  if (facts_of(settings.own_path)) return moved(settings.own_path);
  if (!options.create && !facts_of(path)) return no_such_pool(settings, options);
  if (!facts_of(path) && belongs_apart(settings)) return std::shared_ptr<PoolFile>();
  return open_here(settings, path, options, *wake, turn, true);
}

Result<std::shared_ptr<PoolFile>> PoolFile::open_own(const SqliteSettings& settings, const LogOptions& options,
                                                     TurnPatience patience) {
  const std::string& path = settings.own_path;
  const bool there = facts_of(path).has_value();
  if (!there && !options.create) return no_such_pool(settings, options);
  if (!may_write(path)) return not_writable(path);
  auto wake = WakeFile::open(path, false);
  if (!wake) return Failure(wake.error());
  WriteTurn turn(**wake);
  if (const Status taken = turn.acquire(patience); !taken) return Failure(taken.error());
  if (facts_of(path)) return open_here(settings, path, options, *wake, turn, false);
  // It was removed meanwhile, and may be created at the other path.
  if (there) return moved(path);
  auto first_wake = WakeFile::open(settings.path, false);
  if (!first_wake) return Failure(first_wake.error());
  WriteTurn first_turn(**first_wake);
  if (const Status taken = first_turn.acquire(patience); !taken) return Failure(taken.error());
  const Result<bool> in_the_way = is_others(settings.path, options.pool);
  if (!in_the_way) return Failure(in_the_way.error());
  if (!*in_the_way && !belongs_apart(settings)) return moved(settings.path);
  return open_here(settings, path, options, *wake, turn, false);
}

Result<std::shared_ptr<PoolFile>> PoolFile::open_here(const SqliteSettings& settings, const std::string& path,
                                                      const LogOptions& options, std::unique_ptr<WakeFile>& wake,
                                                      WriteTurn& turn, bool shared) {
  if (const Status settled = settle_files(path, settings.group, *wake->map()); !settled) {
    return Failure(settled.error());
  }
  auto connection = Connection::open(path, Connection::Mode::create);
  if (!connection) return Failure(connection.error());
  if (shared) {
    const auto owner = pool_in(*connection);
    if (!owner) return Failure(owner.error());
    if (*owner && **owner != options.pool) {
      share_files(path);
      const Proof proof = Proof::of(path, *connection);
      note_files(proof, **owner, *wake->map());
      return std::shared_ptr<PoolFile>();
    }
  }
  const Result<std::uint32_t> shards = create_or_check_schema(*connection, options);
  if (!shards) return Failure(shards.error());
  share_files(path);
  std::shared_ptr<PoolFile> file(new PoolFile(path, path == settings.path ? settings.own_path : "", options.pool,
                                              *shards, std::move(wake), Proof::of(path, *connection)));
  // Another handle of this process may still have replaced files open, and SQLite would share them.
  if (const Status there = file->still_there(); !there) {
    turn.release();  // before the wake file goes with the file
    return fail(Errc::unavailable, "sqlite open", there.error().context + ", and is still in use by this process");
  }
  note_files(file->proof_, file->pool_, *file->wake_->map());
  const Status started = file->start_writer(std::move(*connection));
  turn.release();
  if (!started) return Failure(started.error());
  return file;
}

Status PoolFile::still_there() const {
  if (!other_path_.empty() && facts_of(other_path_)) {
    return fail(Errc::lost_history, "sqlite log", other_path_ + ": the file is new, and newcomers open it");
  }
  return proof_.check();
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
  writer_ = std::make_unique<Writer>(
      std::move(connection), std::move(*entries), std::move(*checkpoints), std::move(*syncs), *wake_, recent_,
      [this](Connection& writing, bool beats) { return prove_for_writing(writing, beats); });
  return {};
}

// With the write turn held. A new wake file does not know yet which files belong together.
Status PoolFile::prove_for_writing(Connection& connection, bool beats) {
  const auto map = wake_->map();
  if (Status there = beats ? still_there() : unchanged(); !there) {
    if (are_noted(proof_, *map) && proof_.can_save_wal(connection)) checkpoint(connection);
    return there;
  }
  if (!has_noted(*map)) note_files(proof_, pool_, *map);
  return {};
}

Status PoolFile::has(const Connection& connection) const {
  if (proof_.holds_for(connection)) return {};
  return fail(Errc::unavailable, "sqlite open", path_ + ": the files beside it are being replaced; it is tried again");
}

}  // namespace tenure::sqlite
