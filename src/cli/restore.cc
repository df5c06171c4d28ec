// tenure restore --from-members: compares what members remember of a log that was lost with the log that there is, and
// puts the missing keys back on request.

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::milliseconds kLookEvery{200};

struct Difference {
  bool known = false;  // some member remembers something
  std::uint64_t missing = 0;
  std::uint64_t extra = 0;
  std::vector<std::string> missing_keys;
  std::vector<std::string> extra_keys;
};

// Of all shards. A shard whose members remember nothing adds nothing.
Result<Difference> ask(Shards& pool, std::uint64_t limit, bool apply, Deadline deadline) {
  v1::Ask question;
  question.mutable_remembered()->set_limit(static_cast<std::uint32_t>(limit));
  question.mutable_remembered()->set_apply(apply);
  Difference found;
  for (std::uint32_t i = 0; i < pool.count(); ++i) {
    const Result<v1::Told> told = pool.inquire(i, question, std::min(deadline, after(kPatience)));
    if (!told && told.error().code == Errc::timed_out) continue;
    if (!told) return Failure(told.error());
    found.known = true;
    found.missing += told->only_remembered_count();
    found.extra += told->only_in_log_count();
    const auto add = [](const auto& from, std::vector<std::string>& to) {
      to.insert(to.end(), from.begin(), from.end());
    };
    add(told->only_remembered(), found.missing_keys);
    add(told->only_in_log(), found.extra_keys);
  }
  return found;
}

void print_json(const Difference& found, bool applied) {
  Json json;
  json.object().field("applied", applied).field("missing", found.missing).field("only_in_log", found.extra);
  const auto list = [&json](std::string_view name, const std::vector<std::string>& keys) {
    json.array(name);
    for (const std::string& key : keys) json.object().field("key", key).end();
    json.end();
  };
  list("missing_keys", found.missing_keys);
  list("only_in_log_keys", found.extra_keys);
  print(json.end());
}

void print_text(const Difference& found) {
  print(std::to_string(found.missing) + " keys are remembered and not in the log; " + std::to_string(found.extra) +
        " keys are only in the log");
  for (const std::string& key : found.missing_keys) print("missing " + key);
  for (const std::string& key : found.extra_keys) print("only in the log " + key);
}

// Until nothing is missing any more.
Result<Difference> wait_applied(Shards& pool, std::uint64_t limit, Deadline deadline) {
  for (;;) {
    Result<Difference> left = ask(pool, limit, false, deadline);
    if (!left || left->missing == 0) return left;
    std::this_thread::sleep_for(kLookEvery);
    if (std::chrono::steady_clock::now() >= deadline) {
      return fail(Errc::timed_out, "restore", std::to_string(left->missing) + " keys are still missing");
    }
  }
}

}  // namespace

int run_restore(const Call& call) {
  if (!call.has("from-members")) {
    return report_usage(call, {Errc::invalid, "restore", "say where from: --from-members is the only source"});
  }
  const Result<std::uint64_t> limit = call.number("limit", 100, 1'000);
  if (!limit) return report_usage(call, limit.error());
  const Result<Deadline> deadline = deadline_of(call, std::chrono::seconds(60));
  if (!deadline) return report_usage(call, deadline.error());
  const Result<std::unique_ptr<Shards>> pool = connect(call);
  if (!pool) return report(call, pool.error());
  const bool apply = call.has("apply");
  const Result<Difference> found = ask(**pool, *limit, apply, *deadline);
  if (!found) return report(call, found.error());
  if (!found->known) {
    return report(call, {Errc::lost_history, "restore",
                         "no member remembers another log of this pool: members keep what they lost for an hour"});
  }
  call.json() ? print_json(*found, apply) : print_text(*found);
  if (!apply) return kDone;
  if (const Result<Difference> left = wait_applied(**pool, *limit, *deadline); !left) return report(call, left.error());
  if (!call.json()) print(std::to_string(found->missing) + " keys were put back");
  return kDone;
}

}  // namespace tenure::cli
