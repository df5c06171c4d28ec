#include "log/sqlite/sqlite_log.h"

#include <functional>
#include <string>

#include "log/snapshot_buffer.h"
#include "log/sqlite/access.h"
#include "log/sqlite/pool_file.h"
#include "log/sqlite/reader.h"
#include "log/sqlite/remove.h"
#include "log/sqlite/settings.h"
#include "log/sqlite/snapshot.h"
#include "log/sqlite/trim.h"

namespace tenure {
namespace sqlite {
namespace {

using Done = Access::Done;

class SqliteSnapshotWriter final : public SnapshotWriter {
 public:
  SqliteSnapshotWriter(Cursor at, std::shared_ptr<Access> access)
      : access_(std::move(access)), history_(access_->history()), buffer_(at) {}

  void add(Bytes chunk) override { buffer_.add(std::move(chunk)); }

  void commit(Done done) override {
    Result<Snapshot> snapshot = buffer_.take("sqlite snapshot");
    if (!snapshot) return access_->refuse(Failure(snapshot.error()), std::move(done));
    access_->run_in(history_, std::make_unique<StoreSnapshot>(*std::move(snapshot)), std::move(done));
  }

 private:
  const std::shared_ptr<Access> access_;
  const Access::History history_;
  SnapshotBuffer buffer_;
};

// Appends and chores go to the file's writer, reads to the handle's own reader. close() ends the callbacks. The file is
// released when the handle and its snapshot writers are destroyed.
class SqliteLog final : public Log {
 public:
  SqliteLog(std::shared_ptr<Access> access, ReaderFile file, std::uint32_t shards)
      : access_(access), reader_(access, std::move(file)), shards_(shards) {}
  ~SqliteLog() override { close(); }

  void append(Lane lane, Bytes data, AppendDone done) override {
    access_->append(lane, std::move(data), std::move(done));
  }

  void read(Cursor after, ReadDone done) override { reader_.read(after, std::move(done)); }

  void find_end(EndDone done) override { reader_.find_end(std::move(done)); }

  void load_snapshot(IfGone if_gone, LoadDone done) override { reader_.load_snapshot(if_gone, std::move(done)); }

  std::unique_ptr<SnapshotWriter> begin_snapshot(Cursor at) override {
    return std::make_unique<SqliteSnapshotWriter>(at, access_);
  }

  void trim(Position before, Done done) override { access_->run(std::make_unique<Trim>(before), std::move(done)); }

  void remove(Done done) override { access_->run(std::make_unique<Remove>(), std::move(done)); }

  std::uint32_t shards() const override { return shards_; }

  // The reader ends first, because it alone can move the handle to another file.
  void close() override {
    reader_.close();
    access_->close();
  }

 private:
  const std::shared_ptr<Access> access_;
  Reader reader_;
  const std::uint32_t shards_;
};

}  // namespace
}  // namespace sqlite

Result<std::unique_ptr<Log>> open_sqlite_log(std::string_view location, const LogOptions& options) {
  using namespace sqlite;
  const auto settings = parse_settings(location, options.pool, options.shard.index);
  if (!settings) return Failure(settings.error());
  auto file = PoolFile::open(*settings, options);
  if (!file) return Failure(file.error());
  auto reading = ReaderFile::open(*file);
  if (!reading) return Failure(reading.error());
  LogOptions known = options;
  known.shard.count = (*file)->shards();
  auto access = std::make_shared<Access>(*settings, known, std::move(*file));
  return std::make_unique<SqliteLog>(std::move(access), std::move(*reading), known.shard.count);
}

}  // namespace tenure
