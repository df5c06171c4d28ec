#include "log/redis/append_lane.h"

#include <algorithm>
#include <array>
#include <vector>

#include "log/redis/command.h"
#include "log/redis/scripts.h"

namespace tenure::redis {
namespace {

// What may be on its way to the server at a time. More would not be faster, only later to see an error.
constexpr std::size_t kUnderWayMax = 2048;
constexpr std::size_t kUnderWayBytesMax = 4U << 20;

}  // namespace

struct AppendLane::Group {
  std::vector<std::pair<Log::AppendDone, Result<Position>>> answers;
};

AppendLane::AppendLane(const World& world, const Settings& settings, const Keys& keys, Link& link, History& history,
                       CallAfter call_after)
    : world_(world),
      settings_(settings),
      keys_(keys),
      link_(link),
      history_(history),
      call_after_(std::move(call_after)),
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
  const std::shared_ptr<Group> group = settings_.wait_replicas == 0 ? nullptr : std::make_shared<Group>();
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
  const std::uint64_t link = next_link();
  const std::string id = to_hex(history_.id);
  const std::string link_text = to_hex(link);
  const std::string seen = std::to_string(history_.seen);
  const std::array<std::string_view, 2> keys = {keys_.log, keys_.meta};
  const std::array<std::string_view, 4> arguments = {id, link_text, seen, append.data};
  const std::size_t bytes = append.data.size();
  ++under_way_;
  under_way_bytes_ += bytes;
  link_.send("append", call(Scripts::get().append, keys, arguments),
             [this, bytes, link, group, log = history_.id, done = std::move(append.done)](Result<Reply> reply) {
               Result<Position> result = fail(Errc::unknown, "redis append", "an answer that is none");
               if (!reply) {
                 result = Failure(reply.error());
               } else if (reply->value().integer() > 0) {
                 result = static_cast<Position>(reply->value().integer());
                 if (log == history_.id && !history_.lost) history_.see(*result, link);
               }
               if (group && result) {
                 group->answers.emplace_back(done, std::move(result));
               } else {
                 answer(done, std::move(result));
               }
               answered(bytes);
             });
}

// WAIT speaks for all that its connection has written before.
void AppendLane::wait_for_replicas(const std::shared_ptr<Group>& group) {
  const std::string count = std::to_string(settings_.wait_replicas);
  const std::string patience_ms = std::to_string(to_ms(settings_.timeout));
  link_.send(
      "append", command({"WAIT", count, patience_ms}),
      [this, group](Result<Reply> reply) {
        const bool enough = reply && reply->value().integer() >= std::int64_t{settings_.wait_replicas};
        std::string why = reply ? settings_.shown + ": only " + std::to_string(reply->value().integer()) + " of " +
                                      std::to_string(settings_.wait_replicas) + " replicas have it (wait_replicas)"
                                : reply.error().context;
        for (auto& [done, result] : group->answers) {
          if (!enough) result = fail(Errc::unknown, "redis append", why);
          answer(std::move(done), std::move(result));
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
