// tenure stream add, info, limit and remove.

#include <unistd.h>

#include <array>
#include <iostream>
#include <iterator>
#include <tenure/stream.hpp>

#include "base/lines.h"
#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "cli/stream_open.h"

namespace tenure::cli {
namespace {

// What --lines sends together: what has come, and not more than this.
constexpr std::size_t kTogetherEvents = 1024;
constexpr std::size_t kTogetherBytes = 1U << 20;

void print_added(const Call& call, const std::vector<StreamEvent>& events,
                 const std::vector<std::uint64_t>& positions) {
  Gathered lines;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (!call.json()) {
      lines.line(std::to_string(positions[i]));
      continue;
    }
    const StreamEvent& event = events[i];
    Json json;
    json.object().field("position", positions[i]).field("name", event.name).field("topic", event.topic);
    event.key ? json.field("key", *event.key) : json.null("key");
    lines.document(json.field("payload", event.payload).end());
  }
  lines.write();
}

Status add_all(const Call& call, Stream& stream, const std::vector<StreamEvent>& events) {
  if (events.empty()) return {};
  const Result<std::vector<std::uint64_t>> added = stream.add_all(events);
  if (!added) return Failure(added.error());
  print_added(call, events, *added);
  return {};
}

Status add_lines(const Call& call, Stream& stream, const StreamEvent& like) {
  Lines lines(kStreamAddBytesMax);
  std::vector<StreamEvent> events;
  std::size_t bytes = 0;
  Status failed;
  const auto send = [&] {
    if (failed) failed = add_all(call, stream, events);
    events.clear();
    bytes = 0;
  };
  const auto take = [&](BytesView line, bool whole) {
    if (!whole && failed) failed = fail(Errc::invalid, "add to stream", "a line has more than 8 MiB");
    if (bytes + line.size() > kTogetherBytes || events.size() == kTogetherEvents) send();
    events.push_back(like);
    events.back().payload = line;
    bytes += line.size();
  };
  std::array<char, 65536> buffer;
  while (failed) {
    const ssize_t size = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (size <= 0) break;
    lines.feed({buffer.data(), static_cast<std::size_t>(size)}, take);
    send();
  }
  lines.finish(take);
  send();
  return failed;
}

void print_info(const Call& call, const StreamState& state) {
  const bool drops = state.bound.policy == StreamBound::Policy::drop_oldest;
  if (call.json()) {
    Json json;
    json.object().field("stream", call.words[0]).field("events", state.events);
    json.field("first", state.first).field("last", state.last);
    json.field("bytes", state.bytes).field("partitions", state.partitions);
    json.object("limit").field("events_max", state.bound.events_max).field("at_bound", drops ? "drop" : "refuse");
    return print(json.end().end());
  }
  print("events      " + std::to_string(state.events));
  print("positions   " + std::to_string(state.first) + " to " + std::to_string(state.last));
  if (state.bytes != 0) print("bytes       " + std::to_string(state.bytes));
  print("partitions  " + std::to_string(state.partitions));
  if (state.bound.events_max == 0) return print("bound       none");
  print("bound       " + std::to_string(state.bound.events_max) + " events, then " +
        (drops ? "the oldest are dropped" : "more are refused"));
}

int show_state(const Call& call, Stream& stream) {
  const Result<StreamState> state = stream.state();
  if (!state) return report(call, state.error(), stream_hint);
  print_info(call, *state);
  return kDone;
}

}  // namespace

Result<Stream> named_stream(const Call& call, bool create) {
  const Result<std::string> engine = engine_url(call);
  if (!engine) return Failure(engine.error());
  return Stream::open(*engine, call.words[0], {.create = create});
}

int run_stream_add(const Call& call) {
  const bool lines = call.has("lines");
  if (lines == (call.words.size() == 2)) {
    return report_usage(call, {Errc::invalid, "",
                               lines ? "with --lines, payloads come from standard input"
                                     : "a PAYLOAD is needed; - reads it from standard input"});
  }
  StreamEvent event;
  event.topic = call.value("topic").value_or("");
  event.name = call.value("name").value_or("");
  event.key = call.value("key");
  Result<Stream> stream = named_stream(call, true);
  if (!stream) return report(call, stream.error(), stream_hint);
  if (!lines) {
    event.payload = call.words[1];
    if (event.payload == "-") event.payload.assign(std::istreambuf_iterator<char>(std::cin), {});
  }
  const Status added = lines ? add_lines(call, *stream, event) : add_all(call, *stream, {event});
  return added ? kDone : report(call, added.error(), stream_hint);
}

int run_stream_info(const Call& call) {
  Result<Stream> stream = named_stream(call, false);
  if (!stream) return report(call, stream.error(), stream_hint);
  return show_state(call, *stream);
}

int run_stream_limit(const Call& call) {
  const Result<std::uint64_t> events = call.number("events", 0, UINT32_MAX);
  if (!events) return report_usage(call, events.error());
  if (!call.has("events")) return report_usage(call, {Errc::invalid, "", "say with --events how many it may keep"});
  Result<Stream> stream = named_stream(call, true);
  if (!stream) return report(call, stream.error(), stream_hint);
  const bool drops = call.value("at-bound") == "drop";
  const Status set =
      stream->set_bound({*events, drops ? StreamBound::Policy::drop_oldest : StreamBound::Policy::refuse});
  if (!set) return report(call, set.error(), stream_hint);
  return show_state(call, *stream);
}

int run_stream_remove(const Call& call) {
  Result<Stream> stream = named_stream(call, false);
  if (!stream) return report(call, stream.error(), stream_hint);
  if (const Status removed = stream->remove(); !removed) return report(call, removed.error(), stream_hint);
  if (!call.json()) {
    print(call.words[0] + " removed");
    return kDone;
  }
  Json json;
  print(json.object().field("stream", call.words[0]).field("state", "removed").end());
  return kDone;
}

}  // namespace tenure::cli
