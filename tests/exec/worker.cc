// A worker process with everything that `tenure work --exec` has: a node, a host of programs, a guard, a death watch.
//
//   exec_worker URL NAME LEASE_MS known-death|lease-only GUARD WORK_PARENT COMMAND…
//
// Reports in lines: "guard PID", "joined", "until NANOSECONDS" (the end of the lease), "fenced REASON", "log KEY LINE"
// for output of programs. Runs until it is killed.

#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>

#include "base/thread_loop.h"
#include "exec/program_host.h"
#include "guard/death_watch.h"
#include "log/open.h"
#include "node/node.h"

namespace tenure::exec {
namespace {

// One write per line: lines of several threads do not mix, and what a killed process has reported is whole.
void report(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(3);
}

class Events final : public NodeEvents {
 public:
  void worker_added(BytesView /*worker*/) override { report("joined"); }
  void fenced(std::uint64_t /*session*/, FenceReason reason) override {
    report("fenced " + std::to_string(static_cast<int>(reason)));
  }
  void lease_until(std::uint64_t /*session*/, Instant until) override {
    report("until " + std::to_string(until.since_boot.count()));
  }
  void broken(const Error& error) override { report("broken " + error.message()); }
};

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::cerr << result.error().message() << "\n";
    _exit(1);
  }
  return std::move(*result);
}

int work(int count, char** words) {
  if (count < 8) return 2;
  const std::string url = words[1];
  const std::unique_ptr<Log> log = must(open_log(url, {}));
  const std::unique_ptr<guard::Guard> guard = must(guard::Guard::start({.command = {words[5]}, .last_net = true}));
  report("guard " + std::to_string(guard->process()));

  NodeOptions options;
  options.name = words[2];
  options.lease = std::chrono::milliseconds(std::atoi(words[3]));
  const bool known_death = std::string(words[4]) == "known-death";

  std::unique_ptr<guard::DeathWatch> deaths;
  if (known_death) {
    deaths = must(guard::DeathWatch::open(*log_file(url, "default")));
    guard->share(deaths->descriptor());
  }

  ThreadLoop heart_loop("heart");
  ThreadLoop loop("node");
  std::unique_ptr<Node> node;
  ProgramOptions programs;
  programs.command.assign(words + 7, words + count);
  programs.lease = options.lease;
  programs.work_parent = words[6];
  if (known_death) programs.engine_url = url;
  programs.log = [](const Hold& hold, BytesView line) { report("log " + hold.key + " " + Bytes(line)); };
  programs.guard_lost = [&] { loop.post([&] { node->host_lost(); }); };
  const std::unique_ptr<ProgramHost> host = must(ProgramHost::create(*guard, programs));

  BootClock clock;
  SystemEntropy entropy;
  Events events;
  loop.run([&] {
    node = std::make_unique<Node>(NodeWorld{*log, loop, heart_loop, clock, entropy, host.get(), deaths.get()}, options,
                                  events);
    host->attach(node->reports());
    node->start();
    NodeWorker worker;
    worker.id = options.name;
    node->add_worker(worker);
  });
  ::pause();
  return 0;
}

}  // namespace
}  // namespace tenure::exec

int main(int count, char** words) { return tenure::exec::work(count, words); }
