#include "render/jobs.h"

#include <string>
#include <string_view>
#include <tenure/kinds.hpp>

#include "base/show_ms.h"
#include "tenure/v1/record.pb.h"

namespace tenure::render {
namespace {

std::string_view kind_of(const v1::ListedJob& job) { return to_string(static_cast<JobKind>(job.kind())); }
std::string_view state_of(const v1::ListedJob& job) { return to_string(static_cast<JobState>(job.state())); }

}  // namespace

Json json_of_jobs(std::uint64_t position, const std::vector<v1::ListedJob>& jobs, std::optional<std::uint64_t> next) {
  Json json;
  json.object().field("position", position).array("jobs");
  for (const v1::ListedJob& row : jobs) {
    json.object().field("key", row.key()).field("kind", kind_of(row));
    json.field("type", row.type()).field("state", state_of(row));
    row.worker().empty() ? json.null("worker") : json.field("worker", row.worker());
    row.epoch() == 0 ? json.null("epoch") : json.field("epoch", row.epoch());
    json.field("attempt", row.attempt()).field("since_ms", row.since_ms());
    row.error().empty() ? json.null("error") : json.field("error", row.error());
    row.why().empty() ? json.null("why") : json.field("why", row.why());
    json.end();
  }
  json.end();
  next ? json.field("next", *next) : json.null("next");
  return json.end();
}

Table table_of_jobs(const std::vector<v1::ListedJob>& jobs) {
  Table table({"KEY", "KIND", "TYPE", "STATE", "WORKER", "EPOCH", "ATTEMPT", "SINCE", "WHY"});
  for (const v1::ListedJob& row : jobs) {
    table.add({row.key(), std::string(kind_of(row)), row.type(), std::string(state_of(row)), row.worker(),
               row.epoch() == 0 ? "" : std::to_string(row.epoch()), std::to_string(row.attempt()),
               show_ms(row.since_ms()), row.why()});
  }
  return table;
}

}  // namespace tenure::render
