// tenure explain: who held a key, from when to when, and why it moved, as the log has it.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <deque>
#include <optional>

#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "cli/table.h"

namespace tenure::cli {
namespace {

struct Tenure {
  std::uint64_t epoch = 0;
  Bytes worker;
  std::int64_t granted_ms = 0;
  std::optional<std::int64_t> started_ms;
  std::optional<std::int64_t> ended_ms;
  std::string_view reason;
  std::optional<std::int64_t> gap_ms;  // without a running holder before it
};

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

// Writes down what the machine says of one key. An entry's time is known once it has been applied, so that its events
// wait until then. On the loop.
class Historian final : public NodeEvents, private Effects {
 public:
  explicit Historian(std::string key) : key_(std::move(key)) {}

  Effects* watcher() override { return this; }
  void applied(const Machine& machine) override {
    if (!loaded_) remember(machine);
    loaded_ = true;
    for (const auto& event : std::exchange(fresh_, {})) event(machine.engine_ms());
  }
  const std::vector<Tenure>& history() const { return history_; }

 private:
  // The state that the log begins with has the present tenure, and the last ones of residents that have ended.
  void remember(const Machine& machine) {
    for (const PastTenure& past : machine.past_tenures()) {
      if (past.key != key_) continue;
      Tenure tenure;
      tenure.epoch = past.epoch;
      tenure.worker = past.worker;
      tenure.granted_ms = static_cast<std::int64_t>(past.epoch / 1000);  // epochs begin with the engine's time
      tenure.ended_ms = past.ended_ms;
      tenure.reason = reason_of(past.why);
      history_.push_back(std::move(tenure));
    }
    const std::optional<JobInfo> job = machine.find(key_);
    if (!job || job->worker.empty() || !fresh_.empty()) return;
    Tenure tenure;
    tenure.epoch = job->epoch;
    tenure.worker = Bytes(job->worker);
    tenure.granted_ms = static_cast<std::int64_t>(job->epoch / 1000);
    history_.push_back(tenure);
  }

  void granted(const Grant& grant) override {
    if (grant.tenure.key != key_) return;
    fresh_.emplace_back([this, epoch = grant.tenure.epoch, worker = Bytes(grant.tenure.worker)](std::int64_t now_ms) {
      if (!history_.empty() && history_.back().epoch >= epoch) return;  // it has ended in the same entry
      Tenure tenure;
      tenure.epoch = epoch;
      tenure.worker = worker;
      tenure.granted_ms = now_ms;
      history_.push_back(tenure);
    });
  }
  void started(const TenureRef& ref) override {
    with(ref, [this](Tenure& tenure, std::int64_t now_ms) {
      if (tenure.started_ms) return;
      tenure.started_ms = now_ms;
      const auto before = std::find_if(history_.rbegin(), history_.rend(),
                                       [&](const Tenure& other) { return other.epoch < tenure.epoch; });
      if (before != history_.rend() && before->ended_ms) tenure.gap_ms = now_ms - *before->ended_ms;
    });
  }
  void ended(const TenureRef& ref, TenureEnd why) override {
    with(ref, [why](Tenure& tenure, std::int64_t now_ms) {
      tenure.ended_ms = now_ms;
      tenure.reason = reason_of(why);
    });
  }
  void buried(BytesView key, std::uint64_t /*dead_id*/, bool quarantined) override {
    if (key != key_ || !quarantined) return;
    fresh_.emplace_back([this](std::int64_t) {
      if (!history_.empty()) history_.back().reason = "quarantine";
    });
  }

  void with(const TenureRef& ref, std::function<void(Tenure&, std::int64_t)> change) {
    if (ref.key != key_) return;
    fresh_.emplace_back([this, epoch = ref.epoch, change = std::move(change)](std::int64_t now_ms) {
      for (Tenure& tenure : history_) {
        if (tenure.epoch == epoch) change(tenure, now_ms);
      }
    });
  }

  const std::string key_;
  bool loaded_ = false;
  std::vector<std::function<void(std::int64_t)>> fresh_;
  std::vector<Tenure> history_;
};

std::string clock_time(std::int64_t ms) {
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%F %T", &parts));
  std::string fraction = std::to_string(ms % 1000);
  return text + "." + std::string(3 - std::min<std::size_t>(fraction.size(), 3), '0') + fraction;
}

std::string as_json(const std::string& key, const std::vector<Tenure>& history) {
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
    json.end();
  }
  return json.end().end().text();
}

}  // namespace

int run_explain(const Call& call) {
  const Result<Deadline> deadline = deadline_of(call, std::chrono::seconds(30));
  if (!deadline) return report_usage(call, deadline.error());
  const std::string& key = call.words[0];
  std::deque<Historian> historians;  // by shard, of which one has something to tell
  const Result<std::unique_ptr<Shards>> pool =
      follow(call, [&](std::uint32_t) { return &historians.emplace_back(key); });
  if (!pool) return report(call, pool.error());
  std::vector<Tenure> history;
  bool known = false;
  std::string now;
  const Status looked = (*pool)->look_at(
      key,
      [&](const Machine& machine) {
        history = historians[shard_of(key, (*pool)->count())].history();
        const std::optional<JobInfo> job = machine.find(key);
        known = job.has_value();
        if (job) now = std::string(to_string(job->kind)) + ", " + std::string(to_string(job->state));
      },
      *deadline);
  if (!looked) return report(call, looked.error());
  if (!known && history.empty()) return report(call, {Errc::no_such_key, "explain", "'" + key + "' has no history"});
  if (call.json()) {
    print(as_json(key, history));
    return kDone;
  }
  print(key + ": " + (known ? now : "has no job now"));
  Table table({"EPOCH", "WORKER", "GRANTED", "STARTED AFTER", "HELD FOR", "ENDED BY", "GAP BEFORE"});
  for (const Tenure& tenure : history) {
    table.add({std::to_string(tenure.epoch), tenure.worker, clock_time(tenure.granted_ms),
               tenure.started_ms ? show_ms(*tenure.started_ms - tenure.granted_ms) : "",
               tenure.ended_ms ? show_ms(*tenure.ended_ms - tenure.granted_ms) : "still", std::string(tenure.reason),
               tenure.gap_ms ? show_ms(*tenure.gap_ms) : ""});
  }
  table.print();
  say("older than the log's newest snapshot are only the last " + std::to_string(kPastTenuresMax) +
      " tenures of all residents");
  return kDone;
}

}  // namespace tenure::cli
