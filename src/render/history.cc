#include "render/history.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/show_ms.h"
#include "tenure/v1/record.pb.h"

namespace tenure::render {
namespace {

// Epochs start with the engine's time. If very many keys are granted at once, the last ones are a little ahead of it.
std::int64_t granted_ms(const v1::ListedTenure& tenure) {
  auto ms = static_cast<std::int64_t>(tenure.epoch() / 1000);
  if (tenure.started_ms() != 0) ms = std::min(ms, tenure.started_ms());
  if (tenure.why_plus_one() != 0) ms = std::min(ms, tenure.ended_ms());
  return ms;
}

}  // namespace

std::string clock_time(std::int64_t ms) {
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%F %T", &parts));
  std::string fraction = std::to_string(ms % 1000);
  return text + "." + std::string(3 - std::min<std::size_t>(fraction.size(), 3), '0') + fraction;
}

std::string_view reason_of(TenureEnd why) {
  switch (why) {
    case TenureEnd::handoff: return "handoff";
    case TenureEnd::stopped: return "stop";
    case TenureEnd::done: return "done";
    case TenureEnd::failed: return "failed";
    case TenureEnd::left: return "leave";
    case TenureEnd::fenced: return "fenced";
    case TenureEnd::crashed:
    case TenureEnd::expired: return "crash";
  }
  return "";
}

std::vector<Tenure> kept_history(const v1::Told& told) {
  std::vector<Tenure> history;
  for (const v1::ListedTenure& listed : told.history()) {
    Tenure tenure;
    tenure.epoch = listed.epoch();
    tenure.worker = listed.worker();
    tenure.granted_ms = granted_ms(listed);
    if (listed.started_ms() != 0) tenure.started_ms = listed.started_ms();
    if (listed.why_plus_one() != 0) {
      tenure.ended_ms = listed.ended_ms();
      tenure.reason = listed.quarantined() ? kQuarantine : reason_of(static_cast<TenureEnd>(listed.why_plus_one() - 1));
    }
    tenure.error = listed.error();
    history.push_back(std::move(tenure));
  }
  return history;
}

std::vector<Tenure> with_gaps(std::vector<Tenure> history) {
  for (std::size_t i = 1; i < history.size(); ++i) {
    const Tenure& before = history[i - 1];
    Tenure& tenure = history[i];
    if (tenure.started_ms && before.ended_ms) tenure.gap_ms = *tenure.started_ms - *before.ended_ms;
  }
  return history;
}

Json json_of_history(const std::string& key, const std::vector<Tenure>& history) {
  Json json;
  json.object().field("key", key).array("history");
  const auto optional = [&](std::string_view name, const std::optional<std::int64_t>& value) {
    value ? json.field(name, *value) : json.null(name);
  };
  for (const Tenure& tenure : history) {
    json.object().field("epoch", tenure.epoch).field("worker", tenure.worker);
    json.field("granted_ms", tenure.granted_ms);
    optional("started_ms", tenure.started_ms);
    optional("ended_ms", tenure.ended_ms);
    tenure.reason.empty() ? json.null("reason") : json.field("reason", tenure.reason);
    optional("gap_ms", tenure.gap_ms);
    tenure.error.empty() ? json.null("error") : json.field("error", tenure.error);
    json.end();
  }
  return json.end().end();
}

Table table_of_history(const std::vector<Tenure>& history) {
  Table table({"EPOCH", "WORKER", "GRANTED", "STARTED AFTER", "HELD FOR", "ENDED BY", "GAP BEFORE"});
  for (const Tenure& tenure : history) {
    table.add({std::to_string(tenure.epoch), tenure.worker, clock_time(tenure.granted_ms),
               tenure.started_ms ? show_ms(*tenure.started_ms - tenure.granted_ms) : "",
               tenure.ended_ms ? show_ms(*tenure.ended_ms - tenure.granted_ms) : "still", std::string(tenure.reason),
               tenure.gap_ms ? show_ms(*tenure.gap_ms) : ""});
  }
  return table;
}

}  // namespace tenure::render
