#pragma once

// One lane of appends: the waiting ones, those in flight, and their answers. Each lane has its own connection, so a
// beat never waits behind megabytes of data.
//
// The data lane sends plain XADDs. The beat lane sends a script, which appends the beat only if newcomers would get
// this same log (Scripts::beat). The script also returns which snapshot they would load.

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

// The name of a lane's requests.
constexpr std::string_view kAppendOperation = "append";

// Calls a function at the end of the loop's turn.
using CallAfter = std::function<void(std::function<void()>)>;

// What the beat lane needs to prove the log.
struct BeatProof {
  const Keys& keys;
  const LogOptions& options;  // the pool's name, and the shard
  // called with the snapshot that newcomers would load; zero: no complete one
  std::function<void(Position)> snapshot_seen;
};

// Belongs to the loop. The Log bounds the appends.
class AppendLane {
 public:
  // Called when an append shows that history was lost, before the append is answered.
  using OnLost = std::function<void(const Error&)>;

  AppendLane(const World& world, const RedisSettings& settings, Connection& connection, History& history,
             CallAfter call_after, OnLost on_lost, std::optional<BeatProof> proof = std::nullopt);

  void offer(Bytes data, Log::AppendDone done);
  // Fails what was not sent yet.
  void lose(const Error& error);

 private:
  struct Append {
    Bytes data;
    Log::AppendDone done;
  };
  // Appends whose answers wait until enough replicas have them.
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
  History last_beat_;  // the last acknowledged entry of this lane
  std::deque<Append> waiting_;
  std::size_t under_way_ = 0;
  std::size_t under_way_bytes_ = 0;
  std::uint64_t link_base_;  // with a counter it makes unique links
  std::uint64_t link_count_ = 0;
  Position outrun_ = 0;   // the position at which a millisecond that we named was already over
  bool pumping_ = false;  // pump() is posted
};

}  // namespace tenure::redis
