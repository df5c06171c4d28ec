#include "cli/work_sources.h"

#include <utility>

#include "cli/output.h"
#include "source/feeder_url.h"

namespace tenure::cli {

namespace {

constexpr std::chrono::seconds kOpenPatience{60};
constexpr int kOpenPauseMs = 200;

}  // namespace

Status check_sources(const std::vector<std::string>& urls) {
  for (const std::string& url : urls) {
    if (const auto read = source::read_feeder_url(url); !read) return Failure(read.error());
  }
  return {};
}

Result<std::unique_ptr<WorkSources>> WorkSources::open(const WorkPlan& plan, const Signals& signals) {
  if (plan.sources.empty() && !plan.beside) return nullptr;
  const auto deadline = std::chrono::steady_clock::now() + kOpenPatience;
  for (bool said = false;;) {
    auto opened = try_open(plan);
    const bool away = !opened && (opened.error().code == Errc::unavailable || opened.error().code == Errc::timed_out);
    if (!away || std::chrono::steady_clock::now() > deadline) return opened;
    if (!std::exchange(said, true)) print_note("tenure: the sources wait for the log: " + opened.error().message());
    if (signals.wait(kOpenPauseMs)) return fail(Errc::closed, "open sources");
  }
}

Result<std::unique_ptr<WorkSources>> WorkSources::try_open(const WorkPlan& plan) {
  PoolOptions options;
  options.worker_ttl = std::chrono::duration_cast<std::chrono::milliseconds>(plan.core.node.lease);
  // All handlers here are the library's, and none of them does harm when it is late: the log refuses their emits, and a
  // dead order that comes to its topic twice has the same name.
  options.on_lease_lost = OnLeaseLost::keep_running;
  options.concurrency = 2;  // a feeder has a thread of its own; handlers only begin and end it
  // Of the rest the workers' member has said what there is to say.
  options.logger = [](LogLevel level, std::string_view text) {
    if (level == LogLevel::error || text.starts_with("source ")) print_note("tenure: " + std::string(text));
  };
  Result<Pool> pool = Pool::open(plan.core.pool, plan.core.url, std::move(options));
  if (!pool) return Failure(pool.error());
  std::unique_ptr<WorkSources> opened(new WorkSources(*std::move(pool)));
  for (const SourceOptions& source : plan.sources) {
    if (const Status added = opened->pool_.add_source(source); !added) return Failure(added.error());
  }
  if (!plan.beside) return opened;
  if (const Status begun = plan.beside(opened->pool_); !begun) return Failure(begun.error());
  return opened;
}

void WorkSources::close() {
  if (const Status closed = pool_.close(); !closed) print_note("tenure: " + closed.error().message());
}

}  // namespace tenure::cli
