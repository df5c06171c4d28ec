#include "log/sqlite/sqlite_log.h"

#include <functional>
#include <string>

#include "log/callback_thread.h"
#include "log/sqlite/pool_file.h"
#include "log/sqlite/reader.h"
#include "log/sqlite/remove.h"
#include "log/sqlite/settings.h"
#include "log/sqlite/snapshot.h"
#include "log/sqlite/trim.h"

namespace tenure {
namespace sqlite {
namespace {

using Done = std::function<void(Status)>;

// What a snapshot may weigh: it is kept in memory until it is committed.
constexpr std::size_t kSnapshotBytesMax = std::size_t{1} << 30;

// The writing half of a handle, which a snapshot writer may outlive.
struct Access {
  std::shared_ptr<PoolFile> file;
  std::shared_ptr<CallbackThread> callbacks;
  bool read_only = false;

  void run(std::unique_ptr<Chore> chore, Done done) const {
    if (read_only) return refuse(fail(Errc::refused, "sqlite log", "the log was opened read-only"), std::move(done));
    if (callbacks->closed()) return;
    file->writer().run(std::move(chore), std::move(done), callbacks);
  }

  void refuse(Status status, Done done) const {
    callbacks->post(Lane::data, [done = std::move(done), status = std::move(status)] { done(status); });
  }
};

class SqliteSnapshotWriter final : public SnapshotWriter {
 public:
  SqliteSnapshotWriter(Cursor at, Access access) : access_(std::move(access)) { snapshot_.cursor = at; }

  void add(Bytes chunk) override {
    bytes_ += chunk.size();
    oversized_ = oversized_ || chunk.size() > kEntryBytesMax || bytes_ > kSnapshotBytesMax;
    if (!oversized_) snapshot_.chunks.push_back(std::move(chunk));
  }

  void commit(Done done) override {
    if (oversized_) {
      return access_.refuse(fail(Errc::invalid, "sqlite snapshot", "a chunk, or the whole, is too large"),
                            std::move(done));
    }
    access_.run(std::make_unique<StoreSnapshot>(std::move(snapshot_)), std::move(done));
  }

 private:
  const Access access_;
  Snapshot snapshot_;
  std::size_t bytes_ = 0;
  bool oversized_ = false;
};

// Appends and chores go to the file's writer, reads to the handle's own reader. close() ends the callbacks; the file
// is let go of when the handle, and the snapshot writers it gave out, are destroyed.
class SqliteLog final : public Log {
 public:
  SqliteLog(std::shared_ptr<PoolFile> file, Connection connection, EntryReader entries, bool read_only)
      : access_{file, std::make_shared<CallbackThread>(), read_only},
        reader_(std::move(file), std::move(connection), std::move(entries)) {}
  ~SqliteLog() override { close(); }

  void append(Lane lane, Bytes data, AppendDone done) override {
    if (access_.read_only) {
      return refuse_append(fail(Errc::refused, "sqlite append", "the log was opened read-only"), std::move(done));
    }
    if (data.size() > kEntryBytesMax) {
      return refuse_append(fail(Errc::invalid, "sqlite append", "the entry is larger than 8 MiB"), std::move(done));
    }
    if (access_.callbacks->crowded()) {
      return refuse_append(fail(Errc::unavailable, "sqlite append", "too many answers wait to be taken"),
                           std::move(done));
    }
    if (access_.callbacks->closed()) return;
    access_.file->writer().append(lane, std::move(data), std::move(done), access_.callbacks);
  }

  void read(Cursor after, ReadDone done) override { reader_.read(after, std::move(done)); }

  void load_snapshot(std::function<void(Result<Snapshot>)> done) override { reader_.load_snapshot(std::move(done)); }

  std::unique_ptr<SnapshotWriter> begin_snapshot(Cursor at) override {
    return std::make_unique<SqliteSnapshotWriter>(at, access_);
  }

  void trim(Position before, Done done) override { access_.run(std::make_unique<Trim>(before), std::move(done)); }

  void remove(Done done) override { access_.run(std::make_unique<Remove>(), std::move(done)); }

  void close() override {
    reader_.close();
    access_.callbacks->close();
    if (!access_.read_only) access_.file->writer().forget(*access_.callbacks);
  }

 private:
  void refuse_append(Result<Position> error, AppendDone done) {
    access_.callbacks->post(Lane::data, [done = std::move(done), error = std::move(error)] { done(error); });
  }

  const Access access_;
  Reader reader_;
};

}  // namespace
}  // namespace sqlite

Result<std::unique_ptr<Log>> open_sqlite_log(std::string_view location, const LogOptions& options) {
  using namespace sqlite;
  const auto settings = parse_settings(location);
  if (!settings) return tl::unexpected(settings.error());
  auto file = PoolFile::open(*settings, options);
  if (!file) return tl::unexpected(file.error());
  auto connection = (*file)->connect();
  if (!connection) return tl::unexpected(connection.error());
  auto entries = EntryReader::prepare(*connection);
  if (!entries) return tl::unexpected(entries.error());
  return std::make_unique<SqliteLog>(std::move(*file), std::move(*connection), std::move(*entries), options.read_only);
}

}  // namespace tenure
