#include "log/sqlite/pool_file.h"

#include <sys/stat.h>

#include <map>
#include <mutex>

#include "log/sqlite/errors.h"
#include "log/sqlite/log_clock.h"
#include "log/sqlite/schema.h"

namespace tenure::sqlite {
namespace {

// The files open for writing, by path: one writer per file and process. The lock is held throughout an opening, so
// that two openers do not start two writers.
struct Registry {
  std::timed_mutex mutex;
  std::map<std::string, std::weak_ptr<PoolFile>> files;  // guarded by mutex

  static Registry& instance() {
    static Registry* const registry = new Registry;  // never destroyed: handles may outlive static destruction
    return *registry;
  }
};

// How often an opener finds that the wake file it has locked was just removed together with a pool.
constexpr int kOpenAttemptsMax = 8;

}  // namespace

Result<std::shared_ptr<PoolFile>> PoolFile::open(const Settings& settings, const LogOptions& options, Nanos patience) {
  if (options.read_only) return open_for_reading(settings, options);
  Registry& registry = Registry::instance();
  const std::unique_lock lock(registry.mutex, patience);
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

Result<std::shared_ptr<PoolFile>> PoolFile::open_for_reading(const Settings& settings, const LogOptions& options) {
  const auto identity = identity_of(settings.path);
  if (!identity) {
    return fail(Errc::refused, "sqlite open",
                settings.path + ": no pool is here, and a read-only opener does not create one: start a worker first");
  }
  auto connection = Connection::open(settings.path, Connection::Mode::existing);
  if (!connection) return Failure(connection.error());
  const Result<std::uint32_t> shards = check_schema(*connection, options);
  if (!shards) return Failure(shards.error());
  auto wake = WakeFile::open(WakeFile::path_for(settings.path), true);
  if (!wake) return Failure(wake.error());
  return std::shared_ptr<PoolFile>(new PoolFile(settings.path, options.pool, *shards, std::move(*wake), *identity));
}

Result<std::shared_ptr<PoolFile>> PoolFile::open_for_writing(const Settings& settings, const LogOptions& options,
                                                             Nanos patience) {
  for (int attempt = 0; attempt < kOpenAttemptsMax; ++attempt) {
    auto wake = WakeFile::open(WakeFile::path_for(settings.path), false);
    if (!wake) return Failure(wake.error());
    // Under the write turn nobody else creates, upgrades or removes the pool.
    WriteTurn turn(**wake);
    if (const Status taken = turn.acquire(patience); !taken) return Failure(taken.error());
    if (!(*wake)->current()) continue;

    auto connection = Connection::open(settings.path, Connection::Mode::create);
    if (!connection) return Failure(connection.error());
    const Result<std::uint32_t> shards = create_or_check_schema(*connection, options);
    if (!shards) return Failure(shards.error());
    const auto identity = identity_of(settings.path);
    if (!identity) return fail(Errc::unavailable, "sqlite open", settings.path + ": it was removed while opening");
    std::shared_ptr<PoolFile> file(new PoolFile(settings.path, options.pool, *shards, std::move(*wake), *identity));
    const Status started = file->start_writer(std::move(*connection));
    turn.release();
    if (!started) return Failure(started.error());
    return file;
  }
  return fail(Errc::unavailable, "sqlite open", settings.path + ": the pool is being removed again and again");
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
  writer_ = std::make_unique<Writer>(std::move(connection), std::move(*entries), std::move(*checkpoints),
                                     std::move(*syncs), *wake_, recent_, [this] { return still_there(); });
  return {};
}

Status PoolFile::still_there() const {
  if (identity_of(path_) == identity_) return {};
  return fail(Errc::lost_history, "sqlite log", path_ + ": the file was removed or replaced");
}

std::optional<PoolFile::Identity> PoolFile::identity_of(const std::string& path) {
  struct stat found{};
  if (stat(path.c_str(), &found) != 0) return std::nullopt;
  return Identity{found.st_dev, found.st_ino};
}

}  // namespace tenure::sqlite
