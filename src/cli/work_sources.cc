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

Result<std::unique_ptr<WorkSources>> WorkSources::open(const std::vector<std::string>& urls, const CoreOptions& core,
                                                       const Signals& signals) {
  if (urls.empty()) return nullptr;
  const auto deadline = std::chrono::steady_clock::now() + kOpenPatience;
  for (bool said = false;;) {
    auto opened = try_open(urls, core);
    const bool away = !opened && (opened.error().code == Errc::unavailable || opened.error().code == Errc::timed_out);
    if (!away || std::chrono::steady_clock::now() > deadline) return opened;
    if (!std::exchange(said, true)) print_note("tenure: the sources wait for the log: " + opened.error().message());
    if (signals.wait(kOpenPauseMs)) return fail(Errc::closed, "open sources");
  }
}

Result<std::unique_ptr<WorkSources>> WorkSources::try_open(const std::vector<std::string>& urls,
                                                           const CoreOptions& core) {
  PoolOptions options;
  options.worker_ttl = std::chrono::duration_cast<std::chrono::milliseconds>(core.node.lease);
  options.concurrency = 2;  // a feeder has a thread of its own; handlers only begin and end it
  // Of the rest the workers' member has said what there is to say.
  options.logger = [](LogLevel level, std::string_view text) {
    if (level == LogLevel::error || text.starts_with("source ")) print_note("tenure: " + std::string(text));
  };
  Result<Pool> pool = Pool::open(core.pool, core.url, std::move(options));
  if (!pool) return Failure(pool.error());
  std::unique_ptr<WorkSources> sources(new WorkSources(*std::move(pool)));
  for (const std::string& url : urls) {
    if (const Status added = sources->pool_.add_source({.url = url}); !added) return Failure(added.error());
  }
  return sources;
}

void WorkSources::close() {
  if (const Status closed = pool_.close(); !closed) print_note("tenure: " + closed.error().message());
}

}  // namespace tenure::cli
