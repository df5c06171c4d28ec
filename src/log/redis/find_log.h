#pragma once

// Opening: finds a pool's log or creates it, and reads its state. A log is created in steps of one write each
// (scripts.h). A process that finds an incomplete log continues with the next step.
//
// If the snapshot that newcomers need was deleted or evicted, a living member notices with its next beat and writes
// another one. Until then an opener waits, for some seconds at most.
//
//   what is in meta? ── nothing ──▶ create ──▶ (again)
//          └── a log ──▶ is there a stream? ── not yet ──▶ create stream
//                              └──▶ look ── it is gone, and with it all there was ──▶ renew ──▶ (again)

#include <functional>
#include <memory>
#include <string>

#include "log/open.h"
#include "log/redis/connection.h"
#include "log/redis/keys.h"

namespace tenure::redis {

// The state of the log and its newest snapshot.
struct Overview {
  std::uint64_t id = 0;
  std::uint32_t shards = 1;
  Position last = 0;  // position of the last entry, and its link
  std::uint64_t link = 0;
  Cursor snapshot;
  std::size_t chunks = 0;
  std::string tag;
};

// Belongs to the loop, keeps itself alive while it works, and ends with the connection.
class FindLog : public std::enable_shared_from_this<FindLog> {
 public:
  using Done = std::function<void(Result<Overview>)>;

  FindLog(const World& world, const RedisSettings& settings, const LogOptions& options, const Keys& keys,
          Connection& connection, Done done);
  void run();

 private:
  void take_meta(Value meta);
  Status check(Value meta) const;
  void create();
  void create_stream();
  void look();
  void take_look(Value found);
  void wait_for_mending();
  void renew();

  // Sends a request of `open`. `take` gets the answer unless it is an error.
  void ask(Bytes command, std::function<void(Value)> take);
  void refuse(Errc code, const std::string& what);

  const World world_;
  const RedisSettings& settings_;
  const LogOptions options_;
  const Keys& keys_;
  Connection& connection_;
  const Done done_;
  Overview overview_;
  int tries_ = 0;
  int torn_ = 0;  // how often no newcomer could load the log
};

}  // namespace tenure::redis
