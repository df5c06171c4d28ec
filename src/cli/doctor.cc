// tenure doctor: what is wrong with the engine, what could be lost, and what to do about it.

#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "cli/table.h"
#include "log/inspect.h"
#include "log/open.h"

namespace tenure::cli {
namespace {

using Check = Finding;

constexpr std::uint64_t kFreeMin = 64U << 20;
// From <linux/magic.h>: file systems on which locks or shared memory do not reach other hosts.
constexpr std::array<long, 4> kRemote = {0x6969, 0xFF534D42, 0x517B, 0x65735546};

void check_file(const std::string& file, std::vector<Check>& checks) {
  const std::string folder = std::filesystem::absolute(file).parent_path().string();
  struct statvfs space{};
  if (statvfs(folder.c_str(), &space) == 0) {
    const std::uint64_t free = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
    checks.push_back({"disk space", free >= kFreeMin, std::to_string(free >> 20) + " MiB free in " + folder,
                      "make room: on a full disk nothing can be dispatched, and nothing is lost"});
  }
  struct statfs kind{};
  if (statfs(folder.c_str(), &kind) == 0) {
    const bool local = std::find(kRemote.begin(), kRemote.end(), static_cast<long>(kind.f_type)) == kRemote.end();
    checks.push_back({"local file system", local,
                      local ? "the file lies on this host" : "the file lies on a network or user-space file system",
                      "SQLite's locks do not reach other hosts: put the file on a local disk, or use another engine"});
  }
}

void check_durability(const std::string& url, std::vector<Check>& checks) {
  if (url.starts_with("memory:")) {
    checks.push_back({"durability", false, "memory: keeps nothing, and is seen by one process only",
                      "use sqlite:PATH or redis://HOST for anything but tests"});
  } else if (url.starts_with("sqlite:")) {
    const bool full = url.find("sync=normal") == std::string::npos && url.find("sync=off") == std::string::npos;
    checks.push_back({"durability", full,
                      full ? "what is acknowledged survives a loss of power (sync=full)"
                           : "what is acknowledged survives crashes, but not a loss of power",
                      "remove ?sync=… from the URL to lose nothing"});
  }
}

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
    checks.push_back({"read and append", false, looked.error().message(), hint(looked.error().code)});
    return;
  }
  checks.push_back({"read and append", true,
                    "the log was read to position " + std::to_string(position) + " in " + show_ms(took.count()), ""});
  checks.push_back({"workers", !workers.empty(), std::to_string(workers.size()) + " workers in the pool",
                    "jobs wait until a worker joins: tenure work --exec CMD"});
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
  check_durability(*url, checks);
  if (const std::optional<std::string> file = log_file(*url)) check_file(*file, checks);
  const Result<std::unique_ptr<Shards>> pool = follow(call);
  // The rule that a user needs names the keys of the other shards apart from the first one's.
  const std::uint32_t last = pool ? (*pool)->count() - 1 : 0;
  for (Check& found : inspect_log(*url, {.pool = pool_name(call), .read_only = true, .shard = {last, last + 1}}))
    checks.push_back(std::move(found));
  if (pool) {
    checks.insert(checks.begin(), {"open", true, "the engine opens as pool '" + pool_name(call) + "'", ""});
    check_round_trip(**pool, *deadline, checks);
  } else {
    checks.insert(checks.begin(), {"open", false, pool.error().message(), hint(pool.error().code)});
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
