#pragma once

// Snapshots. The chunks are written to a new list, which expires if the writer dies. Then a script makes the list the
// newest snapshot in one step. The previous one is kept until the next, for processes that are reading it.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "log/log.h"
#include "log/redis/connection.h"
#include "log/redis/find_log.h"
#include "log/redis/keys.h"

namespace tenure::redis {

// Both belong to the loop and keep themselves alive while they work. They end with the connection, which destroys
// unanswered requests.
class StoreSnapshot : public std::enable_shared_from_this<StoreSnapshot> {
 public:
  using Done = std::function<void(Status)>;

  StoreSnapshot(const Keys& keys, Connection& connection, std::uint64_t log, std::string tag, Snapshot snapshot,
                Done done);
  void run() { write_next(); }

 private:
  void write_next();
  void commit();
  void drop(std::string_view tag);

  const Keys& keys_;
  Connection& connection_;
  const std::uint64_t log_;
  const std::string tag_;
  const std::string list_;
  Snapshot snapshot_;
  std::size_t written_ = 0;
  const Done done_;
};

class LoadChunks : public std::enable_shared_from_this<LoadChunks> {
 public:
  // Nothing if the snapshot was replaced twice meanwhile. Then look it up again.
  using Done = std::function<void(Result<std::optional<Snapshot>>)>;

  LoadChunks(const Keys& keys, Connection& connection, Overview overview, Done done);
  void run() { read_next(); }

 private:
  void read_next();

  Connection& connection_;
  const Overview overview_;
  const std::string list_;
  Snapshot snapshot_;
  const Done done_;
};

}  // namespace tenure::redis
