// tenure bench takeover: kills real worker processes, and measures the time until their key runs elsewhere.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/bench/place.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "pool/pool_core.h"
#include "render/distribution.h"

namespace tenure::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kHeardWithin{60};
const std::string kKey = "key";

// A `tenure work` process, and its events.
class WorkProcess {
 public:
  WorkProcess(const BenchSpot& spot, const std::string& id, const std::string& lease, bool known_death, bool serves) {
    std::array<int, 2> pipe{};
    if (pipe2(pipe.data(), O_CLOEXEC) != 0) return;
    std::vector<std::string> words = {"tenure", "work", "--json", "--pool", spot.pool, "--id", id, "--lease", lease};
    if (!known_death) words.emplace_back("--no-known-death");
    if (serves) words.insert(words.end(), {"--serves", kKey});
    for (const char* word : {"--exec", "sleep", "1000000"}) words.emplace_back(word);
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    // Not on the command line, because the URL may contain a password.
    std::string engine = "TENURE_ENGINE=" + spot.url;
    std::vector<char*> environment = {engine.data()};
    for (char** one = environ; *one != nullptr; ++one) {
      if (!std::string_view(*one).starts_with("TENURE_ENGINE=")) environment.push_back(*one);
    }
    environment.push_back(nullptr);
    const int failed =
        posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, arguments.data(), environment.data());
    if (failed != 0) process_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(pipe[1]);
    reader_ = std::thread([this, in = pipe[0]] { read(in); });
  }
  ~WorkProcess() {
    kill(true);
    if (reader_.joinable()) reader_.join();
  }
  WorkProcess(const WorkProcess&) = delete;
  WorkProcess& operator=(const WorkProcess&) = delete;

  // The time of the event's `count`-th occurrence, or nothing if it did not come in time.
  std::optional<SteadyClock::time_point> wait(const std::string& event, std::size_t count) {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, kHeardWithin, [&] { return events_[event].size() >= count || over_; });
    if (!came || events_[event].size() < count) return std::nullopt;
    return events_[event][count - 1];
  }
  std::size_t count(const std::string& event) {
    std::lock_guard lock(mutex_);
    return events_[event].size();
  }

  // Kills with -9. If the guard is killed too, only the lease is left.
  void kill(bool with_guard) {
    if (process_ <= 0) return;
    std::vector<pid_t> children;
    if (with_guard) {
      std::ifstream list("/proc/" + std::to_string(process_) + "/task/" + std::to_string(process_) + "/children");
      for (pid_t child = 0; list >> child;) children.push_back(child);
    }
    ::kill(process_, SIGKILL);
    for (const pid_t child : children) ::kill(child, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  void read(int in) {
    FILE* lines = fdopen(in, "r");
    char* line = nullptr;
    std::size_t room = 0;
    while (getline(&line, &room, lines) > 0) {
      const auto now = SteadyClock::now();
      const std::string_view text(line);
      const std::size_t from = text.find("\"event\":\"") + 9;
      std::lock_guard lock(mutex_);
      events_[std::string(text.substr(from, text.find('"', from) - from))].push_back(now);
      changed_.notify_all();
    }
    std::free(line);
    std::fclose(lines);
    std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }

  pid_t process_ = -1;
  std::thread reader_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<SteadyClock::time_point>> events_;  // guarded by mutex_
  bool over_ = false;                                                   // guarded by mutex_
};

Failure silent(const char* what) { return fail(Errc::timed_out, "bench", std::string("no worker reported ") + what); }

Status run(const BenchSpot& spot, const std::string& lease, std::uint64_t rounds, bool known_death,
           Samples& takeovers) {
  CoreOptions options;
  options.url = spot.url;
  options.pool = spot.pool;
  options.client_only = true;
  const Result<std::unique_ptr<PoolCore>> client = PoolCore::open(options, nullptr);
  if (!client) return Failure(client.error());
  WorkProcess heir(spot, "heir", lease, known_death, false);
  if (!heir.wait("ready", 1)) return silent("that it is ready");
  Request request;
  request.key = kKey;
  if (const Result<TicketPtr> ticket = (*client)->submit(request); !ticket) return Failure(ticket.error());
  if (!heir.wait("started", 1)) return silent("that the key is started");
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    // It is named for the key with --serves, so it gets the key.
    WorkProcess victim(spot, "victim-" + std::to_string(round), lease, known_death, true);
    if (!victim.wait("started", 1)) return silent("that the key is started");
    const std::size_t before = heir.count("started");
    const auto killed = SteadyClock::now();
    victim.kill(!known_death);
    const auto started = heir.wait("started", before + 1);
    if (!started) return silent("that the key is started");
    takeovers.add(*started - killed);
  }
  return {};
}

}  // namespace

int run_bench_takeover(const Call& call) {
  const Result<std::uint64_t> rounds = call.number("rounds", 20, 10'000);
  if (!rounds) return report_usage(call, rounds.error());
  const Result<std::chrono::milliseconds> lease = call.duration("lease", std::chrono::seconds(1));
  if (!lease) return report_usage(call, lease.error());
  const Result<BenchPlace> place = BenchPlace::of(call);
  if (!place) return report(call, place.error());
  if (place->reach() == Reach::process) {
    return report(
        call, {Errc::invalid, "bench", place->shown() + " belongs to one process, so no other process can take over"});
  }
  const bool known_death = !call.has("no-known-death");
  Samples takeovers;
  const std::string lease_text = std::to_string(lease->count()) + "ms";
  if (const Status ran = run(place->spot("pool"), lease_text, *rounds, known_death, takeovers); !ran) {
    return report(call, ran.error());
  }
  if (call.json()) {
    Json json;
    json.object().field("engine", place->shown()).field("lease_ms", lease->count()).field("known_death", known_death);
    render::write(json, "takeover_ms", takeovers.distribution());
    print(json.end());
  } else {
    print(place->shown() + ", lease " + lease_text + (known_death ? "" : ", only the lease") +
          ": from kill -9 to started elsewhere");
    print("  " + render::text_of(takeovers.distribution()));
  }
  return kDone;
}

}  // namespace tenure::cli
