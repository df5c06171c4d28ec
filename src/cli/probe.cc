// tenure probe: whether a worker on this machine is well, by the file that it writes (health_file.h).

#include <algorithm>

#include "base/show_ms.h"
#include "cli/failure.h"
#include "cli/health_file.h"
#include "cli/run.h"

namespace tenure::cli {
namespace {

std::string says(const HealthReport& report, Nanos age) {
  if (age > kHealthOldest) return "the worker has not run for " + show_ms(to_ms(age));
  switch (report.health) {
    case Health::joining: return "the worker is still joining";
    case Health::ready: return "the worker is ready";
    case Health::lease_lost: return "the worker could not renew its lease; see its standard error, or tenure doctor";
    case Health::unfit: return "the worker's starts keep failing; see tenure workers";
    case Health::leaving: return "the worker is leaving";
  }
  return {};
}

}  // namespace

int run_probe(const Call& call) {
  const Result<HealthReport> report = read_health(call.words[0]);
  if (!report) return tenure::cli::report(call, report.error());
  const Nanos now = BootClock().now().since_boot;
  const Nanos age = now - report->written;
  const bool live = age <= kHealthOldest;
  const bool well = live && (call.has("live") || report->health == Health::ready);
  if (call.json()) {
    Json json;
    print(json.object()
              .field("state", to_string(report->health))
              .field("live", live)
              .field("age_ms", to_ms(age))
              .field("lease_left_ms", std::max<std::int64_t>(0, to_ms(report->lease_until - now)))
              .end());
  } else {
    print(says(*report, age));
  }
  return well ? kDone : kOther;
}

}  // namespace tenure::cli
