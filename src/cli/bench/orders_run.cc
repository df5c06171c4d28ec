// tenure bench orders: orders that a plain producer writes into a stream or topic, fed into a pool, from the producer
// to done; and the bare engine in the same run.

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <tenure/tenure.hpp>

#include "cli/bench/orders.h"
#include "cli/bench/place.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "render/distribution.h"
#include "source/stream_url.h"

namespace tenure::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kIdleOrders = 300;
constexpr int kIdleOrdersInGroup = 20;
// The idle time before each order. The end of the last one must be in the log by then.
constexpr std::chrono::microseconds kIdleBefore{1000};
constexpr std::chrono::seconds kOrderPatience{120};
constexpr std::chrono::microseconds kOrderLook{100};
constexpr std::chrono::milliseconds kWarmUpPause{500};

struct OrdersPlan {
  OrderShape shape;
  std::uint64_t queued = 100'000;
  std::uint64_t partitions = 0;  // zero: as the engine makes streams
  std::string source;            // empty: a stream of its own on the engine
};

Result<OrdersPlan> orders_plan_of(const Call& call) {
  OrdersPlan plan;
  if (Status sound = call.read_number("orders", plan.shape.orders, 1, 100'000'000); !sound)
    return Failure(sound.error());
  if (Status sound = call.read_number("payload-bytes", plan.shape.payload_bytes, 8, 1U << 20); !sound)
    return Failure(sound.error());
  if (Status sound = call.read_number("keys", plan.shape.keys, 1, 10'000'000); !sound) return Failure(sound.error());
  if (Status sound = call.read_number("queued", plan.queued, 1, 10'000'000); !sound) return Failure(sound.error());
  if (Status sound = call.read_number("partitions", plan.partitions, 0, 1000); !sound) return Failure(sound.error());
  plan.source = call.value("source").value_or("");
  return plan;
}

struct OrdersOutcome {
  double seconds = 0;
  Samples start;
  Samples idle_start;
  Samples bare_hop;
  double bare_per_s = 0;
  std::uint64_t repeated = 0;
};

// The stream of the run. It is removed at the end, unless the user named it.
class OrderStream {
 public:
  static Result<OrderStream> open(const OrdersPlan& plan, const BenchSpot& spot) {
    OrderStream stream;
    stream.own_ = plan.source.empty();
    stream.url_ = plan.source;
    if (stream.own_) stream.url_ = source::with_stream(spot.url, "tenure-bench-orders-" + std::to_string(getpid()));
    if (stream.own_ && plan.partitions > 0) stream.url_ += "&partitions=" + std::to_string(plan.partitions);
    auto writer = source::open_stream_writer(stream.url_, true);
    if (!writer) return Failure(writer.error());
    stream.writer_ = *std::move(writer);
    return stream;
  }
  ~OrderStream() {
    if (own_ && writer_) static_cast<void>(writer_->remove());
  }
  OrderStream(OrderStream&&) = default;
  OrderStream& operator=(OrderStream&&) = delete;

  const std::string& url() const { return url_; }
  source::StreamWriter& writer() { return *writer_; }

 private:
  OrderStream() = default;

  bool own_ = false;
  std::string url_;
  std::unique_ptr<source::StreamWriter> writer_;
};

// When the last idle order was begun.
class IdleBegin {
 public:
  void expect() {
    const std::lock_guard lock(mutex_);
    at_.reset();
  }
  void begun() {
    const std::lock_guard lock(mutex_);
    if (!at_) at_ = SteadyClock::now();
    changed_.notify_all();
  }
  std::optional<SteadyClock::time_point> wait(SteadyClock::duration patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return at_.has_value(); });
    return at_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<SteadyClock::time_point> at_;  // guarded by mutex_
};

source::Event idle_order() {
  source::Event event;
  event.key = "idle";
  event.payload = OrderTimes::payload(UINT64_MAX, 8);
  return event;
}

// Until one is begun: a source that begins at the newest event does not see those before.
Status warm_up(source::StreamWriter& writer, IdleBegin& idle) {
  const auto deadline = SteadyClock::now() + kOrderPatience;
  idle.expect();
  while (SteadyClock::now() < deadline) {
    if (const auto added = writer.add({idle_order()}); !added) return Failure(added.error());
    if (idle.wait(kWarmUpPause)) return {};
  }
  return fail(Errc::timed_out, "bench", "no order was begun");
}

// One order at a time, each while everything is idle.
Status run_idle_orders(source::StreamWriter& writer, IdleBegin& idle, Samples& start) {
  for (int i = 0; i < kIdleOrdersInGroup; ++i) {
    std::this_thread::sleep_for(kIdleBefore);
    idle.expect();
    const auto sent = SteadyClock::now();
    if (const auto added = writer.add({idle_order()}); !added) return Failure(added.error());
    const auto begun = idle.wait(kOrderPatience);
    if (!begun) return fail(Errc::timed_out, "bench", "an order was not begun");
    start.add(*begun - sent);
  }
  return {};
}

// Until the pool has no order any more: all are recorded as done.
Status wait_for_ends(Pool& pool, const OrderTimes& times, std::uint64_t orders) {
  auto moved = SteadyClock::now();
  for (std::uint64_t before = 0; before < orders;) {
    const std::uint64_t count = times.begun_count();
    if (count != before) moved = SteadyClock::now();
    before = count;
    if (SteadyClock::now() - moved > kOrderPatience) return fail(Errc::timed_out, "bench", "orders do not arrive");
    std::this_thread::sleep_for(kOrderLook);
  }
  for (;;) {
    KeyQuery query;
    query.prefix = "order-";
    query.limit = 1;
    const auto left = pool.keys(query);
    if (!left) return Failure(left.error());
    if (left->keys.empty()) return {};
  }
}

Result<OrdersOutcome> run_orders(const Engine& engine, const BenchSpot& spot, const OrdersPlan& plan) {
  auto stream = OrderStream::open(plan, spot);
  if (!stream) return Failure(stream.error());
  OrderTimes times(plan.shape.orders);
  PoolOptions options;
  options.max_queued_jobs = static_cast<std::uint32_t>(plan.queued);
  Result<Pool> pool = Pool::open(spot.pool, spot.url, options);
  if (!pool) return Failure(pool.error());
  OrdersOutcome outcome;
  IdleBegin idle;
  std::atomic<std::uint64_t> repeated = 0;
  const Result<Worker> worker = pool->add_worker([&](Job& job) {
    if (job.key() == "idle") {
      idle.begun();
    } else if (!times.begun(job.payload())) {
      ++repeated;
    }
  });
  if (!worker) return Failure(worker.error());
  SourceOptions orders;
  orders.url = stream->url();
  orders.start = plan.source.empty() ? "oldest" : "newest";
  if (Status added = pool->add_source(orders); !added) return Failure(added.error());
  // The first ones make connections.
  Samples unused;
  if (Status warm = warm_up(stream->writer(), idle); !warm) return Failure(warm.error());
  if (Status warm = run_idle_orders(stream->writer(), idle, unused); !warm) return Failure(warm.error());
  for (int i = 0; i < kIdleOrders; i += kIdleOrdersInGroup) {
    if (Status measured = run_idle_orders(stream->writer(), idle, outcome.idle_start); !measured)
      return Failure(measured.error());
    if (engine.measure_bare_hops == nullptr) continue;
    const Result<std::vector<Nanos>> bare = engine.measure_bare_hops(spot.url, kIdleOrdersInGroup);
    if (!bare) return Failure(bare.error());
    for (const Nanos hop : *bare) outcome.bare_hop.add(hop);
  }
  const auto began = SteadyClock::now();
  {
    OrderProducer producer(stream->writer(), plan.shape, times);
    if (Status done = wait_for_ends(*pool, times, plan.shape.orders); !done) {
      const Status produced = producer.wait();
      return Failure(produced ? done.error() : produced.error());
    }
  }
  outcome.seconds = std::chrono::duration<double>(SteadyClock::now() - began).count();
  times.measure(outcome.start);
  outcome.repeated = repeated;
  if (Status closed = pool->close(); !closed) return Failure(closed.error());
  const Result<double> bare = source::measure_bare_rate(spot.url, plan.shape.orders, plan.shape.payload_bytes);
  outcome.bare_per_s = bare ? *bare : 0;
  return outcome;
}

void print_orders(const Call& call, const BenchPlace& place, const OrdersPlan& plan, const OrdersOutcome& outcome) {
  const double per_s = static_cast<double>(plan.shape.orders) / outcome.seconds;
  const Distribution start = outcome.start.distribution();
  const Distribution idle_start = outcome.idle_start.distribution();
  const Distribution hop = outcome.bare_hop.distribution();
  const std::string what = "one producer and one consumer of the bare engine, with as many records of the same size";
  if (call.json()) {
    Json json;
    json.object().field("engine", place.shown()).field("orders", plan.shape.orders).field("seconds", outcome.seconds);
    json.field("orders_per_s", per_s).field("repeated", outcome.repeated);
    render::write(json, "start_ms", start);
    render::write(json, "idle_start_ms", idle_start);
    json.object("baseline").field("what", what).field("per_s", outcome.bare_per_s);
    if (hop.n != 0) render::write(json, "hop_ms", hop);
    json.end();
    if (hop.n != 0) json.field("idle_start_in_hops", idle_start.p50 / hop.p50);
    print(json.end());
    return;
  }
  print(place.shown() + ": " + std::to_string(plan.shape.orders) + " orders, " +
        std::to_string(static_cast<std::uint64_t>(per_s)) + " a second from the producer to done");
  print("  produced to started " + render::text_of(start));
  print("  the same, idle      " + render::text_of(idle_start));
  if (outcome.bare_per_s > 0) {
    print("  the bare engine     " + std::to_string(static_cast<std::uint64_t>(outcome.bare_per_s)) +
          " a second: " + what);
  }
  if (hop.n != 0) print("  a bare hop          " + render::text_of(hop));
}

}  // namespace

int run_bench_orders(const Call& call) {
  const Result<OrdersPlan> plan = orders_plan_of(call);
  if (!plan) return report_usage(call, plan.error());
  const Result<BenchPlace> place = BenchPlace::of(call);
  if (!place) return report(call, place.error());
  const Result<OrdersOutcome> outcome = run_orders(place->engine(), place->spot("pool"), *plan);
  if (!outcome) return report(call, outcome.error());
  print_orders(call, *place, *plan, *outcome);
  return kDone;
}

}  // namespace tenure::cli
