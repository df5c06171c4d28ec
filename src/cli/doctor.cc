// tenure doctor: what is wrong with the engine, what could be lost, and what to do about it.

#include <algorithm>
#include <set>

#include "base/show_ms.h"
#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "log/engines.h"

namespace tenure::cli {
namespace {

using Check = Finding;

void check_round_trip(Shards& pool, Deadline deadline, std::vector<Check>& checks) {
  const auto began = std::chrono::steady_clock::now();
  std::set<Bytes> workers;
  std::size_t dead = 0;
  Position position = 0;
  const Status looked = pool.look(
      [&](const Machine& machine) {
        for (const WorkerIx ix : machine.workers().by_age) workers.insert(machine.workers()[ix].id);
        dead += machine.dead().size();
        position += machine.position();
      },
      deadline);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  if (!looked) {
    checks.push_back({"read and append", false, looked.error().message(), hint(looked.error())});
    return;
  }
  checks.push_back({"read and append", true,
                    "read the log to position " + std::to_string(position) + " in " + show_ms(took.count()), ""});
  checks.push_back({"workers", !workers.empty(), std::to_string(workers.size()) + " workers in the pool",
                    "jobs wait until a worker joins; start one with: tenure work --exec CMD"});
  checks.push_back({"dead letters", dead == 0, std::to_string(dead) + " jobs are out of attempts or quarantined",
                    "tenure dead list"});
}

}  // namespace

int run_doctor(const Call& call) {
  const Result<Deadline> deadline = deadline_of(call);
  if (!deadline) return report_usage(call, deadline.error());
  std::vector<Check> checks;
  int exit = kDone;
  const Result<std::string> url = engine_url(call);
  if (!url) return report(call, url.error());
  const Result<std::unique_ptr<Shards>> pool = follow(call, nullptr, Missing::create);
  // The ACL rule names the keys of the first shard and of the other shards separately.
  const std::uint32_t last = pool ? (*pool)->count() - 1 : 0;
  if (const Engine* const engine = engine_of(*url); engine != nullptr && engine->inspect != nullptr) {
    checks = engine->inspect(*url, {.pool = pool_name(call), .read_only = true, .shard = {last, last + 1}});
  }
  if (pool) {
    checks.insert(checks.begin(), {"open", true, "the engine opens as pool '" + pool_name(call) + "'", ""});
    check_round_trip(**pool, *deadline, checks);
  } else {
    checks.insert(checks.begin(), {"open", false, pool.error().message(), hint(pool.error())});
    exit = exit_code(pool.error().code);
  }
  const bool sound = std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.ok; });
  if (exit == kDone && !sound) exit = kOther;
  if (call.json()) {
    Json json;
    json.object().array("checks");
    for (const Check& check : checks) {
      json.object().field("name", check.name).field("ok", check.ok).field("message", check.message);
      check.ok || check.hint.empty() ? json.null("hint") : json.field("hint", check.hint);
      json.end();
    }
    print(json.end().end());
    return exit;
  }
  for (const Check& check : checks) {
    print((check.ok ? "ok    " : "CHECK ") + check.name + ": " + check.message);
    if (!check.ok && !check.hint.empty()) print("      → " + check.hint);
  }
  return exit;
}

}  // namespace tenure::cli
