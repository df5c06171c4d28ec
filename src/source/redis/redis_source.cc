#include "source/redis/redis_source.h"

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>
#include <optional>

#include "log/redis/command.h"
#include "source/redis/entry_position.h"
#include "source/redis/stream_fetcher.h"
#include "source/redis/stream_scripts.h"
#include "source/redis/stream_server.h"
#include "source/signal.h"

namespace tenure::source::redis {
namespace {

using tenure::redis::Reply;

constexpr std::string_view kLook = "look at stream";

// What may wait to be read. One run more may be on its way.
constexpr std::size_t kBufferBytes = 2U << 20;
constexpr std::size_t kBufferRuns = 64;

std::size_t bytes_of(const Run& run) {
  std::size_t bytes = 0;
  for (const Event& event : run.events) bytes += event.bytes() + sizeof event;
  return bytes;
}

// The runs between the loop, which fetches them, and the thread that reads them. Thread-safe.
class RunBuffer {
 public:
  explicit RunBuffer(Signal& signal) : signal_(signal) {}

  // Forgets everything. What was asked for before does not get in any more.
  std::uint64_t restart() {
    const std::lock_guard lock(mutex_);
    runs_.clear();
    bytes_ = 0;
    trouble_.reset();
    return ++generation_;
  }

  // True if there is room for more.
  bool put(std::uint64_t generation, Result<Run> run) {
    const std::lock_guard lock(mutex_);
    if (generation != generation_) return false;
    if (!run) {
      if (!trouble_ || trouble_->code != run.error().code) signal_.raise();
      trouble_ = run.error();
      return true;
    }
    if (std::exchange(trouble_, std::nullopt)) signal_.raise();
    if (run->position == 0 && run->change == Change::none && !run->lost) return has_room();
    bytes_ += bytes_of(*run);
    runs_.push_back(*std::move(run));
    signal_.raise();
    return has_room();
  }

  // `freed`: there is room again.
  Result<Run> take(const ReadLimits& limits, bool& freed) {
    const std::lock_guard lock(mutex_);
    if (runs_.empty()) {
      if (trouble_) return Failure(*trouble_);
      return Run();
    }
    const bool was_full = !has_room();
    Run taken = split(limits);
    freed = was_full && has_room();
    return taken;
  }

  bool has_news() const {
    const std::lock_guard lock(mutex_);
    return !runs_.empty();
  }

 private:
  bool has_room() const { return bytes_ < kBufferBytes && runs_.size() < kBufferRuns; }

  // The first run, or its beginning.
  Run split(const ReadLimits& limits) {
    Run& first = runs_.front();
    std::size_t count = 0;
    std::size_t bytes = 0;
    for (; count < first.events.size() && count < limits.events; ++count) {
      bytes += first.events[count].bytes();
      if (count != 0 && bytes > limits.bytes) break;
    }
    bytes_ -= bytes_of(first);
    if (count == first.events.size()) {
      Run whole = std::move(first);
      runs_.pop_front();
      return whole;
    }
    Run part;
    const auto end = first.events.begin() + static_cast<std::ptrdiff_t>(count);
    part.events.assign(std::make_move_iterator(first.events.begin()), std::make_move_iterator(end));
    first.events.erase(first.events.begin(), end);
    if (!part.events.empty()) part.position = part.events.back().position;
    part.lost = std::exchange(first.lost, std::nullopt);
    part.change = std::exchange(first.change, Change::none);
    part.resumed = first.resumed;
    part.anchor = std::exchange(first.anchor, std::nullopt);
    bytes_ += bytes_of(first);
    return part;
  }

  Signal& signal_;
  mutable std::mutex mutex_;
  // All below is guarded by mutex_.
  std::deque<Run> runs_;
  std::size_t bytes_ = 0;
  std::optional<Error> trouble_;
  std::uint64_t generation_ = 0;
};

class RedisSource final : public Source {
 public:
  explicit RedisSource(std::unique_ptr<StreamServer> server)
      : server_(std::move(server)),
        buffer_(signal_),
        fetcher_(std::make_unique<StreamFetcher>(
            server_->world(), server_->settings(), server_->key(),
            [this](Result<Run> run) { return buffer_.put(generation_, std::move(run)); })) {}
  ~RedisSource() override {
    server_->close();
    fetcher_.reset();
  }

  Bytes event_name(std::uint64_t position) const override { return id_at(position); }
  Result<std::vector<Bytes>> partitions() override {
    if (const Result<StreamLook> there = look(); !there) return Failure(there.error());
    return std::vector<Bytes>{"0"};
  }

  Result<Ends> ends(BytesView partition) override {
    if (const Status known = check_only_partition(partition); !known) return Failure(known.error());
    const Result<StreamLook> found = look();
    if (!found) return Failure(found.error());
    return found->ends();
  }

  // Ids are times.
  Result<std::uint64_t> find(BytesView partition, const StartAt& at) override {
    const Result<Ends> found = ends(partition);
    if (!found) return Failure(found.error());
    if (const auto known = start_behind(at, *found)) return *known;
    const auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(at.time_ms, 0));
    if (ms > kMsMax) return found->last;
    const std::uint64_t wanted = ms << kCountBits;
    return std::clamp(wanted == 0 ? 0 : wanted - 1, found->first - 1, found->last);
  }

  Status open(BytesView partition, std::uint64_t after, std::vector<Mark> marks) override {
    if (Status known = check_only_partition(partition); !known) return known;
    open_ = true;
    const std::uint64_t generation = buffer_.restart();
    server_->reactor().post([this, generation, after, marks = std::move(marks)]() mutable {
      generation_ = generation;
      fetcher_->begin(after, std::move(marks));
    });
    return {};
  }

  void close(BytesView /*partition*/) override {
    open_ = false;
    buffer_.restart();
    server_->reactor().post([this] { fetcher_->stop(); });
  }

  Result<Run> read(BytesView partition, const ReadLimits& limits) override {
    if (const Status known = check_only_partition(partition); !known) return Failure(known.error());
    if (!open_) return fail(Errc::invalid, "read source", "the partition is not open");
    bool freed = false;
    Result<Run> run = buffer_.take(limits, freed);
    if (freed) server_->reactor().post([this] { fetcher_->go_on(); });
    return run;
  }

  void wait(Instant until) override {
    if (!open_ || !buffer_.has_news()) signal_.wait(until);
  }
  void wake() override { signal_.raise(); }

 private:
  Result<StreamLook> look() {
    const Result<Reply> reply = server_->run(kLook, StreamScripts::get().look, {});
    if (!reply) return Failure(reply.error());
    if (reply->value().is_nil()) {
      return fail(Errc::no_such_key, "redis stream",
                  server_->settings().shown + ": there is no stream '" + server_->key() + "'");
    }
    return parse_look(reply->value());
  }

  const std::unique_ptr<StreamServer> server_;
  Signal signal_;
  RunBuffer buffer_;
  std::uint64_t generation_ = 0;  // on the loop
  std::unique_ptr<StreamFetcher> fetcher_;
  bool open_ = false;
};

}  // namespace

Result<std::unique_ptr<Source>> open_source(std::string_view url) {
  auto server = StreamServer::open(url);
  if (!server) return Failure(server.error());
  return std::make_unique<RedisSource>(*std::move(server));
}

}  // namespace tenure::source::redis
