// tenure orders work, and pool_worker, which is the same without flags.

#include <unistd.h>

#include <utility>

#include "base/host_name.h"
#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/order_events.h"
#include "cli/orders_settings.h"
#include "cli/run.h"
#include "cli/work_plan.h"
#include "cli/work_run.h"
#include "log/engines.h"
#include "orders/dead_letter_mover.h"
#include "orders/run_order.h"
#include "source/source.h"
#include "source/stream_url.h"

namespace tenure::cli {
namespace {

constexpr std::uint64_t kConcurrencyMax = 1000;
constexpr std::uint64_t kInstanceMax = 999'999'999;

struct OrdersPlan {
  WorkPlan work;
  std::string instance{};
  bool json = false;
};

// A topic that does not exist yet is made, and that is said.
Status prepare_topic(const OrderSettings& settings, std::string_view flag, const std::string& url,
                     const std::string& topic) {
  // A server that cannot be reached is no fault of the topic.
  const auto away = [&](const Error& error) {
    const bool server = error.code == Errc::unavailable || error.code == Errc::timed_out;
    return Failure(Error{error.code, settings.name(server ? "engine" : flag), error.message()});
  };
  const auto there = source::open_stream_writer(url, false);
  if (there) return {};
  if (there.error().code == Errc::no_such_key) {
    const auto made = source::open_stream_writer(url, true);
    if (!made) return away(made.error());
    print_note("tenure: made the topic '" + topic + "', which did not exist (" + settings.name(flag) + ")");
    return {};
  }
  return away(there.error());
}

Status take_pool_options(const OrderSettings& settings, CoreOptions& core) {
  const auto lease = settings.duration("lease", default_lease(core.url));
  if (!lease) return Failure(lease.error());
  if (const auto wrong = wrong_lease(*lease)) return settings.bad("lease", *wrong);
  PoolConfig config;
  const auto attempts = settings.number("max-attempts", config.max_attempts, 1, 10'000);
  if (!attempts) return Failure(attempts.error());
  const auto backoff = settings.duration("retry-backoff", std::chrono::milliseconds(config.backoff_base_ms));
  if (!backoff) return Failure(backoff.error());
  config.max_attempts = static_cast<std::uint32_t>(*attempts);
  config.backoff_base_ms = backoff->count();
  config.backoff_cap_ms = std::max(config.backoff_cap_ms, config.backoff_base_ms);
  const auto stop = settings.duration("stop-timeout", std::chrono::milliseconds(config.worker_shutdown_ttl_ms));
  if (!stop) return Failure(stop.error());
  config.worker_shutdown_ttl_ms = stop->count();
  core.node.lease = *lease;
  core.node.config = config;
  return {};
}

Status take_sources(const OrderSettings& settings, const std::string& engine, WorkPlan& plan) {
  const auto topic = orders_topic(settings);
  if (!topic) return Failure(topic.error());
  SourceOptions orders;
  orders.url = source::with_stream(engine, *topic);
  orders.name = *topic;
  orders.order = SourceOrder::none;
  orders.type = kOrderType;
  orders.start = settings.text("start").value_or("oldest");
  if (const auto start = source::parse_start(orders.start, 0); !start) {
    return settings.bad("start", start.error().context);
  }
  if (Status ready = prepare_topic(settings, "orders", orders.url, *topic); !ready) return ready;
  plan.sources = {orders};
  const auto dead = settings.text("dead");
  if (!dead) return {};
  if (*dead == *topic || *dead == plan.core.pool) {
    return settings.bad("dead", "it must be another topic than those of the orders and the coordination");
  }
  const std::string dead_url = source::with_stream(engine, *dead);
  if (Status ready = prepare_topic(settings, "dead", dead_url, *dead); !ready) return ready;
  plan.beside =
      [parts = orders::MoverParts{
           .topic_url = dead_url, .order_type = kOrderType, .pool = plan.core.pool, .log = [](const std::string& text) {
             print_note("tenure: " + text);
           }}](Pool& pool) { return orders::add_dead_letter_mover(pool, parts); };
  return {};
}

// The instance's number, or what identifies this process.
Result<std::string> worker_id(const OrderSettings& settings, std::string& instance) {
  if (!settings.text("instance")) return host_name() + ":" + std::to_string(getpid());
  const auto number = settings.number("instance", 0, 0, kInstanceMax);
  if (!number) return Failure(number.error());
  instance = std::to_string(*number);
  return "instance-" + instance;
}

Result<OrdersPlan> orders_plan(const Call& call, const OrderSettings& settings) {
  OrdersPlan plan;
  WorkPlan& work = plan.work;
  const auto engine = orders_engine(call, settings);
  if (!engine) return Failure(engine.error());
  if (const auto known = built_engine_of(*engine); !known) return settings.bad("engine", known.error().context);
  if (reach_of(*engine) == Reach::process) {
    return settings.bad("engine",
                        "nobody else could send orders to the memory of this process; use a file or a server");
  }
  work.core.url = own_name_url(*engine);
  const auto pool = coordination_topic(call, settings);
  if (!pool) return Failure(pool.error());
  work.core.pool = *pool;
  if (Status taken = take_pool_options(settings, work.core); !taken) return Failure(taken.error());
  const auto options = run_options(call, settings);
  if (!options) return Failure(options.error());
  const auto concurrency = settings.number("concurrency", 1, 1, kConcurrencyMax);
  if (!concurrency) return Failure(concurrency.error());
  const auto one = settings.on("one-order");
  if (!one) return Failure(one.error());
  if (*one && *concurrency != 1) return settings.bad("concurrency", "with one order in a life it can only be 1");
  NodeWorker worker;
  auto id = worker_id(settings, plan.instance);
  if (!id) return Failure(id.error());
  worker.id = *std::move(id);
  // What waits for a free place here can be done by a worker that has one.
  worker.window = static_cast<std::uint32_t>(*concurrency);
  worker.takes = Takes::nothing();
  worker.takes.add_type(JobKind::task, kOrderType);
  worker.isolates = true;
  worker.helps = true;
  work.workers = {std::move(worker)};
  work.refuse_taken = !plan.instance.empty();
  if (work.refuse_taken) {
    work.taken_hint =
        "every worker needs a number of its own: change " + settings.name("instance") + ", or end the other process";
  }
  work.jobs_max = *one ? 1 : 0;
  work.programs.pool = work.core.pool;
  work.programs.command = {"/proc/self/exe", orders::kRunWord, orders::to_json(*options)};
  work.programs.lease = work.core.node.lease;
  work.programs.tasks_max = *concurrency;
  work.guard.command = {"/proc/self/exe", "guard-main"};
  work.guard.last_net = true;
  work.guard.group = guard::GuardOptions::Group::possible;
  const std::string format = settings.text("json").value_or("");
  if (!call.json() && !format.empty() && format != "json" && format != "text") {
    return settings.bad("json", "'" + format + "' is neither json nor text");
  }
  plan.json = call.json() || format == "json";
  if (Status taken = take_sources(settings, *engine, work); !taken) return Failure(taken.error());
  return plan;
}

int work_on_orders(const Call& call, const OrderSettings& settings) {
  Result<OrdersPlan> plan = orders_plan(call, settings);
  if (!plan) return plan.error().operation.empty() ? report_usage(call, plan.error()) : report(call, plan.error());
  OrderEvents events(plan->json, plan->instance);
  plan->work.watchers = {&events};
  if (plan->work.jobs_max != 0) plan->work.enough = [&] { return events.over() >= plan->work.jobs_max; };
  return run_work_plan(call, plan->work, events);
}

}  // namespace

int run_orders_work(const Call& call) { return work_on_orders(call, OrderSettings(call, false)); }

int run_pool_worker(const Call& call) {
  const OrderSettings settings(call, true);
  for (const char* needed : {"orders", "pool", "engine", "instance"}) {
    if (const auto given = settings.needed(needed); !given) return report_usage(call, given.error());
  }
  return work_on_orders(call, settings);
}

}  // namespace tenure::cli
