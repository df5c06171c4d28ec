// A worker process of the demo. It holds tenants until SIGTERM, until it is killed, or until its pool has ended.

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "base/output.h"
#include "demo/demo.h"
#include "demo/ledger.h"
#include "demo/sweeper.h"
#include "demo/ticker.h"
#include "demo/worker_command.h"
#include "pool/pool_core.h"
#include "pool/thread_host.h"

namespace tenure::demo {
namespace {

using std::chrono::seconds;

int complain(const Error& error) {
  warn_line(error.message());
  return 1;
}

// Every thread inherits the mask, so the signals wait for sigtimedwait().
sigset_t block_end_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return set;
}

// The new version of a rolling deploy that goes wrong.
class BadVersion final : public Handler {
 public:
  Outcome start(Job&) override { return Outcome::failed("this version cannot find its settings"); }
};

Result<std::shared_ptr<Handler>> handler_of(const WorkerCommand& command) {
  if (command.bad) return std::shared_ptr<Handler>(std::make_shared<BadVersion>());
  Result<std::unique_ptr<Ledger>> ledger = Ledger::open(command.ledger);
  if (!ledger) return Failure(ledger.error());
  return std::shared_ptr<Handler>(std::make_shared<Ticker>(*std::move(ledger), command.id));
}

void wait_for_end(const PoolCore& core, const sigset_t& signals) {
  const timespec look{0, 100'000'000};
  while (!core.over() && sigtimedwait(&signals, nullptr, &look) < 0) {
  }
}

int work(const WorkerCommand& command) {
  // Nothing may outlive the demo, not even a worker that is frozen when the demo is killed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != command.parent) return 1;
  const sigset_t signals = block_end_signals();

  const Result<std::shared_ptr<Handler>> handler = handler_of(command);
  if (!handler) return complain(handler.error());
  ThreadHostOptions host_options;
  // Every write carries its epoch, so a handler that runs past its lease does no harm. The demo shows exactly that.
  host_options.on_lease_lost = OnLeaseLost::keep_running;
  host_options.pool = command.pool;
  ThreadHost host(std::move(host_options));

  CoreOptions options;
  options.url = command.url;
  options.pool = command.pool;
  options.node.lease = command.lease;
  Result<std::unique_ptr<PoolCore>> opened = PoolCore::open(std::move(options), &host.part(0));
  if (!opened) return complain(opened.error());
  PoolCore& core = **opened;
  host.part(0).attach(core.reports(), core.loop());
  host.add_handler(command.id, *handler);

  const Status added = core.add_worker({.id = command.id, .replaces = command.replaces}, after(seconds(30)));
  if (added) wait_for_end(core, signals);
  const Status closed = core.close(after(seconds(10)));
  const bool quiet = host.shut(after(seconds(2)));
  if (!added) complain(added.error());
  if (!closed) complain(closed.error());
  // The pool has been told everything. Do not wait for threads that hang.
  if (!quiet) _exit(1);
  opened->reset();
  host.remove_handler(command.id);
  return added && closed ? 0 : 1;
}

}  // namespace

int run_demo_worker(const std::vector<std::string>& arguments) {
  if (const std::optional<std::string> folder = sweeper_folder(arguments)) return sweep(*folder);
  if (const std::optional<WorkerCommand> command = worker_command(arguments)) return work(*command);
  warn_line("demo-worker: only 'tenure demo' starts this command");
  return 2;
}

}  // namespace tenure::demo
