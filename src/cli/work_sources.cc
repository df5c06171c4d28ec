#include "cli/work_sources.h"

#include <utility>

#include "cli/output.h"
#include "source/feeder_url.h"

namespace tenure::cli {

Status check_sources(const std::vector<std::string>& urls) {
  for (const std::string& url : urls) {
    if (const auto read = source::read_feeder_url(url); !read) return Failure(read.error());
  }
  return {};
}

Result<std::unique_ptr<WorkSources>> WorkSources::open(const std::vector<SourceOptions>& sources,
                                                       const std::function<Status(Pool&)>& beside,
                                                       const CoreOptions& core) {
  if (sources.empty() && !beside) return nullptr;
  PoolOptions options;
  options.worker_ttl = std::chrono::duration_cast<std::chrono::milliseconds>(core.node.lease);
  options.concurrency = 2;  // a feeder has a thread of its own; handlers only begin and end it
  // Of the rest the workers' member has said what there is to say.
  options.logger = [](LogLevel level, std::string_view text) {
    if (level == LogLevel::error || text.starts_with("source ")) print_note("tenure: " + std::string(text));
  };
  Result<Pool> pool = Pool::open(core.pool, core.url, std::move(options));
  if (!pool) return Failure(pool.error());
  std::unique_ptr<WorkSources> opened(new WorkSources(*std::move(pool)));
  for (const SourceOptions& source : sources) {
    if (const Status added = opened->pool_.add_source(source); !added) return Failure(added.error());
  }
  if (!beside) return opened;
  if (const Status begun = beside(opened->pool_); !begun) return Failure(begun.error());
  return opened;
}

void WorkSources::close() {
  if (const Status closed = pool_.close(); !closed) print_note("tenure: " + closed.error().message());
}

}  // namespace tenure::cli
