#include "log/redis/redis_log.h"

#include <array>
#include <atomic>
#include <future>
#include <mutex>

#include "base/entropy.h"
#include "log/redis/core.h"
#include "log/snapshot_buffer.h"
#include "net/reactor.h"

namespace tenure {
namespace redis {
namespace {

using Done = std::function<void(Status)>;

// The bound of a lane: waiting appends and those in flight. Above it an append fails with Errc::unavailable. Each lane
// has its own bound, so that a flood of data does not use up the beats' space.
constexpr std::size_t kLaneBytesMax = 64U << 20;
constexpr std::size_t kLaneEntriesMax = 1U << 18;

// The calling thread may send an append up to this size itself.
constexpr std::size_t kOwnHandsBytesMax = 4U << 10;

// Changes to a log. A snapshot writer also has one and may outlive the log. Its requests are dropped then, because the
// reactor is closed.
class Changes {
 public:
  Changes(std::shared_ptr<net::Reactor> reactor, Core& core, bool read_only)
      : reactor_(std::move(reactor)), core_(core), read_only_(read_only) {}

  // A read-only handle is refused.
  void ask(Done done, std::function<void(Core&, Done)> what) const {
    if (read_only_) return refuse(fail(Errc::refused, "redis log", "the log was opened read-only"), std::move(done));
    reactor_->post([reactor = reactor_.get(), &core = core_, what = std::move(what), done = std::move(done)]() mutable {
      what(core, [reactor, done = std::move(done)](const Status& status) {
        reactor->call_after([done, status] { done(status); });
      });
    });
  }

  void refuse(Status status, Done done) const {
    call([done = std::move(done), status = std::move(status)] { done(status); });
  }

  // From any thread: outside the call that it answers.
  void call(std::function<void()> callback) const {
    reactor_->post([reactor = reactor_.get(), callback = std::move(callback)]() mutable {
      reactor->call_after(std::move(callback));
    });
  }

 private:
  const std::shared_ptr<net::Reactor> reactor_;
  Core& core_;  // valid until the reactor is closed
  const bool read_only_;
};

class RedisSnapshotWriter final : public SnapshotWriter {
 public:
  RedisSnapshotWriter(Cursor at, std::uint64_t log, Changes changes)
      : log_(log), changes_(std::move(changes)), buffer_(at) {}

  void add(Bytes chunk) override { buffer_.add(std::move(chunk)); }

  void commit(Done done) override {
    Result<Snapshot> taken = buffer_.take("redis snapshot");
    if (!taken) return changes_.refuse(Failure(taken.error()), std::move(done));
    auto snapshot = std::make_shared<Snapshot>(*std::move(taken));
    changes_.ask(std::move(done), [log = log_, snapshot](Core& core, Done stored) {
      core.store_snapshot(log, std::move(*snapshot), std::move(stored));
    });
  }

 private:
  const std::uint64_t log_;
  const Changes changes_;
  SnapshotBuffer buffer_;
};

class RedisLog final : public Log {
 public:
  RedisLog(RedisSettings settings, LogOptions options, std::shared_ptr<net::Reactor> reactor)
      : settings_(std::move(settings)),
        options_(std::move(options)),
        reactor_(std::move(reactor)),
        core_(std::make_unique<Core>(World{*reactor_, *reactor_, entropy_, admission_}, settings_, options_,
                                     [this](std::function<void()> call) { reactor_->call_after(std::move(call)); })),
        changes_(reactor_, *core_, options_.read_only) {}
  ~RedisLog() override { close(); }

  Status open() {
    auto answer = std::make_shared<std::promise<Status>>();
    std::future<Status> opened = answer->get_future();
    reactor_->post([this, answer] {
      core_->open([this, answer](Status status) {
        log_id_ = core_->log_id();
        shards_ = core_->shards();
        answer->set_value(std::move(status));
      });
    });
    return opened.get();  // a connection always answers
  }

  void append(Lane lane, Bytes data, AppendDone done) override {
    if (Status allowed = may_append(lane, data.size()); !allowed) {
      return changes_.call([done = std::move(done), error = allowed.error()] { done(Failure(error)); });
    }
    Load& load = loads_[static_cast<std::size_t>(lane)];
    const std::size_t bytes = data.size();
    load.bytes += bytes;
    ++load.entries;
    // If an append is destroyed without running, it is the handle's last one, and `load` goes with it.
    auto work = [this, lane, data = std::move(data), done = std::move(done), bytes, &load]() mutable {
      core_->append(lane, std::move(data), [done = std::move(done), bytes, &load](Result<Position> result) {
        load.bytes -= bytes;
        --load.entries;
        done(std::move(result));
      });
    };
    // The calling thread sends a small append itself if the loop is idle: copying costs less than waking a thread. A
    // large one would delay the caller.
    bytes <= kOwnHandsBytesMax ? reactor_->run_or_post(std::move(work)) : reactor_->post(std::move(work));
  }

  // Entries are delivered outside the turn: a node applies them at once, and a beat can be sent meanwhile.
  void read(Cursor after, ReadDone done) override {
    reactor_->post([this, after, done = std::move(done)]() mutable {
      core_->read(after, [this, done = std::move(done)](Result<std::vector<Entry>> entries) mutable {
        reactor_->call_after(
            [done = std::move(done), entries = std::move(entries)]() mutable { done(std::move(entries)); });
      });
    });
  }

  void find_end(EndDone done) override {
    reactor_->run_or_post([this, done = std::move(done)]() mutable {
      core_->find_end([this, done = std::move(done)](Result<Position> end) {
        reactor_->call_after([done, end = std::move(end)] { done(end); });
      });
    });
  }

  void load_snapshot(IfGone if_gone, LoadDone done) override {
    reactor_->post([this, if_gone, done = std::move(done)]() mutable {
      core_->load_snapshot(if_gone, [this, done = std::move(done)](Result<Snapshot> snapshot) {
        log_id_ = core_->log_id();
        auto shared = std::make_shared<Result<Snapshot>>(std::move(snapshot));
        reactor_->call_after([done, shared] { done(std::move(*shared)); });
      });
    });
  }

  std::unique_ptr<SnapshotWriter> begin_snapshot(Cursor at) override {
    return std::make_unique<RedisSnapshotWriter>(at, log_id_, changes_);
  }

  void watch_snapshot(SnapshotSeen seen) override {
    reactor_->post([this, seen = std::move(seen)]() mutable { core_->watch_snapshot(std::move(seen)); });
  }

  void trim(Position before, Done done) override {
    changes_.ask(std::move(done), [before](Core& core, Done trimmed) { core.trim(before, std::move(trimmed)); });
  }

  void remove(Done done) override {
    changes_.ask(std::move(done), [](Core& core, Done removed) { core.remove(std::move(removed)); });
  }

  // A running callback may be about to append. Such an append is destroyed.
  void close() override {
    reactor_->close();
    std::call_once(closing_, [this] { core_.reset(); });
  }

  std::uint32_t shards() const override { return shards_; }

 private:
  struct Load {
    std::atomic<std::size_t> bytes = 0;
    std::atomic<std::size_t> entries = 0;
  };

  Status may_append(Lane lane, std::size_t bytes) const {
    if (options_.read_only) return fail(Errc::refused, "redis append", "the log was opened read-only");
    if (bytes > kEntryBytesMax) return fail(Errc::invalid, "redis append", "the entry is larger than 8 MiB");
    const Load& load = loads_[static_cast<std::size_t>(lane)];
    if (load.bytes + bytes > kLaneBytesMax || load.entries >= kLaneEntriesMax) {
      return fail(Errc::unavailable, "redis append", "too many appends of this process wait for the server");
    }
    return {};
  }

  const RedisSettings settings_;
  const LogOptions options_;
  SystemEntropy entropy_;
  Admission admission_;        // in turns of the reactor
  std::array<Load, 2> loads_;  // by lane
  std::atomic<std::uint64_t> log_id_ = 0;
  std::atomic<std::uint32_t> shards_ = 1;
  const std::shared_ptr<net::Reactor> reactor_;
  std::unique_ptr<Core> core_;  // used on the reactor's thread, and after that has ended
  const Changes changes_;
  std::once_flag closing_;
};

}  // namespace
}  // namespace redis

Result<std::unique_ptr<Log>> open_redis_log(std::string_view url, const LogOptions& options) {
  using namespace redis;
  auto settings = parse_settings(url);
  if (!settings) return Failure(settings.error());
  auto reactor = net::Reactor::start(settings->tls, options.warn);
  if (!reactor) return Failure(reactor.error());
  auto log = std::make_unique<RedisLog>(*std::move(settings), options, *std::move(reactor));
  if (Status opened = log->open(); !opened) return Failure(opened.error());
  return log;
}

}  // namespace tenure
