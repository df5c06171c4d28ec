#pragma once

// The threads of a reactor (leader and followers). One of them has the seat: it waits at the sockets. It may leave the
// seat to run a handler for the data that it has just read; this is an errand (base/errand.h). The others stand by to
// take the seat.
//
// Waking another thread takes longer than most errands. So the seat stays reserved for the thread that is away. While
// there are errands, the standby threads wake every few milliseconds, and one takes the seat if an errand lasts too
// long. (A timer for each errand would be more exact. But setting a timer that is the next to expire takes as long as
// all other steps between the socket and the handler.) After a long errand the seat is not reserved for a while.

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/errand.h"

namespace tenure::net {

// Shared with its threads: a thread may still be on an errand when close() returns.
class SocketThreads final : public Errands, public std::enable_shared_from_this<SocketThreads> {
 public:
  // `wait` waits for one event at the sockets and handles it. It returns at once after it was told to stop.
  explicit SocketThreads(std::function<void()> wait);
  ~SocketThreads() override;
  SocketThreads(const SocketThreads&) = delete;
  SocketThreads& operator=(const SocketThreads&) = delete;

  void begin();
  bool take(std::function<void()> errand) override;
  // `stop` ends the wait at the sockets for good. Waits for all threads except those on errands. Never call it from a
  // thread that it would wait for.
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
  const int timer_;               // readable: time to check the errands
  const int bell_;                // readable: a standby thread is called
  std::function<void()> errand_;  // used by the thread in the seat

  std::mutex mutex_;
  std::list<Member> members_;       // this and all below: guarded by mutex_
  std::size_t ready_ = 0;           // threads that stand by
  const Member* seated_ = nullptr;  // null: the seat is free
  bool kept_ = false;               // it is reserved for a thread that is away
  bool overdue_ = false;            // that thread has been away for too long
  Instant began_;                   // when its errand began
  int wary_ = 0;                    // coming errands that do not reserve the seat
  bool patrolling_ = false;         // the timer runs
  std::uint64_t errands_ = 0;       // so far
  std::uint64_t errands_seen_ = 0;  // when they were last checked
  bool closed_ = false;
};

}  // namespace tenure::net
