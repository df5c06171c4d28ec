#pragma once

// The threads of a reactor, of which one at a time has the seat at its sockets. The others stand by, so that it can go
// and run what it has just read of (base/errand.h).
//
// Most errands are short, and to wake another thread would take longer than they do. So the seat is kept for the one
// who is away. While there are errands, those who stand by look now and then whether one of them lasts, and then one of
// them takes the seat. (A timer for each errand would be more exact; but to set one that is the next to come takes as
// long as all else between the socket and the handler.) For a while after one that took long the seat is not kept at
// all.

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/errand.h"

namespace tenure::net {

// Shared with its threads: one that is on an errand when they are closed comes back to it later.
class SocketThreads final : public Errands, public std::enable_shared_from_this<SocketThreads> {
 public:
  // `wait` waits for something at the sockets and does it, or returns at once when it was told to stop.
  explicit SocketThreads(std::function<void()> wait);
  ~SocketThreads() override;
  SocketThreads(const SocketThreads&) = delete;
  SocketThreads& operator=(const SocketThreads&) = delete;

  void begin();
  bool take(std::function<void()> errand) override;
  // `stop` ends the wait at the sockets, for good. Waits for all threads but those on errands, which take as long as
  // they take. Not to be called by one of those that are waited for.
  void close(const std::function<void()>& stop);

 private:
  struct Member {
    std::thread thread;
    bool away = false;  // on an errand
  };

  void add_member();
  void serve(Member& self);
  void stand_by(Member& self, std::unique_lock<std::mutex>& lock);
  void sit(Member& self, std::unique_lock<std::mutex>& lock);
  bool run_errand(Member& self, std::unique_lock<std::mutex>& lock);
  void look_around();
  void set_patrol(bool on);
  void call() const;

  const std::function<void()> wait_;
  const BootClock clock_;
  const int timer_;               // readable: it is time to look around
  const int bell_;                // readable: one that stands by is called
  std::function<void()> errand_;  // owned by the one in the seat

  std::mutex mutex_;
  std::list<Member> members_;       // this and all below: guarded by mutex_
  std::size_t ready_ = 0;           // stand by
  const Member* seated_ = nullptr;  // null: the seat is free
  bool kept_ = false;               // it is kept for one who is away
  bool overdue_ = false;            // who has been so for too long
  Instant began_;                   // when that errand did
  int wary_ = 0;                    // errands for which the seat is not kept
  bool patrolling_ = false;         // the timer runs
  std::uint64_t errands_ = 0;       // so far
  std::uint64_t errands_seen_ = 0;  // when somebody looked around
  bool closed_ = false;
};

}  // namespace tenure::net
