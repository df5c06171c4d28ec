// tenure stream read and tail: print the events of a stream.

#include <ctime>
#include <tenure/stream_reader.hpp>

#include "base/clock.h"
#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "cli/stream_open.h"
#include "source/stream_url.h"
#include "stream/topic_filter.h"

namespace tenure::cli {
namespace {

// How late a signal is noticed at most.
constexpr std::chrono::milliseconds kLookForSignal{100};

std::string show_time(std::int64_t time_ms) {
  const std::time_t seconds = time_ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t size = std::strftime(text, sizeof text, "%FT%T", &parts);
  const std::string ms = std::to_string(1000 + time_ms % 1000);
  return std::string(text, size) + "." + ms.substr(1) + "Z";
}

void add_event(const Call& call, const StreamEvent& event, Gathered& lines) {
  if (call.json()) {
    Json json;
    json.object().field("position", event.position).field("time_ms", event.time_ms);
    json.field("name", event.name).field("topic", event.topic);
    event.key ? json.field("key", *event.key) : json.null("key");
    lines.document(json.field("payload", event.payload).end());
    return;
  }
  std::string line = std::to_string(event.position) + "  " + show_time(event.time_ms);
  if (!event.topic.empty()) line += "  topic=" + event.topic;
  if (!event.name.empty()) line += "  name=" + event.name;
  if (event.key) line += "  key=" + *event.key;
  lines.line(line + "  " + event.payload);
}

void note_loss(std::uint64_t first, std::uint64_t last, std::uint64_t count) {
  print_note("tenure: " + std::to_string(count) + " events were trimmed before they were read: positions " +
             std::to_string(first) + " to " + std::to_string(last));
}

void note_change(bool anew, std::uint64_t resumed) {
  const std::string behind = std::to_string(resumed);
  print_note(anew ? "tenure: the stream was deleted and made again"
                  : "tenure: the stream has lost its last events; going on behind " + behind);
}

struct ReadPlan {
  source::StartAt from;
  std::string topic;
  std::uint64_t limit = 0;
};

Result<ReadPlan> read_plan(const Call& call, std::string_view from, std::uint64_t limit) {
  ReadPlan plan;
  const Result<source::StartAt> at =
      source::parse_start(call.value("from").value_or(std::string(from)), BootClock().wall_ms());
  if (!at) return Failure(at.error());
  plan.from = *at;
  const Result<std::uint64_t> events = call.number("limit", limit, UINT64_MAX);
  if (!events) return Failure(events.error());
  plan.limit = *events;
  plan.topic = call.value("topic").value_or("");
  return plan;
}

// Prints one partition from its start to the end that it has now. Returns how many events it printed.
class PartitionPrinter {
 public:
  PartitionPrinter(const Call& call, source::Source& source, const ReadPlan& plan, const Signals& signals)
      : call_(call), source_(source), plan_(plan), signals_(signals), filter_({}, plan.topic) {}

  Status print(const Bytes& partition) {
    const Result<source::Ends> ends = source_.ends(partition);
    if (!ends) return Failure(ends.error());
    const Result<std::uint64_t> after = source_.find(partition, plan_.from);
    if (!after) return Failure(after.error());
    std::uint64_t position = *after;
    if (Status opened = source_.open(partition, position, {}); !opened) return opened;
    while (position < ends->last && !ended_) {
      const Result<source::Run> run = source_.read(partition, {});
      if (!run && run.error().code != Errc::unavailable) return Failure(run.error());
      if (run) position = std::max(position, run->position);
      if (!run || !take(*run, ends->last)) source_.wait(clock_.now() + kLookForSignal);
      if (signals_.wait(0)) ended_ = true;
    }
    source_.close(partition);
    return {};
  }
  // Where to go on if the limit was reached.
  std::optional<std::uint64_t> next() const { return next_; }
  bool ended() const { return ended_; }

 private:
  bool take(const source::Run& run, std::uint64_t last) {
    if (run.change != source::Change::none) note_change(run.change == source::Change::anew, run.resumed);
    // The end that was asked for is that of the stream before.
    ended_ = ended_ || run.change == source::Change::anew;
    if (run.lost) note_loss(run.lost->first, run.lost->last, run.lost->count);
    Gathered lines;
    for (const source::Event& event : run.events) {
      if (ended_ || event.position > last) break;
      if (!filter_.takes(event.topic)) continue;
      if (printed_ == plan_.limit) {
        next_ = event.position;
        ended_ = true;
        break;
      }
      ++printed_;
      add_event(call_,
                {.name = event.name,
                 .topic = event.topic,
                 .key = event.key,
                 .payload = event.payload,
                 .position = event.position,
                 .time_ms = event.time_ms},
                lines);
    }
    lines.write();
    return run.position != 0 || run.change != source::Change::none;
  }

  const Call& call_;
  source::Source& source_;
  const ReadPlan& plan_;
  const Signals& signals_;
  const TopicFilter filter_;
  const BootClock clock_;
  std::uint64_t printed_ = 0;
  std::optional<std::uint64_t> next_;
  bool ended_ = false;
};

StreamStart start_of(const source::StartAt& at) {
  StreamStart start{.at = StreamStart::At::newest, .position = at.position, .time_ms = at.time_ms};
  switch (at.kind) {
    case source::StartAt::Kind::oldest: start.at = StreamStart::At::oldest; break;
    case source::StartAt::Kind::newest: break;
    case source::StartAt::Kind::position: start.at = StreamStart::At::position; break;
    case source::StartAt::Kind::time: start.at = StreamStart::At::time; break;
  }
  return start;
}

void show_item(const Call& call, const StreamItem& item) {
  if (const auto* const event = std::get_if<StreamEvent>(&item)) {
    Gathered lines;
    add_event(call, *event, lines);
    lines.write();
  } else if (const auto* const lost = std::get_if<StreamLoss>(&item)) {
    note_loss(lost->first, lost->last, lost->count);
  } else if (const auto* const change = std::get_if<StreamChange>(&item)) {
    note_change(change->anew, change->resumed);
  }
}

// What a reader gets over by itself. A stream that is removed may be made again.
bool passes(Errc code) { return code == Errc::unavailable || code == Errc::no_such_key; }

}  // namespace

Result<std::unique_ptr<source::Source>> open_stream(const Call& call) {
  const Result<std::string> engine = engine_url(call);
  if (!engine) return Failure(engine.error());
  return source::open_source(source::with_stream(*engine, call.words[0]));
}

int run_stream_read(const Call& call) {
  const Result<ReadPlan> plan = read_plan(call, "oldest", 100);
  if (!plan) return report_usage(call, plan.error());
  const Signals signals;
  const Result<std::unique_ptr<source::Source>> source = open_stream(call);
  if (!source) return report(call, source.error(), stream_hint);
  const Result<std::vector<Bytes>> partitions = (*source)->partitions();
  if (!partitions) return report(call, partitions.error(), stream_hint);
  PartitionPrinter printer(call, **source, *plan, signals);
  for (const Bytes& partition : *partitions) {
    if (printer.ended()) break;
    if (const Status printed = printer.print(partition); !printed) return report(call, printed.error(), stream_hint);
  }
  if (printer.next()) print_note("there are more: go on with --from " + std::to_string(*printer.next()));
  return kDone;
}

int run_stream_tail(const Call& call) {
  const Result<ReadPlan> plan = read_plan(call, "newest", UINT64_MAX);
  if (!plan) return report_usage(call, plan.error());
  const Signals signals;
  const Result<std::string> engine = engine_url(call);
  if (!engine) return report(call, engine.error(), stream_hint);
  Result<StreamReader> reader =
      StreamReader::open(*engine, {call.words[0]}, {.start = start_of(plan->from), .topic_pattern = plan->topic});
  if (!reader) return report(call, reader.error(), stream_hint);
  std::uint64_t shown = 0;
  std::string trouble;
  while (shown < plan->limit && !signals.wait(0)) {
    const Result<StreamItem> item = reader->next(kLookForSignal);
    if (item) {
      trouble.clear();
      show_item(call, *item);
      shown += std::holds_alternative<StreamEvent>(*item) ? 1 : 0;
      continue;
    }
    if (item.error().code == Errc::timed_out) continue;
    if (!passes(item.error().code)) return report(call, item.error(), stream_hint);
    if (trouble != item.error().message()) print_note("tenure: " + item.error().message());
    trouble = item.error().message();
  }
  return kDone;
}

}  // namespace tenure::cli
