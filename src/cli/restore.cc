// tenure restore --from-members: compares what members remember of a log that was lost with the log that there is, and
// puts the missing keys back on request.

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

constexpr std::chrono::seconds kPatience{5};

struct Difference {
  bool known = false;              // some member remembers something
  std::int64_t remembered_ms = 0;  // the engine's time of the newest entry that it remembers
  std::uint64_t missing = 0;
  std::uint64_t extra = 0;
  std::vector<std::string> missing_keys;
  std::vector<std::string> extra_keys;

  void add(const v1::Told& told) {
    known = true;
    remembered_ms = std::max(remembered_ms, told.remembered_ms());
    missing += told.only_remembered_count();
    extra += told.only_in_log_count();
    missing_keys.insert(missing_keys.end(), told.only_remembered().begin(), told.only_remembered().end());
    extra_keys.insert(extra_keys.end(), told.only_in_log().begin(), told.only_in_log().end());
  }
};

// One shard. Nothing if its members remember nothing.
Result<std::optional<v1::Told>> ask(Shards& pool, std::uint32_t shard, std::uint64_t limit, Deadline deadline) {
  v1::Ask question;
  question.mutable_remembered()->set_limit(static_cast<std::uint32_t>(limit));
  Result<v1::Told> told = pool.inquire(shard, question, std::min(deadline, after(kPatience)));
  if (told) return std::optional(*std::move(told));
  if (told.error().code == Errc::timed_out) return std::optional<v1::Told>();
  return Failure(told.error());
}

// The answer comes when the keys are back.
Result<v1::Told> put_back(Shards& pool, std::uint32_t shard, std::uint64_t limit, Deadline deadline) {
  v1::Ask question;
  question.mutable_remembered()->set_limit(static_cast<std::uint32_t>(limit));
  question.mutable_remembered()->set_apply(true);
  Result<v1::Told> told = pool.inquire(shard, question, deadline);
  if (told || told.error().code != Errc::timed_out) return told;
  return fail(Errc::timed_out, "restore", "no member says that it has put the keys back");
}

// Of all shards.
Result<Difference> compare(Shards& pool, std::uint64_t limit, bool apply, Deadline deadline) {
  Difference found;
  for (std::uint32_t shard = 0; shard < pool.count(); ++shard) {
    const Result<std::optional<v1::Told>> told = ask(pool, shard, limit, deadline);
    if (!told) return Failure(told.error());
    if (!*told) continue;
    if (!apply || (*told)->only_remembered_count() == 0) {
      found.add(**told);
      continue;
    }
    const Result<v1::Told> done = put_back(pool, shard, limit, deadline);
    if (!done) return Failure(done.error());
    found.add(*done);
  }
  return found;
}

void print_json(const Difference& found, bool applied) {
  Json json;
  json.object().field("applied", applied).field("missing", found.missing).field("only_in_log", found.extra);
  json.field("remembered_ms", found.remembered_ms);
  const auto list = [&json](std::string_view name, const std::vector<std::string>& keys) {
    json.array(name);
    for (const std::string& key : keys) json.object().field("key", key).end();
    json.end();
  };
  list("missing_keys", found.missing_keys);
  list("only_in_log_keys", found.extra_keys);
  print(json.end());
}

std::string count(std::uint64_t keys) { return std::to_string(keys) + (keys == 1 ? " key" : " keys"); }

void print_keys(const char* what, const std::vector<std::string>& keys, std::uint64_t all) {
  for (const std::string& key : keys) print(std::string(what) + ": " + key);
  if (all > keys.size()) {
    print(std::string(what) + ": … and " + std::to_string(all - keys.size()) + " more (--limit N shows more)");
  }
}

// The engine's time of day, in UTC.
std::string time_text(std::int64_t ms) {
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

void print_text(const Difference& found, bool applied) {
  const bool one = found.missing == 1;
  if (applied) {
    print(count(found.missing) + (one ? " was put back" : " were put back"));
    print_keys("put back", found.missing_keys, found.missing);
  } else {
    print("Members remember the log that was lost, up to " + time_text(found.remembered_ms) + ".");
    print(count(found.missing) + (one ? " is" : " are") + " missing in the present log.");
    print_keys("missing", found.missing_keys, found.missing);
  }
  if (found.extra != 0) {
    print(count(found.extra) + (found.extra == 1 ? " is" : " are") + " only in the present log" +
          (applied ? ", and stay as they are." : "; --apply leaves them as they are."));
    print_keys("only in the log", found.extra_keys, found.extra);
  }
  if (!applied && found.missing != 0) {
    print("Nothing was changed. This puts the missing keys back: tenure restore --from-members --apply");
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
  const Result<Difference> found = compare(**pool, *limit, apply, *deadline);
  if (!found) return report(call, found.error());
  if (!found->known) {
    return report(call, {Errc::lost_history, "restore",
                         "no member remembers a log that was lost: nothing was lost while these members ran, or it is "
                         "back already, or it was lost more than an hour ago"});
  }
  call.json() ? print_json(*found, apply) : print_text(*found, apply);
  return kDone;
}

}  // namespace tenure::cli
