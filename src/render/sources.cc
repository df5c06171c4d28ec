#include "render/sources.h"

namespace tenure::render {
namespace {

std::uint64_t lag_of(const SourceInfo& info) { return info.end > info.position ? info.end - info.position : 0; }

void add_partition(const SourceRow& row, Json& json) {
  const SourceInfo& info = row.info;
  json.object().field("partition", info.partition).field("position", info.position);
  info.end == 0 ? json.null("end").null("lag") : json.field("end", info.end).field("lag", lag_of(info));
  json.field("lost", info.lost);
  if (info.lost != 0) {
    json.field("lost_first", info.lost_first).field("lost_last", info.lost_last);
    json.field("lost_age_ms", info.lost_age.count());
  }
  json.field("tasks", info.tasks).field("buried", info.buried);
  row.holder.empty() ? json.null("holder") : json.field("holder", row.holder);
  json.field("epoch", row.holder.empty() ? info.epoch : row.holder_epoch);
  info.trouble.empty() ? json.null("error") : json.field("error", info.trouble);
  json.end();
}

}  // namespace

std::string name_of(const SourceRow& row) {
  return row.info.partition.empty() ? row.info.name : row.info.name + "/" + row.info.partition;
}

// A resident's source is one without a name for its partition. The entry of a whole fed source has only an error.
Json json_of_sources(const std::vector<SourceRow>& rows) {
  Json json;
  json.object().array("sources");
  for (std::size_t i = 0; i < rows.size();) {
    const SourceInfo& first = rows[i].info;
    std::string trouble;
    std::size_t end = i;
    while (end < rows.size() && rows[end].info.name == first.name && rows[end].info.fed == first.fed) {
      const SourceInfo& info = rows[end++].info;
      if (info.fed && info.partition.empty()) trouble = info.trouble;
    }
    json.object().field("name", first.name).field("kind", first.fed ? "feeder" : "resident");
    trouble.empty() ? json.null("error") : json.field("error", trouble);
    json.array("partitions");
    for (; i < end; ++i) {
      if (!first.fed || !rows[i].info.partition.empty()) add_partition(rows[i], json);
    }
    json.end().end();
  }
  return json.end().end();
}

Table table_of_sources(const std::vector<SourceRow>& rows) {
  Table table({"SOURCE", "POSITION", "END", "LAG", "TASKS", "BURIED", "LOST", "HOLDER", "EPOCH"});
  for (const SourceRow& row : rows) {
    const SourceInfo& info = row.info;
    if (info.fed && info.partition.empty()) continue;
    const bool known = info.end != 0;
    table.add({name_of(row), std::to_string(info.position), known ? std::to_string(info.end) : "-",
               known ? std::to_string(lag_of(info)) : "-", std::to_string(info.tasks), std::to_string(info.buried),
               std::to_string(info.lost),
               row.holder.empty() ? (row.why.empty() ? "-" : "(" + row.why + ")") : row.holder,
               std::to_string(row.holder.empty() ? info.epoch : row.holder_epoch)});
  }
  return table;
}

}  // namespace tenure::render
