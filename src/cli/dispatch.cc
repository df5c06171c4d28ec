// tenure dispatch: one job, or one for each line of a file.

#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/json_in.h"
#include "cli/run.h"

namespace tenure::cli {
namespace {

// Lines in flight at a time: enough to fill batches, and a bound on memory.
constexpr std::size_t kUnderWayMax = 20'000;

struct DispatchPlan {
  Stage stage = Stage::accepted;
  std::chrono::milliseconds timeout{};
  bool json = false;
};

Result<DispatchPlan> dispatch_plan(const Call& call) {
  DispatchPlan plan;
  const std::string wait = call.value("wait").value_or("accepted");
  if (wait == "started") plan.stage = Stage::started;
  if (wait == "done") plan.stage = Stage::done;
  const Result<std::chrono::milliseconds> timeout = call.duration("timeout", std::chrono::seconds(10));
  if (!timeout) return Failure(timeout.error());
  plan.timeout = *timeout;
  plan.json = call.json();
  return plan;
}

Result<Request> request_of(const Call& call) {
  Request request;
  request.job = call.has("task") ? JobKind::task : JobKind::resident;
  request.type = call.value("type").value_or("");
  const Result<std::chrono::milliseconds> delay = call.duration("delay", std::chrono::milliseconds(0));
  if (!delay) return Failure(delay.error());
  request.delay = *delay;
  const Result<std::uint64_t> attempts = call.number("max-attempts", 0, 10'000);
  if (!attempts) return Failure(attempts.error());
  request.max_attempts = static_cast<std::uint32_t>(*attempts);
  return request;
}

// The state of the job at the deadline: an error, unless the job has reached the wanted stage.
std::optional<Error> outcome_of(const Shards& pool, const PendingTicket& ticket, Stage stage, Deadline deadline) {
  if (!ticket.wait(stage, deadline)) return pool.late(ticket.operation());
  const Status outcome = ticket.outcome(stage);
  if (outcome) return std::nullopt;
  return outcome.error();
}

std::string_view state_of(const PendingTicket::View& view) {
  if (!view.state) return view.error ? "refused" : "sent";
  if (*view.state == TicketState::stopped) return "done";
  return to_string(*view.state);
}

Json line_of(const std::string& key, const PendingTicket& ticket, const std::optional<Error>& error) {
  const PendingTicket::View view = ticket.view();
  Json json;
  json.object().field("key", key).field("ticket", std::to_string(view.number)).field("state", state_of(view));
  view.worker.empty() ? json.null("worker") : json.field("worker", view.worker);
  view.epoch == 0 ? json.null("epoch") : json.field("epoch", view.epoch);
  const bool done = view.state == TicketState::done || view.state == TicketState::stopped;
  done ? json.field("result", view.text) : json.null("result");
  if (error) {
    write_error(json, *error);
  } else {
    json.null("error");
  }
  return json.end();
}

int tell(const Shards& pool, const DispatchPlan& plan, const std::string& key, const PendingTicket& ticket,
         Deadline deadline) {
  const std::optional<Error> error = outcome_of(pool, ticket, plan.stage, deadline);
  const PendingTicket::View view = ticket.view();
  if (plan.json) {
    print(line_of(key, ticket, error));
  } else if (!error && plan.stage == Stage::done) {
    print_data(view.text);
  } else if (!error) {
    print(key + " " + std::string(state_of(view)) + (view.worker.empty() ? "" : " on " + view.worker) +
          (view.epoch == 0 ? "" : ", epoch " + std::to_string(view.epoch)));
  }
  if (!error) return kDone;
  print_note("tenure: " + key + ": " + error->message());
  if (const std::string next = hint(*error); !next.empty()) print_note("  " + next);
  return exit_code(error->code);
}

int dispatch_one(const Call& call, Shards& pool, const DispatchPlan& plan, Request request) {
  request.key = call.words[0];
  if (call.words.size() > 1 && call.words[1] == "-") {
    request.text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else if (call.words.size() > 1) {
    request.text = call.words[1];
  }
  const Deadline deadline = after(plan.timeout);
  const Result<TicketPtr> ticket = pool.submit(request);
  if (!ticket) return report(call, ticket.error());
  return tell(pool, plan, request.key, **ticket, deadline);
}

// The jobs that were sent, in the order of their lines. The oldest is waited for first.
class UnderWay {
 public:
  UnderWay(Shards& pool, const DispatchPlan& plan) : pool_(pool), plan_(plan) {}

  // A malformed line gets an answer like any other, at its place in the order.
  void send(const Request& request) {
    if (jobs_.size() >= kUnderWayMax) tell_oldest();
    const std::string key = request.key;
    Result<TicketPtr> ticket = pool_.submit(request);
    while (!ticket && ticket.error().code == Errc::busy && !jobs_.empty()) {
      tell_oldest();
      ticket = pool_.submit(request);
    }
    if (!ticket) return fail_line(key, ticket.error());
    jobs_.push_back({key, *ticket, after(plan_.timeout)});
  }

  void fail_line(const std::string& key, const Error& error) {
    tell_all();
    if (plan_.json) {
      Json json;
      json.object().field("key", key).null("ticket").field("state", "refused");
      write_error(json, error);
      print(json.end());
    }
    print_note("tenure: " + error.message());
    note(exit_code(error.code));
  }

  void tell_all() {
    while (!jobs_.empty()) tell_oldest();
  }

  // The exit code of the first job that failed.
  int exit() const { return exit_; }

 private:
  struct Job {
    std::string key;
    TicketPtr ticket;
    Deadline deadline;
  };

  void tell_oldest() {
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    note(tell(pool_, plan_, job.key, *job.ticket, job.deadline));
  }
  void note(int code) {
    if (exit_ == kDone) exit_ = code;
  }

  Shards& pool_;
  const DispatchPlan& plan_;
  std::deque<Job> jobs_;
  int exit_ = kDone;
};

int dispatch_lines(Shards& pool, const DispatchPlan& plan, const Request& like, std::istream& lines) {
  UnderWay under_way(pool, plan);
  std::string line;
  for (std::uint64_t number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Request request = like;
    if (Status read = read_job_line(line, request); !read) {
      under_way.fail_line("", {Errc::invalid, "read line " + std::to_string(number), read.error().context});
    } else {
      under_way.send(request);
    }
  }
  under_way.tell_all();
  return under_way.exit();
}

int dispatch_from(const Call& call, Shards& pool, const DispatchPlan& plan, const Request& like) {
  const std::string path = *call.value("from");
  if (path == "-") return dispatch_lines(pool, plan, like, std::cin);
  std::ifstream file(path);
  if (!file) return report(call, {Errc::invalid, "open " + path, "cannot read the file"});
  return dispatch_lines(pool, plan, like, file);
}

}  // namespace

int run_dispatch(const Call& call) {
  const bool from = call.has("from");
  if (from != call.words.empty()) {
    return report_usage(call, {Errc::invalid, "", from ? "with --from, keys come from the file" : "a KEY is needed"});
  }
  const Result<DispatchPlan> plan = dispatch_plan(call);
  if (!plan) return report_usage(call, plan.error());
  Result<Request> request = request_of(call);
  if (!request) return report_usage(call, request.error());
  const Result<std::unique_ptr<Shards>> pool = connect(call, nullptr, Missing::create);
  if (!pool) return report(call, pool.error());
  return from ? dispatch_from(call, **pool, *plan, *request) : dispatch_one(call, **pool, *plan, *std::move(request));
}

}  // namespace tenure::cli
