#include "orders/run_order.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <iostream>
#include <iterator>
#include <optional>

#include "base/output.h"
#include "base/show_ms.h"
#include "orders/child.h"
#include "orders/container.h"
#include "orders/fetch.h"
#include "orders/order_environment.h"
#include "orders/run_options.h"
#include "orders/run_result.h"

namespace tenure::orders {
namespace {

constexpr int kFailed = 1;
constexpr int kTryLater = 75;
constexpr int kNeverTry = 65;
constexpr int kSignalled = 128;
constexpr std::size_t kSaidOutputBytes = 1024;
constexpr std::chrono::seconds kStartSlack{5};

// The text is the end of standard error, and so the attempt's error.
int give_up_on(const std::string& why, int code) {
  warn_line("order: " + why);
  return code;
}

// What is to be run.
struct Task {
  std::string form;
  ChildPlan plan;
  bool contained = false;
};

Task handler_task(const Bytes& text, const RunOptions& options) {
  return {.form = "handler",
          .plan = {.words = options.handler, .environment = environment_of_handler(), .input = text}};
}

// Errc::refused: it must not be run.
Result<Task> task_of(const Bytes& text, const RunOptions& options, bool may_fetch);

Result<Task> fetched_task(const std::string& url, const RunOptions& options) {
  const ChildPlan plan{.words = {"/proc/self/exe", kFetchWord, to_json(options), url},
                       .environment = environment_of_handler(),
                       .time = options.fetch_time + kStartSlack,
                       .output_bytes = options.order_bytes + 1};
  Result<ChildEnd> end = run_child(plan);
  if (!end) return Failure(end.error());
  if (end->stopped) return fail(Errc::closed, "fetch order", "the worker is stopping");
  const int code = WIFEXITED(end->status) ? WEXITSTATUS(end->status) : kFailed;
  if (code == kNeverTry) return fail(Errc::refused, "fetch order", "it cannot be fetched");
  if (code != 0) return fail(Errc::unavailable, "fetch order", end->timed_out ? "it took too long" : "it failed");
  return task_of(end->output, options, false);
}

Result<Task> task_of(const Bytes& text, const RunOptions& options, bool may_fetch) {
  const bool forms = options.commands || options.containers || options.urls;
  std::optional<Error> why;
  if (forms || options.handler.empty()) {
    Result<Order> order = parse_order(text);
    if (!order) {
      why = order.error();
    } else if (!options.allows(order->form)) {
      why = Error{Errc::refused, "run order",
                  "the form '" + std::string(to_string(order->form)) + "' is not allowed here (ALLOW)"};
    } else if (order->form == Form::url && !may_fetch) {
      return fail(Errc::refused, "run order", "what was fetched is a URL again");
    } else if (order->form == Form::url) {
      return fetched_task(order->url, options);
    } else if (order->form == Form::container) {
      return Task{.form = "container", .plan = container_plan(*order, options), .contained = true};
    } else {
      return Task{.form = "command",
                  .plan = {.words = order->words,
                           .environment = environment_of_command(order->environment),
                           .input = std::move(order->input)}};
    }
  }
  if (!options.handler.empty()) return handler_task(text, options);
  return fail(Errc::refused, "run order", why->context);
}

std::string how_it_ended(const ChildEnd& end, const RunOptions& options) {
  const std::string took = show_ms(end.duration.count());
  if (end.timed_out) return "it ran longer than " + show_ms(options.run_time.count()) + ", and was ended";
  // The worker says the exit code.
  const int code = WIFEXITED(end.status) ? WEXITSTATUS(end.status) : 0;
  if (code == kNeverTry) return "it asks not to be tried again; it took " + took;
  if (code == kTryLater) return "it asks to be tried later; it took " + took;
  if (WIFEXITED(end.status)) return "it took " + took;
  const char* const name = sigabbrev_np(WTERMSIG(end.status));
  return "killed by SIG" + std::string(name == nullptr ? "?" : name) + " after " + took;
}

void print_result(const Task& task, ChildEnd end) {
  const RunResult result{.form = task.form,
                         .exit_code = 0,
                         .duration_ms = end.duration.count(),
                         .output = std::move(end.output),
                         .output_bytes = end.output_bytes};
  write_exact(STDOUT_FILENO, to_json(result));
}

int run_task(Task task, const RunOptions& options) {
  task.plan.time = options.run_time;
  task.plan.output_bytes = options.output_bytes;
  Result<ChildEnd> end = run_child(task.plan);
  if (!end) return give_up_on(end.error().context, kFailed);
  const auto code = [&] { return WIFEXITED(end->status) ? WEXITSTATUS(end->status) : -1; };
  if (task.contained && code() == kRuntimeFailed && remove_container(options)) {
    end = run_child(task.plan);
    if (!end) return give_up_on(end.error().context, kFailed);
  }
  if (task.contained && !WIFEXITED(end->status)) remove_container(options);
  if (code() == 0 && !end->timed_out) {
    print_result(task, *std::move(end));
    return 0;
  }
  std::string said = how_it_ended(*end, options);
  if (end->output_bytes != 0) said += "; its output began with: " + end->output.substr(0, kSaidOutputBytes);
  if (end->timed_out) return give_up_on(said, kFailed);
  return give_up_on(said, code() > 0 ? code() : kSignalled + WTERMSIG(end->status));
}

}  // namespace

int run_order_main(const std::vector<std::string>& words) {
  const Result<RunOptions> options = read_run_options(words.empty() ? "" : words.front());
  if (!options) return give_up_on(options.error().context, kFailed);
  const Bytes text{std::istreambuf_iterator<char>(std::cin), {}};
  if (text.size() > options->order_bytes) {
    return give_up_on("it has " + std::to_string(text.size()) + " bytes; at most " +
                          std::to_string(options->order_bytes) + " are allowed",
                      kNeverTry);
  }
  Result<Task> task = task_of(text, *options, true);
  if (task) return run_task(*std::move(task), *options);
  if (task.error().code == Errc::refused || task.error().code == Errc::invalid) {
    return give_up_on(task.error().context, kNeverTry);
  }
  return give_up_on(task.error().context, task.error().code == Errc::closed ? kTryLater : kFailed);
}

int fetch_order_main(const std::vector<std::string>& words) {
  if (words.size() != 2) return kFailed;
  const Result<RunOptions> options = read_run_options(words[0]);
  if (!options) return give_up_on(options.error().context, kFailed);
  const Result<Bytes> fetched = fetch_order(words[1], *options, after(options->fetch_time));
  if (!fetched) {
    const Error& error = fetched.error();
    const std::string what =
        error.code == Errc::timed_out && error.context.empty() ? "no answer in time" : error.context;
    return give_up_on("fetch " + words[1] + ": " + what, error.code == Errc::refused ? kNeverTry : kFailed);
  }
  write_exact(STDOUT_FILENO, *fetched);
  return 0;
}

}  // namespace tenure::orders
