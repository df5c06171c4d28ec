// tenure checkout: serves a pool of programs, and checks workers out of a served pool.

#include <iostream>
#include <iterator>
#include <tenure/checkout_remote.hpp>

#include "base/printable.h"
#include "cli/connect.h"
#include "cli/error_lines.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "process/child_processes.h"

namespace tenure::cli {
namespace {

int report_checkout(const Call& call, const Error& error) { return report(call, error, checkout_hint); }

using std::chrono::milliseconds;

// --token-file, or TENURE_CHECKOUT_TOKEN. A secret does not belong on a command line.
template <class Options>
void take_token(const Call& call, Options& options) {
  options.token_file = call.value("token-file").value_or("");
  const char* given = std::getenv("TENURE_CHECKOUT_TOKEN");
  if (options.token_file.empty() && given != nullptr) options.token = given;
}

// Reads numbers and times into options. Keeps the first error.
class Reader {
 public:
  explicit Reader(const Call& call) : call_(call) {}

  template <class Number>
  void number(std::string_view flag, Number& into, std::uint64_t max) {
    const auto read = call_.number(flag, static_cast<std::uint64_t>(into), max);
    if (read) into = static_cast<Number>(*read);
    note(read);
  }
  void time(std::string_view flag, milliseconds& into) {
    const auto read = call_.duration(flag, into);
    if (read) into = *read;
    note(read);
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  template <class Read>
  void note(const Read& read) {
    if (!read && !error_) error_ = read.error();
  }
  const Call& call_;
  std::optional<Error> error_;
};

struct ServePlan {
  ProcessOptions process;
  CheckoutOptions checkout;
  ServeOptions serve;
};

Result<ServePlan> serve_plan(const Call& call) {
  ServePlan plan;
  plan.process.command = call.rest;
  plan.process.says_ready = call.has("says-ready");
  plan.checkout.default_workers = 2;
  Reader read(call);
  read.number("workers", plan.checkout.default_workers, CheckoutOptions::kMaxWorkers);
  plan.checkout.max_workers = plan.checkout.default_workers;
  read.number("max-workers", plan.checkout.max_workers, CheckoutOptions::kMaxWorkers);
  plan.checkout.max_queue = -1;
  if (call.has("max-queue")) read.number("max-queue", plan.checkout.max_queue, CheckoutOptions::kMaxWaiters);
  read.time("max-age", plan.checkout.max_lifetime);
  read.time("idle-timeout", plan.checkout.idle_timeout);
  read.number("max-calls", plan.process.limits.calls, UINT64_MAX / 2);
  read.number("memory-bytes", plan.process.limits.memory_bytes, UINT64_MAX / 2);
  read.number("memory-bytes-hard", plan.process.limits.memory_bytes_hard, UINT64_MAX / 2);
  read.time("call-time", plan.process.limits.call_time);
  read.time("max-hold", plan.serve.max_hold);
  read.time("max-idle", plan.serve.max_idle);
  read.number("max-connections", plan.serve.connections_max, 100'000);
  if (read.error()) return Failure(*read.error());
  plan.serve.listen = call.value("listen").value_or("");
  plan.serve.tls_certificate = call.value("tls-cert").value_or("");
  plan.serve.tls_key = call.value("tls-key").value_or("");
  return plan;
}

RemoteOptions remote_options(const Call& call) {
  RemoteOptions options;
  options.address = call.value("connect").value_or("");
  options.tls_authorities = call.value("tls-ca").value_or("");
  options.tls = call.has("tls") || call.has("tls-ca");
  take_token(call, options);
  return options;
}

void print_ready(const Call& call, const std::string& address) {
  if (!call.json()) return print("serving at " + address);
  Json json;
  print(json.object().field("event", "ready").field("listen", address).end());
}

std::string request_of_words(const Call& call) {
  if (call.words.empty() || call.words[0] == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  return call.words[0];
}

void print_answer(const Call& call, const RemoteWorker& worker, const std::string& answer) {
  if (!call.json()) return print_data(answer);
  Json json;
  print(json.object().field("answer", answer).field("process", worker.process_id()).end());
}

// With --lines each line is a request, and the answers are printed in the same order. If one fails, its error is
// printed and the next request is sent.
int ask_lines(const Call& call, RemoteWorker& worker, milliseconds timeout) {
  std::string line;
  int exit = kDone;
  while (std::getline(std::cin, line)) {
    const auto answer = worker.call(line, timeout);
    if (answer) {
      print_answer(call, worker, *answer);
      continue;
    }
    const int code = report_checkout(call, answer.error());
    if (exit == kDone) exit = code;
    if (answer.error().code != Errc::job_failed && answer.error().code != Errc::invalid) return exit;
  }
  return exit;
}

}  // namespace

int run_checkout_serve(const Call& call) {
  if (call.rest.empty()) return report_usage(call, {Errc::invalid, "", "--exec CMD… is needed"});
  if (!call.has("listen")) return report_usage(call, {Errc::invalid, "", "--listen ADDRESS is needed"});
  Result<ServePlan> plan = serve_plan(call);
  if (!plan) return report_usage(call, plan.error());
  take_token(call, plan->serve);
  plan->serve.on_warning = [](std::string_view warning) { print_note("tenure: " + std::string(warning)); };
  const Signals signals;
  process::ChildProcesses::use_guard({"/proc/self/exe", "guard-main"});
  const Result<ErrorLines> errors = ErrorLines::open();
  if (!errors) return report_checkout(call, errors.error());
  plan->checkout.on_event = [](const CheckoutEvent& event) {
    using Kind = CheckoutEvent::Kind;
    if (event.kind == Kind::started || event.kind == Kind::health || event.kind == Kind::shrunk) return;
    print_note("tenure: worker " + std::to_string(event.worker) + ": " + std::string(to_string(event.kind)) +
               (event.text.empty() ? "" : ": " + event.text));
  };
  auto pool = open_process_pool(plan->process, plan->checkout);
  if (!pool) return report_checkout(call, pool.error());
  auto server = CheckoutServer::open(pool->ref(), plan->serve);
  if (!server) return report_checkout(call, server.error());
  print_ready(call, (*server)->address());
  signals.wait(-1);
  return kDone;
}

int run_checkout_run(const Call& call) {
  if (!call.has("connect")) return report_usage(call, {Errc::invalid, "", "--connect ADDRESS is needed"});
  const auto timeout = call.duration("timeout", std::chrono::seconds(30));
  if (!timeout) return report_usage(call, timeout.error());
  const auto wait = call.duration("wait", std::chrono::seconds(5));
  if (!wait) return report_usage(call, wait.error());
  const RemoteOptions options = remote_options(call);
  auto worker = RemoteWorker::checkout(options, *wait, call.has("force-enqueue"));
  if (!worker) return report_checkout(call, worker.error());
  if (call.has("lines")) return ask_lines(call, *worker, *timeout);
  const auto answer = worker->call(request_of_words(call), *timeout);
  if (!answer) return report_checkout(call, answer.error());
  print_answer(call, *worker, *answer);
  return kDone;
}

int run_checkout_stats(const Call& call) {
  if (!call.has("connect")) return report_usage(call, {Errc::invalid, "", "--connect ADDRESS is needed"});
  const RemoteOptions options = remote_options(call);
  const auto stats = remote_checkout_stats(options);
  if (!stats) return report_checkout(call, stats.error());
  // The server sends one line of JSON. Refuse everything else, because it is printed as it is.
  if (printable_page(*stats) != *stats || stats->find_first_of("\n\t") != std::string::npos) {
    return report_checkout(call, {Errc::corrupt, "checkout", "the server's answer is not a line of JSON"});
  }
  print_page(*stats);
  return kDone;
}

}  // namespace tenure::cli
