// A worker that calls a batch function again and again for each partition that it holds.

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <tenure/partition.hpp>

#include "machine/own_names.h"
#include "pool/pool_impl.h"

namespace tenure {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPauseFirst{1'000};  // after a turn that threw; doubles with each one
constexpr milliseconds kPauseMax{30'000};
constexpr milliseconds kReportEvery{5'000};

struct TurnOptions {
  Batch batch;
  milliseconds turn;
  milliseconds rest;
  std::function<void(const std::string&)> log;
};

// The turns of one partition, from its start to its stop. Belongs to the thread of its resident.
class PartitionTurns {
 public:
  PartitionTurns(const TurnOptions& options, Job& job) : options_(options), job_(job) {}

  // Returns what the next holder gets: the backlog.
  std::string run() {
    Turn turn;
    turn.partition = partition_of_key(job_.key()).value_or(0);
    turn.partitions = static_cast<std::uint32_t>(std::stoul(job_.payload()));
    turn.epoch = job_.epoch();
    turn.stop = job_.stop_token();
    while (!job_.stop_requested()) rest(take(turn));
    return left_ ? std::to_string(*left_) : job_.last_checkpoint().value_or("");
  }

 private:
  milliseconds take(Turn& turn) {
    turn.deadline = steady_clock::now() + options_.turn;
    try {
      const TurnResult result = options_.batch(turn);
      pause_ = kPauseFirst;
      report(result.left);
      return result.rest.value_or(result.done != 0 ? milliseconds(0) : options_.rest);
    } catch (const std::exception& error) {
      options_.log(job_.key() + ": the turn failed: " + error.what());
    } catch (...) {
      options_.log(job_.key() + ": the turn failed with something that is no std::exception");
    }
    return std::exchange(pause_, std::min(2 * pause_, kPauseMax));
  }

  // A checkpoint is a record in the log: one now and then is enough to see whether the backlog grows.
  void report(const std::optional<std::uint64_t>& left) {
    if (!left) return;
    left_ = left;
    const bool other = !reported_ || *reported_ != *left;
    const bool due = !reported_ || steady_clock::now() - reported_at_ >= kReportEvery;
    if (!other || !due || !job_.checkpoint(std::to_string(*left))) return;
    reported_ = left;
    reported_at_ = steady_clock::now();
  }

  void rest(milliseconds span) {
    if (span <= milliseconds(0)) return;
    std::unique_lock lock(mutex_);
    stopped_.wait_for(lock, job_.stop_token(), span, [] { return false; });
  }

  const TurnOptions& options_;
  Job& job_;
  milliseconds pause_ = kPauseFirst;
  std::optional<std::uint64_t> left_;
  std::optional<std::uint64_t> reported_;
  steady_clock::time_point reported_at_{};
  std::mutex mutex_;
  std::condition_variable_any stopped_;
};

Status check_turns(const PartitionOptions& options, const Batch& batch) {
  const auto bad = [](const char* what) { return fail(Errc::invalid, "start partitioned worker", what); };
  if (!batch) return bad("there is no batch function");
  if (options.turn <= milliseconds(0)) return bad("the turn is not positive");
  if (options.rest < milliseconds(0)) return bad("the rest is negative");
  return {};
}

}  // namespace

struct PartitionedWorker::Impl {
  std::shared_ptr<PoolImpl> pool;
  std::string id;
  bool left = false;
};

Result<PartitionedWorker> PartitionedWorker::start(Pool& pool, PartitionOptions options, Batch batch) {
  if (Status sound = check_turns(options, batch); !sound) return Failure(sound.error());
  const Ring ring{.partitions = options.partitions,
                  .secondaries = options.secondaries,
                  .settle_ms = options.settle.count(),
                  .anyone = options.anyone,
                  .cuts = options.cuts,
                  .surge = options.surge};
  if (Status sound = check_ring(ring, "start partitioned worker"); !sound) return Failure(sound.error());
  auto turns = std::make_shared<TurnOptions>();
  *turns = {std::move(batch), options.turn, options.rest, [weak = std::weak_ptr(pool.impl_)](const std::string& text) {
              if (const auto impl = weak.lock()) impl->write_log(LogLevel::error, text);
            }};
  WorkerOptions worker;
  worker.id = std::move(options.id);
  worker.replaces = std::move(options.replaces);
  worker.join_timeout = options.join_timeout;
  auto handler = run_handler([turns](Job& job) { return PartitionTurns(*turns, job).run(); });
  Result<std::string> added = pool.impl_->add_ranked(std::move(handler), std::move(worker), ring, options.ordinal);
  if (!added) return Failure(added.error());
  auto impl = std::make_unique<Impl>();
  impl->pool = pool.impl_;
  impl->id = *std::move(added);
  return PartitionedWorker(std::move(impl));
}

PartitionedWorker::PartitionedWorker(Pool& pool, PartitionOptions options, Batch batch)
    : PartitionedWorker(start(pool, std::move(options), std::move(batch)).value()) {}

PartitionedWorker::PartitionedWorker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PartitionedWorker::PartitionedWorker(PartitionedWorker&&) noexcept = default;
PartitionedWorker& PartitionedWorker::operator=(PartitionedWorker&&) noexcept = default;

PartitionedWorker::~PartitionedWorker() {
  if (!impl_ || impl_->left) return;
  const Status left = stop();
  if (!left) impl_->pool->write_log(LogLevel::warning, left.error().message());
}

const std::string& PartitionedWorker::id() const { return impl_->id; }

Status PartitionedWorker::stop(std::chrono::nanoseconds timeout) {
  Status left = impl_->pool->remove_worker(impl_->id, after(timeout));
  impl_->left = left || left.error().code == Errc::closed || left.error().code == Errc::shutting_down;
  return left;
}

}  // namespace tenure
