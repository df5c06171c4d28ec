#pragma once

// Reading: a blocking XREAD on a connection of its own. With it goes a proof that what was handed over belongs
// together. Where the reader comes with a cursor of its own it is about the entry there, by content. Where it goes on
// from where this handle left it, it is about the entry that the last run was read behind, by its link: had that been
// gone, the run would not have been its continuation; and had it been trimmed, so could have been some of the run. (The
// proof of a run cannot come before the run without holding it up.) While nothing comes, the last entry is proven now
// and then, since a database that was flushed wakes nobody.
//
// A stream may live on though newcomers are given another one. So meta is asked for its id along with a read, at most
// every kIdentityEvery.
//
// With `wait_replicas` nothing is handed over that the replicas do not have. Otherwise a pool would act on, and tell
// its clients, what a failover may still undo, and a master that was cut off would go on confirming beats.

#include <functional>
#include <memory>
#include <vector>

#include "log/log.h"
#include "log/redis/connection.h"
#include "log/redis/history.h"
#include "log/redis/keys.h"
#include "log/redis/stream_entry.h"

namespace tenure::redis {

// Belongs to the loop. Callbacks run on it: one hop less between an append and those who wait for it.
class Tail {
 public:
  // Called when the tail finds that history was lost; it is then told so by lose(), like everybody else.
  using OnLost = std::function<void(const Error&)>;

  Tail(const World& world, const RedisSettings& settings, const Keys& keys, Connection& connection, History& history,
       std::uint32_t wait_replicas, OnLost on_lost);

  void read(Cursor after, Log::ReadDone done);
  // Answers the read that is outstanding, if any. The connection goes with it: the server may hold it for a while.
  void lose(const Error& error);

 private:
  // How the anchor is proven: a script can say more, but takes longer.
  enum class Proof { by_link, by_script };
  struct Anchor {
    Position position = 0;
    std::uint64_t link = 0;  // zero where the reader knows its content only, or nothing
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
  std::uint64_t question_ = 0;    // outdates the answers of questions before
  std::uint64_t log_ = 0;         // the log that after_ and link_known_ belong to
  std::uint64_t link_known_ = 0;  // of the entry at after_; zero where the reader brought a cursor of its own, or none
  Anchor anchor_;                 // to be proven with the next question
  std::size_t count_;             // entries to ask for
  Instant identity_asked_;        // when meta was last asked which log is the pool's
};

}  // namespace tenure::redis
