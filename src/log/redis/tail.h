#pragma once

// Reading: a blocking XREAD on its own connection. Each read is sent with a proof that the delivered entries are
// consecutive. If the reader brings its own cursor, the proof compares the content of the entry there. If the reader
// continues where this handle left it, the proof is about the link of the entry that the last run was read after. If
// that entry were gone, the run would not be its continuation; if it had been trimmed, a part of the run could have
// been trimmed too. (A run cannot be proven before it is delivered without delaying it.) While no entries arrive, the
// last entry is proven from time to time, because a flushed database wakes nobody.
//
// A stream may live on while newcomers get another one. So a read also asks meta for the id, at most every
// kIdentityEvery.
//
// With `wait_replicas` no entry is delivered that the replicas lack. Otherwise a pool would act on entries that a
// failover may undo, and report them to clients, and a master that was cut off would go on confirming beats.

#include <functional>
#include <memory>
#include <vector>

#include "log/log.h"
#include "log/redis/connection.h"
#include "log/redis/history.h"
#include "log/redis/keys.h"
#include "log/redis/stream_entry.h"

namespace tenure::redis {

// Belongs to the loop. Callbacks run on it, which saves a hop between an append and its readers.
class Tail {
 public:
  // Called when the tail finds that history was lost. It then gets lose(), like the other parts.
  using OnLost = std::function<void(const Error&)>;

  Tail(const World& world, const RedisSettings& settings, const Keys& keys, Connection& connection, History& history,
       std::uint32_t wait_replicas, OnLost on_lost);

  void read(Cursor after, Log::ReadDone done);
  // Fails the outstanding read, if there is one, and closes the connection, because the server may hold the read for a
  // while.
  void lose(const Error& error);

 private:
  // How to prove the anchor. A script proves more but takes longer.
  enum class Proof { by_link, by_script };
  struct Anchor {
    Position position = 0;
    std::uint64_t link = 0;  // zero if the reader knows only its content, or nothing
  };

  void ask(Proof proof);
  void check();
  void check_identity();
  void send_probe();
  void send_read();
  void take_check(Value found);
  void take_probe(Value reply);
  void take_entries(Value reply);
  void wait_for_replicas(const std::shared_ptr<std::vector<Entry>>& run, std::uint64_t link);
  void hand_over(std::vector<Entry> run, std::uint64_t link);
  void adapt(const std::vector<Entry>& run);
  void finish(Result<std::vector<Entry>> result);

  Loop& loop_;
  const RedisSettings& settings_;
  const Keys& keys_;
  Connection& connection_;
  History& history_;
  const std::uint32_t wait_replicas_;
  const OnLost on_lost_;
  Cursor after_;
  Log::ReadDone done_;            // set while a read is outstanding
  std::uint64_t question_ = 0;    // makes the answers to earlier requests obsolete
  std::uint64_t log_ = 0;         // the log that after_ and link_known_ belong to
  std::uint64_t link_known_ = 0;  // of the entry at after_; zero if the reader brought its own cursor
  Anchor anchor_;                 // to be proven with the next request
  std::size_t count_;             // how many entries to request
  Instant identity_asked_;        // when meta was last asked for the current log
};

}  // namespace tenure::redis
