// Implements the public API of a child process on top of ChildProcesses and a channel.

#include <sys/socket.h>

#include <tenure/checkout_process.hpp>

#include "base/entropy.h"
#include "process/blocking_wire.h"
#include "process/channel.h"
#include "process/child_processes.h"

namespace tenure {

using net::after;
using net::Time;
using process::Channel;
using process::ChildProcesses;

namespace detail {

struct ProcessState {
  ProcessState(ProcessOptions its_options, process::ChildPtr its_child)
      : options(std::move(its_options)),
        child(std::move(its_child)),
        wire(child->socket.get()),
        channel(wire, options.frame_bytes_max),
        calls_max(draw_calls_max(options.limits)) {}

  static std::uint64_t draw_calls_max(const ProcessLimits& limits) {
    SystemEntropy entropy;
    return guard::lowered(limits.calls, limits.calls_jitter, entropy);
  }

  // The caller's timeout, or the limit if that is shorter.
  Time deadline_of(std::chrono::nanoseconds timeout) const {
    const std::chrono::nanoseconds limit = options.limits.call_time;
    return after(limit.count() > 0 ? std::min(timeout, limit) : timeout);
  }

  void note_sent() {
    if (unanswered++ == 0) child->busy_since = BootClock().now().since_boot.count();
  }

  void note_answered() {
    --unanswered;
    ++calls;
    child->busy_since = unanswered == 0 ? 0 : BootClock().now().since_boot.count();
    if (calls_max == 0 || calls < calls_max || worn_out || !child->alarm) return;
    worn_out = true;
    child->alarm->retire("it has served " + std::to_string(calls) + " calls");
  }

  // Between the parts of an answer. Parts that have arrived are taken without waiting, so an endless answer would never
  // time out by itself.
  Status check_patience(Time deadline) {
    if (std::chrono::steady_clock::now() < deadline) return {};
    return give_up({Errc::timed_out, "receive", ""});
  }

  Failure give_up(const Error& error);
  Result<ProcessAnswer> answer_of(const Result<Channel::Frame>& frame);
  Status wait_ready(Time deadline);

  const ChildProcesses::Use use{};
  const ProcessOptions options;
  const process::ChildPtr child;
  process::BlockingSocketWire wire;
  Channel channel;
  const std::uint64_t calls_max;
  std::uint64_t unanswered = 0;
  std::uint64_t calls = 0;
  bool open_request = false;  // a part was sent, but not the last one
  bool dead = false;
  bool worn_out = false;
};

// The state of the program is unknown, so it is killed. The error says why.
Failure ProcessState::give_up(const Error& error) {
  dead = true;
  ChildProcesses& children = ChildProcesses::of_process();
  Error said = error;
  if (error.code == Errc::closed) {
    said = {Errc::worker_died, error.operation, "the program " + children.fate(*child)};
    if (child->overdue) said.code = Errc::timed_out;
    children.kill(child, "closed its connection");
  } else if (error.code == Errc::timed_out) {
    said.context = "no answer in time; the program was killed";
    children.kill(child, "was killed: a call took too long");
  } else {
    said.context = error.context + "; the program was killed";
    children.kill(child, "was killed: it sent something that is not an answer: " + error.context);
  }
  // ChildProcesses may be about to report the same. But a worker that is given back now must not count as alive.
  if (child->alarm) child->alarm->died(said.context);
  return Failure(std::move(said));
}

Result<ProcessAnswer> ProcessState::answer_of(const Result<Channel::Frame>& frame) {
  if (!frame) return give_up(frame.error());
  switch (frame->kind) {
    case 'P': return ProcessAnswer{std::string(frame->bytes), false};
    case 'M': note_answered(); return ProcessAnswer{std::string(frame->bytes), true};
    case 'E': note_answered(); return fail(Errc::job_failed, "call", std::string(frame->bytes));
    default: return give_up({Errc::corrupt, "receive", "a frame of kind " + std::to_string(frame->kind)});
  }
}

Status ProcessState::wait_ready(Time deadline) {
  const Result<Channel::Frame> frame = channel.receive(deadline);
  if (!frame) return give_up(frame.error());
  if (frame->kind == 'R') return {};
  return give_up({Errc::corrupt, "start a worker process", "a frame of kind " + std::to_string(frame->kind)});
}

}  // namespace detail

namespace {

Status check_process_options(const ProcessOptions& options) {
  const auto wrong = [](const char* what) { return fail(Errc::invalid, "start a worker process", what); };
  if (options.command.empty() || options.command[0].empty()) return wrong("no command was given");
  if (options.frame_bytes_max == 0 || options.frame_bytes_max > ProcessOptions::kFrameBytesMax) {
    return wrong("frame_bytes_max must lie between 1 and 2^30");
  }
  if (options.start_timeout.count() <= 0) return wrong("start_timeout must be positive");
  if (options.stop_patience.count() < 0) return wrong("stop_patience must not be negative");
  if (options.limits.call_time.count() < 0 || options.limits.age_hard.count() < 0) {
    return wrong("limits must not be negative");
  }
  if (!(options.limits.calls_jitter >= 0 && options.limits.calls_jitter <= 1)) {
    return wrong("calls_jitter must lie between 0 and 1");
  }
  for (const std::string& line : options.environment) {
    if (line.find('=') == std::string::npos || line.starts_with('=')) return wrong("environment needs NAME=VALUE");
  }
  return {};
}

constexpr std::chrono::seconds kEndPatience{10};  // beyond stop_patience

}  // namespace

Result<std::unique_ptr<ProcessWorker>> ProcessWorker::start(ProcessOptions options, std::optional<WorkerAlarm> alarm) {
  if (Status checked = check_process_options(options); !checked) return Failure(std::move(checked).error());
  const ChildProcesses::Use use;
  const Time deadline = after(options.start_timeout);
  auto child = ChildProcesses::of_process().start(options, std::move(alarm), deadline);
  if (!child) return Failure(std::move(child).error());
  std::unique_ptr<ProcessWorker> worker(
      new ProcessWorker(std::make_unique<detail::ProcessState>(std::move(options), *std::move(child))));
  if (worker->state_->options.says_ready) {
    if (Status ready = worker->state_->wait_ready(deadline); !ready) return Failure(std::move(ready).error());
  }
  return worker;
}

ProcessWorker::ProcessWorker(std::unique_ptr<detail::ProcessState> state) : state_(std::move(state)) {}

ProcessWorker::~ProcessWorker() {
  ChildProcesses& children = ChildProcesses::of_process();
  children.stop(*state_->child, state_->options.stop_patience);
  children.wait_ended(*state_->child, after(state_->options.stop_patience + kEndPatience));
}

Status ProcessWorker::send(std::string_view request, bool more, Timeout timeout) {
  detail::ProcessState& state = *state_;
  if (state.dead) return fail(Errc::worker_died, "send", "the program is dead");
  Status sent = state.channel.send(more ? 'P' : 'M', request, state.deadline_of(timeout));
  if (!sent) {
    if (sent.error().code == Errc::invalid || sent.error().code == Errc::busy) return sent;
    return state.give_up(sent.error());
  }
  if (!std::exchange(state.open_request, more)) state.note_sent();
  return {};
}

Status ProcessWorker::flush(Timeout timeout) {
  if (state_->dead) return fail(Errc::worker_died, "send", "the program is dead");
  Status flushed = state_->channel.flush(state_->deadline_of(timeout));
  if (flushed || flushed.error().code == Errc::busy) return flushed;
  return state_->give_up(flushed.error());
}

Result<ProcessAnswer> ProcessWorker::receive(Timeout timeout) {
  detail::ProcessState& state = *state_;
  if (state.dead) return fail(Errc::worker_died, "receive", "the program is dead");
  if (state.unanswered == 0) return fail(Errc::invalid, "receive", "no answer is due");
  state.wire.expect_last(state.unanswered == 1);
  return state.answer_of(state.channel.receive(state.deadline_of(timeout)));
}

Result<std::optional<ProcessAnswer>> ProcessWorker::try_receive() {
  detail::ProcessState& state = *state_;
  if (state.dead) return fail(Errc::worker_died, "receive", "the program is dead");
  const Result<Channel::Frame> frame = state.channel.take();
  if (!frame && frame.error().code == Errc::timed_out) return std::optional<ProcessAnswer>();
  if (frame && state.unanswered == 0) {
    return state.give_up({Errc::corrupt, "receive", "an answer without a request"});
  }
  auto answer = state.answer_of(frame);
  if (!answer) return Failure(std::move(answer).error());
  return std::optional(*std::move(answer));
}

int ProcessWorker::descriptor() const { return state_->child->socket.get(); }

Status ProcessWorker::call_streaming(std::string_view request, const std::function<void(std::string_view)>& take,
                                     Timeout timeout) {
  detail::ProcessState& state = *state_;
  if (!state.dead && state.unanswered != 0) return fail(Errc::invalid, "call", "answers to earlier requests are due");
  const Time deadline = state.deadline_of(timeout);
  if (Status sent = send(request, false, timeout); !sent) return sent;
  for (;;) {
    auto answer = receive(deadline - std::chrono::steady_clock::now());
    if (!answer) return Failure(std::move(answer).error());
    take(answer->bytes);
    if (answer->last) return {};
    if (Status in_time = state.check_patience(deadline); !in_time) return in_time;
  }
}

Result<std::string> ProcessWorker::call(std::string_view request, Timeout timeout) {
  detail::ProcessState& state = *state_;
  if (!state.dead && state.unanswered != 0) return fail(Errc::invalid, "call", "answers to earlier requests are due");
  const Time deadline = state.deadline_of(timeout);
  if (Status sent = send(request, false, timeout); !sent) return Failure(std::move(sent).error());
  auto answer = receive(timeout);
  if (!answer) return Failure(std::move(answer).error());
  std::string whole = std::move(answer->bytes);
  while (!answer->last) {
    if (Status in_time = state.check_patience(deadline); !in_time) return Failure(std::move(in_time).error());
    answer = receive(deadline - std::chrono::steady_clock::now());
    if (!answer) return Failure(std::move(answer).error());
    if (!state.channel.fits(whole.size() + answer->bytes.size())) {
      return state.give_up({Errc::corrupt, "call",
                            "an answer of more than " + std::to_string(state.options.frame_bytes_max) + " bytes"});
    }
    whole += answer->bytes;
  }
  return whole;
}

std::uint64_t ProcessWorker::unanswered() const { return state_->unanswered; }

bool ProcessWorker::fit() {
  detail::ProcessState& state = *state_;
  if (state.dead || state.unanswered != 0 || state.open_request || state.channel.unsent()) return false;
  return !state.channel.stirs() && ChildProcesses::of_process().runs(*state.child);
}

void ProcessWorker::kill(std::string_view reason) {
  state_->dead = true;
  ChildProcesses::of_process().kill(state_->child, "was killed: " + std::string(reason));
}

std::int64_t ProcessWorker::process_id() const { return ChildProcesses::of_process().process(*state_->child); }

std::uint64_t ProcessWorker::calls() const { return state_->calls; }

std::function<Result<std::unique_ptr<ProcessWorker>>(const WorkerAlarm&)> process_workers(ProcessOptions options) {
  auto shared = std::make_shared<const ProcessOptions>(std::move(options));
  return [shared, use = std::make_shared<const ChildProcesses::Use>()](const WorkerAlarm& alarm) {
    return ProcessWorker::start(*shared, alarm);
  };
}

Result<CheckoutPool<ProcessWorker>> open_process_pool(ProcessOptions process, CheckoutOptions options) {
  if (Status checked = check_process_options(process); !checked) return Failure(std::move(checked).error());
  return CheckoutPool<ProcessWorker>::open(process_workers(std::move(process)), std::move(options),
                                           [](ProcessWorker& worker) { return worker.fit(); });
}

}  // namespace tenure
