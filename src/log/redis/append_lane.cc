#include "log/redis/append_lane.h"

#include <algorithm>
#include <array>
#include <vector>

#include "log/redis/command.h"
#include "log/redis/entry_id.h"
#include "log/redis/scripts.h"
#include "log/redis/stream_entry.h"

namespace tenure::redis {
namespace {

// How many appends may be in flight. More would not be faster, and would see an error later.
constexpr std::size_t kUnderWayMax = 2048;
constexpr std::size_t kUnderWayBytesMax = 4U << 20;

}  // namespace

struct AppendLane::Group {
  struct Answer {
    Log::AppendDone done;
    Position position;
    std::uint64_t link;
  };
  std::uint64_t log = 0;
  std::vector<Answer> answers;
};

AppendLane::AppendLane(const World& world, const RedisSettings& settings, Connection& connection, History& history,
                       CallAfter call_after, OnLost on_lost, std::optional<BeatProof> proof)
    : world_(world),
      settings_(settings),
      connection_(connection),
      history_(history),
      call_after_(std::move(call_after)),
      on_lost_(std::move(on_lost)),
      proof_(std::move(proof)),
      link_base_(world.entropy.id()) {}

void AppendLane::offer(Bytes data, Log::AppendDone done) {
  if (history_.lost) {
    return answer(std::move(done), fail(Errc::lost_history, "redis append",
                                        "history was lost, and this handle has not loaded a snapshot since"));
  }
  waiting_.push_back({std::move(data), std::move(done)});
  if (pumping_) return;
  pumping_ = true;
  world_.loop.post([this] {
    pumping_ = false;
    pump();
  });
}

void AppendLane::lose(const Error& error) {
  for (Append& append : std::exchange(waiting_, {})) answer(std::move(append.done), Failure(error));
}

void AppendLane::pump() {
  const std::shared_ptr<Group> group =
      settings_.wait_replicas == 0 ? nullptr : std::make_shared<Group>(Group{history_.id, {}});
  bool sent = false;
  while (!waiting_.empty() && under_way_ < kUnderWayMax && under_way_bytes_ < kUnderWayBytesMax) {
    Append append = std::move(waiting_.front());
    waiting_.pop_front();
    send(std::move(append), group);
    sent = true;
  }
  if (sent && group) wait_for_replicas(group);
}

void AppendLane::send(Append append, const std::shared_ptr<Group>& group) {
  ++under_way_;
  under_way_bytes_ += append.data.size();
  if (proof_) return send_beat(std::move(append), group);
  const std::uint64_t link = next_link();
  connection_.send(kAppendOperation, append_command(append.data, link),
                   [this, bytes = append.data.size(), link, group, log = history_.id,
                    done = std::move(append.done)](const Result<Reply>& reply) {
                     settle(done, position_of(reply, log), log, link, group);
                     answered(bytes);
                   });
}

void AppendLane::send_beat(Append append, const std::shared_ptr<Group>& group) {
  const std::uint64_t link = next_link();
  Bytes command = beat_command(append.data, link);
  connection_.send(kAppendOperation, std::move(command),
                   [this, link, group, log = history_.id, append = std::move(append)](const Result<Reply>& reply) {
                     if (reply && reply->value().text() == "mended") {
                       offer(append.data, append.done);  // one of the pool's hashes was missing, and is written again
                       return answered(append.data.size());
                     }
                     const Result<Position> result = position_of(reply, log);
                     settle(append.done, result, log, link, group);
                     answered(append.data.size());
                     if (!result || log != history_.id) return;
                     last_beat_ = {.id = log, .stream = {}, .seen = *result, .link = link, .lost = false};
                     proof_->snapshot_seen(parse_id(reply->value()[1].text()).value_or(0));
                   });
}

void AppendLane::settle(Log::AppendDone done, const Result<Position>& result, std::uint64_t log, std::uint64_t link,
                        const std::shared_ptr<Group>& group) {
  if (group && result) {
    group->answers.push_back({std::move(done), *result, link});
    return;
  }
  if (result) see(*result, log, link);
  answer(std::move(done), result);
}

// The server chooses the id, unless its clock was set back and many entries have come since (entry_id.h).
std::string AppendLane::new_id() const {
  const bool crowded = is_crowded(history_.seen) && history_.seen != outrun_;
  return crowded ? std::to_string(time_of(history_.seen) + 1) + "-*" : "*";
}

Bytes AppendLane::append_command(BytesView data, std::uint64_t link) const {
  return command({"XADD", history_.stream, "NOMKSTREAM", new_id(), kEntryField}, link_bytes(link), data);
}

// Proves the log with the last beat, which is small and quick to compare. If that was trimmed, with the last entry
// seen.
Bytes AppendLane::beat_command(BytesView data, std::uint64_t link) const {
  const History& beat = last_beat_.id == history_.id ? last_beat_ : history_;
  const std::string id = to_hex(history_.id);
  const std::string seen = id_of(history_.seen);
  const std::string seen_link = link_bytes(history_.link);
  const std::string last = id_of(beat.seen);
  const std::string last_link = link_bytes(beat.link);
  const std::string next = new_id();
  const std::string value = link_bytes(link) + Bytes(data);
  const LogOptions& options = proof_->options;
  const std::string shard = std::to_string(options.shard.index);
  const std::string shards = std::to_string(options.shard.count);
  const std::array<std::string_view, 3> keys = {history_.stream, proof_->keys.meta, proof_->keys.head};
  const std::array<std::string_view, 10> arguments = {id,   seen,  seen_link,    last,  last_link,
                                                      next, value, options.pool, shard, shards};
  return call(Scripts::get().beat, keys, arguments);
}

Result<Position> AppendLane::position_of(const Result<Reply>& reply, std::uint64_t log) {
  if (!reply) {
    if (is_crowded(history_.seen)) outrun_ = history_.seen;
    return Failure(reply.error());
  }
  if (reply->value().is_nil()) {
    const Error lost{Errc::lost_history, "redis append",
                     settings_.shown + ": the log was removed, flushed or replaced"};
    if (log == history_.id) on_lost_(lost);
    return Failure(lost);
  }
  const Value said = proof_ ? reply->value()[0] : reply->value();
  const std::optional<Position> position = parse_id(said.text());
  if (!position) return fail(Errc::unknown, "redis append", "the server's answer is not an id");
  return *position;
}

// An append that was not acknowledged may be lost without a message.
void AppendLane::see(Position position, std::uint64_t log, std::uint64_t link) {
  if (log == history_.id && !history_.lost) history_.see(position, link);
}

// WAIT covers everything that its connection has written before.
void AppendLane::wait_for_replicas(const std::shared_ptr<Group>& group) {
  const std::string count = std::to_string(settings_.wait_replicas);
  const std::string patience_ms = std::to_string(to_ms(settings_.timeout));
  connection_.send(
      kAppendOperation, command({"WAIT", count, patience_ms}),
      [this, group](Result<Reply> reply) {
        const bool enough = reply && reply->value().integer() >= std::int64_t{settings_.wait_replicas};
        std::string why = reply ? settings_.shown + ": only " + std::to_string(reply->value().integer()) + " of " +
                                      std::to_string(settings_.wait_replicas) + " replicas have it (wait_replicas)"
                                : reply.error().context;
        for (Group::Answer& held : group->answers) {
          if (!enough) {
            answer(std::move(held.done), fail(Errc::unknown, "redis append", why));
            continue;
          }
          see(held.position, group->log, held.link);
          answer(std::move(held.done), held.position);
        }
      },
      settings_.timeout);
}

void AppendLane::answered(std::size_t bytes) {
  --under_way_;
  under_way_bytes_ -= bytes;
  if (waiting_.empty() || pumping_) return;
  pumping_ = true;
  world_.loop.post([this] {
    pumping_ = false;
    pump();
  });
}

void AppendLane::answer(Log::AppendDone done, Result<Position> result) {
  call_after_([done = std::move(done), result = std::move(result)] { done(result); });
}

std::uint64_t AppendLane::next_link() { return std::max<std::uint64_t>(1, hash_mix(link_base_, ++link_count_)); }

}  // namespace tenure::redis
