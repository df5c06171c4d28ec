// tenure orders send, list and explain.

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <tuple>
#include <vector>

#include "base/lines.h"
#include "base/show_ms.h"
#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/order_book.h"
#include "cli/orders_settings.h"
#include "cli/run.h"
#include "log/engines.h"
#include "node/keys/listing.h"
#include "node/keys/why.h"
#include "render/history.h"
#include "render/table.h"
#include "source/source.h"
#include "source/stream_url.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

constexpr std::chrono::seconds kLookTime{30};

// The call, as the commands about pools understand it: with the coordination topic as the pool, on the same engine.
Result<Call> pool_call(const Call& call) {
  const OrderSettings settings(call, false);
  const auto engine = orders_engine(call, settings);
  if (!engine) return Failure(engine.error());
  const auto pool = coordination_topic(call, settings);
  if (!pool) return Failure(pool.error());
  Call made = call;
  made.flags["engine"] = {own_name_url(*engine)};
  made.flags["pool"] = {*pool};
  return made;
}

// One event for each order.
Result<std::vector<source::Event>> events_of(const Call& call) {
  std::string text;
  if (call.words.empty() || call.words[0] == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream file(call.words[0], std::ios::binary);
    if (!file) return fail(Errc::invalid, "open " + call.words[0], "cannot read the file");
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::vector<source::Event> events;
  const auto add = [&](BytesView order) {
    source::Event event;
    event.payload = order;
    if (call.has("key")) event.key = *call.value("key");
    events.push_back(std::move(event));
  };
  if (!call.has("lines")) {
    add(text);
    return events;
  }
  Lines lines(source::kAddBytesMax);
  lines.feed(text, [&](BytesView line, bool) { add(line); });
  lines.finish([&](BytesView line, bool) { add(line); });
  std::erase_if(events, [](const source::Event& event) { return event.payload.empty(); });
  return events;
}

// As many as one call takes.
std::vector<std::vector<source::Event>> portions_of(std::vector<source::Event> events) {
  std::vector<std::vector<source::Event>> portions;
  std::size_t bytes = 0;
  for (source::Event& event : events) {
    const std::size_t size = event.bytes();
    const bool full =
        portions.empty() || portions.back().size() == source::kAddEventsMax || bytes + size > source::kAddBytesMax;
    if (full) {
      portions.emplace_back();
      bytes = 0;
    }
    bytes += size;
    portions.back().push_back(std::move(event));
  }
  return portions;
}

// What is outstanding comes from the state, what is over from the log.
struct OrderRow {
  Bytes order;
  Bytes state;
  OrderStep last;
  std::uint32_t attempt = 0;
  std::int64_t since_ms = 0;
  Bytes why;
};

OrderRow row_of(const Bytes& order, const OrderCourse& course, std::int64_t now_ms) {
  OrderRow row{.order = order, .state = {}, .last = course.steps.back(), .attempt = course.attempt, .why = {}};
  row.state = row.last.event;
  row.since_ms = std::max<std::int64_t>(now_ms - row.last.at_ms, 0);
  return row;
}

void add_result(Json& json, const std::optional<orders::RunResult>& result) {
  if (!result) return;
  json.field("form", result->form).field("exit_code", result->exit_code).field("duration_ms", result->duration_ms);
  json.field("output", result->output).field("output_bytes", result->output_bytes);
}

void print_rows(const Call& call, const std::vector<OrderRow>& rows) {
  Json json;
  json.object().array("orders");
  render::Table table({"ORDER", "STATE", "INSTANCE", "ATTEMPT", "SINCE", "WHY"});
  for (const OrderRow& row : rows) {
    json.object().field("order", row.order).field("state", row.state);
    row.last.instance.empty() ? json.null("instance") : json.field("instance", row.last.instance);
    row.last.epoch == 0 ? json.null("epoch") : json.field("epoch", row.last.epoch);
    json.field("attempt", row.attempt).field("since_ms", row.since_ms);
    row.why.empty() ? json.null("why") : json.field("why", row.why);
    row.last.reason.empty() ? json.null("error") : json.field("error", row.last.reason);
    add_result(json, row.last.result);
    json.end();
    const Bytes& why = row.why.empty() ? row.last.reason : row.why;
    table.add({row.order, row.state, row.last.instance, std::to_string(row.attempt), show_ms(row.since_ms),
               why.substr(0, why.find('\n'))});
  }
  json.end().end();
  call.json() ? print(json) : print(table);
}

// Replaces what the log said of an order that is in the state, or adds it.
void add_outstanding(const Machine& machine, const JobInfo& job, Bytes why, std::map<Bytes, OrderRow>& rows) {
  OrderRow& row = rows[Bytes(job.key)];
  row.order = job.key;
  if (job.state != JobState::running) row.state = to_string(job.state);
  if (row.state.empty()) row.state = "claimed";
  row.last.instance = instance_of(job.worker);
  row.last.epoch = job.epoch;
  row.last.reason = job.error;
  row.last.result.reset();
  row.attempt = job.attempt;
  row.since_ms = std::max<std::int64_t>(machine.log_time_ms() - job.since_ms, 0);
  row.why = std::move(why);
}

void add_dead(const Machine& machine, const DeadLetter& letter, std::map<Bytes, OrderRow>& rows) {
  OrderRow& row = rows[letter.key];
  row.order = letter.key;
  row.state = "dead";
  row.last.epoch = letter.epoch;
  row.last.reason = letter.error;
  row.attempt = machine.dead_attempts(letter);
  row.since_ms = std::max<std::int64_t>(machine.log_time_ms() - letter.since_ms, 0);
}

// The tenure that the state knows, of an order that was claimed before the log begins.
void add_present(const v1::Told& told, std::vector<OrderStep>& steps) {
  for (const render::Tenure& tenure : render::kept_history(told)) {
    const bool known =
        std::any_of(steps.begin(), steps.end(), [&](const OrderStep& step) { return step.epoch == tenure.epoch; });
    if (known) continue;
    const Bytes instance = instance_of(tenure.worker);
    steps.push_back({.event = "claimed", .instance = instance, .epoch = tenure.epoch, .at_ms = tenure.granted_ms});
    if (tenure.started_ms) {
      steps.push_back({.event = "committed", .instance = instance, .epoch = tenure.epoch, .at_ms = *tenure.started_ms});
    }
  }
}

void print_course(const Call& call, const Bytes& order, const std::vector<OrderStep>& steps) {
  Json json;
  json.object().field("order", order).array("history");
  render::Table table({"EVENT", "INSTANCE", "EPOCH", "AT", "WHY"});
  for (const OrderStep& step : steps) {
    json.object().field("event", step.event).field("instance", step.instance).field("epoch", step.epoch);
    json.field("at_ms", step.at_ms);
    if (!step.reason.empty()) json.field(step.event == "yielded" ? "reason" : "error", step.reason);
    add_result(json, step.result);
    json.end();
    std::string why = step.reason.substr(0, step.reason.find('\n'));
    if (step.result) {
      why = "exit code " + std::to_string(step.result->exit_code) + " after " + show_ms(step.result->duration_ms) +
            ", " + std::to_string(step.result->output_bytes) + " bytes of output";
    }
    table.add(
        {std::string(step.event), step.instance, std::to_string(step.epoch), render::clock_time(step.at_ms), why});
  }
  json.end().end();
  if (call.json()) return print(json);
  print(table);
  if (!steps.empty() && steps.back().result) print_data(steps.back().result->output);
}

}  // namespace

int run_orders_send(const Call& call) {
  const OrderSettings settings(call, false);
  const auto engine = orders_engine(call, settings);
  if (!engine) return report(call, engine.error());
  const auto topic = orders_topic(settings);
  if (!topic) return report_usage(call, topic.error());
  auto events = events_of(call);
  if (!events) return report(call, events.error());
  if (events->empty() || (events->size() == 1 && events->front().payload.empty())) {
    return report(call, {Errc::invalid, "send", "there is no order: it is empty"});
  }
  const auto writer = source::open_stream_writer(source::with_stream(*engine, *topic), true);
  if (!writer) return report(call, writer.error());
  for (const auto& portion : portions_of(*std::move(events))) {
    const auto added = (*writer)->add_named(portion);
    if (!added) return report(call, added.error());
    Gathered lines;
    for (const Bytes& name : *added) {
      const Bytes order = *topic + "/" + name;
      Json json;
      call.json() ? lines.document(json.object().field("order", order).end()) : lines.line(order);
    }
    lines.write();
  }
  return kDone;
}

int run_orders_list(const Call& call) {
  const Result<std::uint64_t> limit = call.number("limit", 100, 20'000);
  if (!limit) return report_usage(call, limit.error());
  const Result<Deadline> deadline = deadline_of(call, kLookTime);
  if (!deadline) return report_usage(call, deadline.error());
  const Result<Call> there = pool_call(call);
  if (!there) return report_usage(call, there.error());
  OrderBook book;
  const Result<std::unique_ptr<Shards>> pool = connect(*there, [&](std::uint32_t) { return &book; });
  if (!pool) return report(call, pool.error());
  std::map<Bytes, OrderRow> rows;
  const auto look = [&](const Machine& machine) {
    for (const auto& [order, course] : book.orders()) rows[order] = row_of(order, course, machine.engine_ms());
    WhyWaiting why(machine);
    machine.each_job(0, [&](const JobInfo& job) {
      if (job.kind == JobKind::task && job.type == kOrderType) add_outstanding(machine, job, why.of(job), rows);
      return true;
    });
    for (const auto& [id, letter] : machine.dead()) {
      if (machine.dead_type(letter) == kOrderType) add_dead(machine, letter, rows);
    }
  };
  if (const Status looked = (*pool)->look_at(0U, look, *deadline); !looked) return report(call, looked.error());
  std::vector<OrderRow> sorted;
  for (auto& [order, row] : rows) sorted.push_back(std::move(row));
  std::sort(sorted.begin(), sorted.end(), [](const OrderRow& a, const OrderRow& b) {
    return std::tie(a.since_ms, a.order) < std::tie(b.since_ms, b.order);
  });
  if (sorted.size() > *limit) {
    print_note("these are the last " + std::to_string(*limit) + " of " + std::to_string(sorted.size()) +
               "; see --limit");
    sorted.resize(*limit);
  }
  print_rows(call, sorted);
  return kDone;
}

int run_orders_explain(const Call& call) {
  const Result<Deadline> deadline = deadline_of(call, kLookTime);
  if (!deadline) return report_usage(call, deadline.error());
  const Result<Call> there = pool_call(call);
  if (!there) return report_usage(call, there.error());
  const Bytes& order = call.words[0];
  OrderBook book(order);
  const Result<std::unique_ptr<Shards>> pool = connect(*there, [&](std::uint32_t) { return &book; });
  if (!pool) return report(call, pool.error());
  std::vector<OrderStep> steps;
  std::optional<Bytes> waits;
  const auto look = [&](const Machine& machine) {
    const auto found = book.orders().find(order);
    if (found != book.orders().end()) steps = found->second.steps;
    const v1::Told told = tell_history(machine, order);
    add_present(told, steps);
    for (const v1::ListedJob& job : told.jobs()) waits = job.why();
  };
  if (const Status looked = (*pool)->look_at(order, look, *deadline); !looked) return report(call, looked.error());
  if (steps.empty() && !waits) {
    return report(call, {Errc::no_such_key, "explain",
                         "the log says nothing of the order '" + order +
                             "': it was not read yet, or it was over before the log's newest snapshot"});
  }
  if (waits && !waits->empty()) print_note(order + ": " + *waits);
  print_course(call, order, steps);
  return kDone;
}

}  // namespace tenure::cli
