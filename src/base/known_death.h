#pragma once

// If the death of a process can be detected, a node need not wait for its lease to pass. The detection is outside the
// node (death_watch.h). A node without it uses leases alone.

#include <cstdint>
#include <functional>

namespace tenure {

// Called from the node's loop. Must be quick.
class KnownDeath {
 public:
  virtual ~KnownDeath() = default;

  // This process lives under the session from now on. Called before anybody else can learn of the session.
  virtual void hold(std::uint64_t session) = 0;
  // Nothing of the session runs any more, and this process lives on.
  virtual void let_go(std::uint64_t session) = 0;

  // Watches another session: `gone` is called when its process, and everything it ran, is certainly gone. If that
  // cannot be detected for this session, it is never called.
  virtual void watch(std::uint64_t session) = 0;
  virtual void forget(std::uint64_t session) = 0;
  // Sets `gone`, which is called on any thread. Null: stops the calls, and waits for a running one.
  virtual void tell(std::function<void(std::uint64_t)> gone) = 0;
  // The pool has ended, and its log is about to be removed: nothing is to be left of what was noted beside it.
  virtual void pool_ended() {}
};

// Detects no deaths: only leases tell.
class NoKnownDeath final : public KnownDeath {
 public:
  void hold(std::uint64_t /*session*/) override {}
  void let_go(std::uint64_t /*session*/) override {}
  void watch(std::uint64_t /*session*/) override {}
  void forget(std::uint64_t /*session*/) override {}
  void tell(std::function<void(std::uint64_t)> /*gone*/) override {}
};

}  // namespace tenure
