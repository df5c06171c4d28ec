// tenure stream trim: drops events below a position, a time, or what a pool has yet to take in.

#include <algorithm>
#include <optional>
#include <tenure/stream.hpp>

#include "base/clock.h"
#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "cli/stream_open.h"
#include "pool/source_infos.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

// The position below which events are dropped: as the command line has it.
Result<std::uint64_t> position_named(const Call& call, const source::StartAt& at) {
  if (at.kind == source::StartAt::Kind::position) return at.position;
  const Result<std::unique_ptr<source::Source>> source = open_stream(call);
  if (!source) return Failure(source.error());
  const Result<std::uint64_t> after = (*source)->find("0", at);
  if (!after) return Failure(after.error());
  return *after + 1;
}

// Behind what the pool has taken in. From there on the pool has the events as tasks of its own.
Result<std::uint64_t> position_taken(const Call& call, const std::string& name) {
  const Result<Deadline> deadline = deadline_of(call, std::chrono::seconds(30));
  if (!deadline) return Failure(deadline.error());
  const Result<std::unique_ptr<Shards>> pool = connect(call);
  if (!pool) return Failure(pool.error());
  const auto listed = (*pool)->list_sources(*deadline);
  if (!listed) return Failure(listed.error());
  std::optional<std::uint64_t> taken;
  for (const SourceInfo& info : source_infos(*listed, (*pool)->count())) {
    if (info.name != name || info.partition.empty()) continue;
    taken = std::min(taken.value_or(info.position), info.position);
  }
  if (!taken) {
    return fail(Errc::no_such_key, "trim stream",
                "the pool '" + pool_name(call) + "' has read nothing of a source '" + name + "'");
  }
  return *taken + 1;
}

}  // namespace

int run_stream_trim(const Call& call) {
  const std::optional<std::string> before = call.value("before");
  const std::optional<std::string> source = call.value("taken");
  if (before.has_value() == source.has_value()) {
    return report_usage(call, {Errc::invalid, "", "say with --before or with --taken up to where to drop events"});
  }
  const Result<source::StartAt> at = source::parse_start(before.value_or("oldest"), BootClock().wall_ms());
  if (!at) return report_usage(call, at.error());
  Result<Stream> stream = named_stream(call, false);
  if (!stream) return report(call, stream.error(), stream_hint);
  const Result<std::uint64_t> position = before ? position_named(call, *at) : position_taken(call, *source);
  if (!position) return report(call, position.error(), stream_hint);
  const Result<std::uint64_t> trimmed = stream->trim(*position);
  if (!trimmed) return report(call, trimmed.error(), stream_hint);
  if (!call.json()) {
    print(std::to_string(*trimmed) + " events dropped");
    return kDone;
  }
  Json json;
  print(json.object().field("stream", call.words[0]).field("trimmed", *trimmed).field("first", *position).end());
  return kDone;
}

}  // namespace tenure::cli
