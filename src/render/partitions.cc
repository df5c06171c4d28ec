#include "render/partitions.h"

#include "base/show_ms.h"

namespace tenure::render {
namespace {

std::string_view name_of(PartitionRole role) {
  switch (role) {
    case PartitionRole::none: break;
    case PartitionRole::primary: return "primary";
    case PartitionRole::secondary: return "secondary";
    case PartitionRole::other: return "other";
  }
  return "none";
}

}  // namespace

Json json_of_partitions(const std::vector<PartitionInfo>& partitions) {
  Json json;
  json.object().array("partitions");
  for (const PartitionInfo& info : partitions) {
    json.object().field("partition", info.partition);
    info.worker.empty() ? json.null("holder") : json.field("holder", info.worker);
    info.ordinal ? json.field("ordinal", *info.ordinal) : json.null("ordinal");
    json.field("role", name_of(info.role)).field("lent", info.lent).field("epoch", info.epoch);
    info.backlog ? json.field("backlog", *info.backlog) : json.null("backlog");
    json.field("since_ms", info.in_state.count()).field("state", to_string(info.state));
    info.why.empty() ? json.null("why") : json.field("why", info.why);
    info.error.empty() ? json.null("error") : json.field("error", info.error);
    json.end();
  }
  return json.end().end();
}

Table table_of_partitions(const std::vector<PartitionInfo>& partitions) {
  Table table({"PARTITION", "HOLDER", "ORDINAL", "ROLE", "STATE", "FOR", "EPOCH", "BACKLOG", "WHY"});
  for (const PartitionInfo& info : partitions) {
    table.add({std::to_string(info.partition), info.worker.empty() ? "-" : info.worker,
               info.ordinal ? std::to_string(*info.ordinal) : "-",
               std::string(name_of(info.role)) + (info.lent ? ", lent" : ""), std::string(to_string(info.state)),
               show_ms(info.in_state.count()), std::to_string(info.epoch),
               info.backlog ? std::to_string(*info.backlog) : "-", !info.why.empty() ? info.why : info.error});
  }
  return table;
}

}  // namespace tenure::render
