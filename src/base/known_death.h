#pragma once

// Where the death of a process can be known rather than suspected, a node need not wait for a lease to pass. What
// knows it is outside (src/guard/death_watch.h); a node without it goes by leases alone.

#include <cstdint>
#include <functional>

namespace tenure {

// Calls come from the node's loop and must be quick.
class KnownDeath {
 public:
  virtual ~KnownDeath() = default;

  // This process lives under the session from here on; called before anybody else can hear of the session.
  virtual void hold(std::uint64_t session) = 0;
  // Nothing of the session runs any more, and this process lives on.
  virtual void let_go(std::uint64_t session) = 0;

  // Another session: `gone` is to be told once its process, and everything it ran, is surely gone. If that cannot be
  // known for this session, nothing is ever told.
  virtual void watch(std::uint64_t session) = 0;
  virtual void forget(std::uint64_t session) = 0;
  // Null: nobody is to be told any more; a call that is under way is waited for. `gone` is called on any thread.
  virtual void tell(std::function<void(std::uint64_t)> gone) = 0;
};

// Where only leases tell who is dead.
class NoKnownDeath final : public KnownDeath {
 public:
  void hold(std::uint64_t /*session*/) override {}
  void let_go(std::uint64_t /*session*/) override {}
  void watch(std::uint64_t /*session*/) override {}
  void forget(std::uint64_t /*session*/) override {}
  void tell(std::function<void(std::uint64_t)> /*gone*/) override {}
};

}  // namespace tenure
