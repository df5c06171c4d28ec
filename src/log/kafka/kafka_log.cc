#include "log/kafka/kafka_log.h"

#include "log/kafka/core.h"
#include "log/snapshot_buffer.h"

namespace tenure {
namespace kafka {
namespace {

using Done = std::function<void(Status)>;

Failure read_only_handle() { return fail(Errc::refused, "kafka log", "the log was opened read-only"); }

class KafkaSnapshotWriter final : public SnapshotWriter {
 public:
  KafkaSnapshotWriter(Cursor at, std::uint64_t log, std::shared_ptr<Core> core)
      : log_(log), core_(std::move(core)), buffer_(at) {}

  void add(Bytes chunk) override { buffer_.add(std::move(chunk)); }

  void commit(Done done) override {
    if (core_->options().read_only) return core_->answer([done = std::move(done)] { done(read_only_handle()); });
    Result<Snapshot> taken = buffer_.take("kafka snapshot");
    if (!taken) return core_->answer([done = std::move(done), error = taken.error()] { done(Failure(error)); });
    auto snapshot = std::make_shared<Snapshot>(*std::move(taken));
    core_->ask<Status>(std::move(done), [core = core_.get(), log = log_, snapshot] {
      return core->store_snapshot(log, std::move(*snapshot));
    });
  }

 private:
  const std::uint64_t log_;
  const std::shared_ptr<Core> core_;
  SnapshotBuffer buffer_;
};

class KafkaLog final : public Log {
 public:
  explicit KafkaLog(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  ~KafkaLog() override { close(); }

  void append(Lane lane, Bytes data, AppendDone done) override {
    Status sent = may_append(data.size());
    if (sent) sent = core_->session()->lane(lane).append(std::move(data), done);
    if (sent) {
      if (lane == Lane::beat) core_->beat_sent();
      return;
    }
    core_->answer([done = std::move(done), error = sent.error()] { done(Failure(error)); });
  }

  void read(Cursor after, ReadDone done) override { core_->session()->tail().read(after, std::move(done)); }

  void find_end(EndDone done) override { core_->find_end(std::move(done)); }

  void load_snapshot(IfGone if_gone, LoadDone done) override {
    core_->ask<Result<Snapshot>>(std::move(done),
                                 [core = core_.get(), if_gone] { return core->load_snapshot(if_gone); });
  }

  std::unique_ptr<SnapshotWriter> begin_snapshot(Cursor at) override {
    return std::make_unique<KafkaSnapshotWriter>(at, core_->session()->history().log(), core_);
  }

  void watch_snapshot(SnapshotSeen seen) override { core_->watch_snapshot(std::move(seen)); }

  void trim(Position before, Done done) override {
    change(std::move(done), [before](Core& core) { return core.trim(before); });
  }

  void remove(Done done) override {
    change(std::move(done), [](Core& core) { return core.remove(); });
  }

  void close() override { core_->close(); }

  std::uint32_t shards() const override { return core_->shards(); }

 private:
  Status may_append(std::size_t bytes) const {
    if (core_->options().read_only) return read_only_handle();
    if (bytes > kEntryBytesMax) return fail(Errc::invalid, "kafka append", "the entry is larger than 8 MiB");
    return {};
  }

  template <class Act>
  void change(Done done, Act act) {
    if (core_->options().read_only) return core_->answer([done = std::move(done)] { done(read_only_handle()); });
    core_->ask<Status>(std::move(done), [core = core_.get(), act] { return act(*core); });
  }

  const std::shared_ptr<Core> core_;
};

}  // namespace
}  // namespace kafka

Result<std::unique_ptr<Log>> open_kafka_log(std::string_view url, const LogOptions& options) {
  using namespace kafka;
  auto settings = parse_settings(url);
  if (!settings) return Failure(settings.error());
  auto core = std::make_shared<Core>(*std::move(settings), options);
  if (Status opened = core->open(); !opened) return Failure(opened.error());
  return std::make_unique<KafkaLog>(std::move(core));
}

}  // namespace tenure
