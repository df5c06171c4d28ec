#pragma once

// One lane of appends: what waits, what is under way, and the answers. Each lane has a connection of its own, so that a
// beat never waits behind megabytes of data.
//
// The data lane sends plain XADDs. The beat lane sends a script, which appends the beat only if newcomers are given
// this very log (Scripts::beat), and which says in passing what snapshot they would load.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "log/log.h"
#include "log/open.h"
#include "log/redis/connection.h"
#include "log/redis/history.h"
#include "log/redis/keys.h"

namespace tenure::redis {

// What a lane's requests are called.
constexpr std::string_view kAppendOperation = "append";

// Has a call made when the turn of the loop is over.
using CallAfter = std::function<void(std::function<void()>)>;

// What the beat lane proves the log with.
struct BeatProof {
  const Keys& keys;
  const LogOptions& options;                    // the pool's name, and the shard
  std::function<void(Position)> snapshot_seen;  // that newcomers would load; zero: none that is whole
};

// Belongs to the loop. The Log bounds what is offered.
class AppendLane {
 public:
  // Called when an append shows that history was lost, before it is answered so.
  using OnLost = std::function<void(const Error&)>;

  AppendLane(const World& world, const RedisSettings& settings, Connection& connection, History& history,
             CallAfter call_after, OnLost on_lost, std::optional<BeatProof> proof = std::nullopt);

  void offer(Bytes data, Log::AppendDone done);
  // Answers what was not sent yet.
  void lose(const Error& error);

 private:
  struct Append {
    Bytes data;
    Log::AppendDone done;
  };
  // Appends whose answers are held back until enough replicas have them.
  struct Group;

  void pump();
  void send(Append append, const std::shared_ptr<Group>& group);
  void wait_for_replicas(const std::shared_ptr<Group>& group);
  void answered(std::size_t bytes);
  void answer(Log::AppendDone done, Result<Position> result);
  std::string new_id() const;
  Bytes append_command(BytesView data, std::uint64_t link) const;
  Bytes beat_command(BytesView data, std::uint64_t link) const;
  void send_beat(Append append, const std::shared_ptr<Group>& group);
  void settle(Log::AppendDone done, const Result<Position>& result, std::uint64_t log, std::uint64_t link,
              const std::shared_ptr<Group>& group);
  Result<Position> position_of(const Result<Reply>& reply, std::uint64_t log);
  void see(Position position, std::uint64_t log, std::uint64_t link);
  std::uint64_t next_link();

  const World world_;
  const RedisSettings& settings_;
  Connection& connection_;
  History& history_;
  const CallAfter call_after_;
  const OnLost on_lost_;
  const std::optional<BeatProof> proof_;
  History last_beat_;  // the last entry of this lane that was acknowledged
  std::deque<Append> waiting_;
  std::size_t under_way_ = 0;
  std::size_t under_way_bytes_ = 0;
  std::uint64_t link_base_;  // with a count it makes links that nobody else has
  std::uint64_t link_count_ = 0;
  Position outrun_ = 0;   // what was seen when a millisecond that we named was already over
  bool pumping_ = false;  // pump() is posted
};

}  // namespace tenure::redis
