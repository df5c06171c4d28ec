#include "net/socket_threads.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace tenure::net {
namespace {

// More threads are needed only while some are on long errands.
constexpr std::size_t kMembersFirst = 2;
constexpr std::size_t kMembersMax = 4;

// An errand that takes longer is a long one.
constexpr Nanos kShort = std::chrono::microseconds(100);
// How often standby threads check for long errands. A long errand can delay the sockets once by this time. It is longer
// than the kernel's tick, since a timer that is not the next to expire costs nothing to set.
constexpr Nanos kPatrol = std::chrono::milliseconds(5);
// After a long errand, this many further errands do not reserve the seat.
constexpr int kWaryFor = 64;

}  // namespace

SocketThreads::SocketThreads(std::function<void()> wait)
    : wait_(std::move(wait)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  ASSERT(timer_ >= 0 && bell_ >= 0);
}

SocketThreads::~SocketThreads() {
  ::close(timer_);
  ::close(bell_);
}

void SocketThreads::begin() {
  std::lock_guard lock(mutex_);
  while (members_.size() < kMembersFirst) add_member();
}

// Under the lock.
void SocketThreads::add_member() {
  Member& member = members_.emplace_back();
  member.thread = std::thread([threads = shared_from_this(), &member] { threads->serve(member); });
  pthread_setname_np(member.thread.native_handle(), "tenure-net");
}

bool SocketThreads::take(std::function<void()> errand) {
  if (errand_) return false;
  std::lock_guard lock(mutex_);
  if (closed_) return false;
  if (ready_ == 0) {
    if (members_.size() < kMembersMax) add_member();  // for the next time
    return false;
  }
  errand_ = std::move(errand);
  return true;
}

void SocketThreads::close(const std::function<void()>& stop) {
  std::vector<std::thread> here;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    call();
    for (Member& member : members_) {
      if (!member.thread.joinable()) continue;
      if (member.away)
        member.thread.detach();
      else
        here.push_back(std::move(member.thread));
    }
  }
  stop();
  for (std::thread& thread : here) thread.join();
}

void SocketThreads::serve(Member& self) {
  std::unique_lock lock(mutex_);
  while (!closed_) {
    stand_by(self, lock);
    if (seated_ == &self) sit(self, lock);
  }
}

// Returns when this thread has the seat, or when the threads are closed.
void SocketThreads::stand_by(Member& self, std::unique_lock<std::mutex>& lock) {
  ++ready_;
  while (!closed_ && seated_ != nullptr && !overdue_) {
    lock.unlock();
    std::array<pollfd, 2> calls = {pollfd{timer_, POLLIN, 0}, pollfd{bell_, POLLIN, 0}};
    ::poll(calls.data(), calls.size(), -1);
    lock.lock();
    if (!closed_) look_around();
  }
  --ready_;
  if (closed_) return;
  seated_ = &self;
  kept_ = false;
  overdue_ = false;
}

// Under the lock.
void SocketThreads::look_around() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t rung = ::read(bell_, &count, sizeof count);
  if (::read(timer_, &count, sizeof count) < 0) return;  // another thread has taken this tick
  if (kept_) {
    overdue_ = overdue_ || clock_.now() - began_ > kShort;
  } else if (errands_ == errands_seen_) {
    set_patrol(false);
  }
  errands_seen_ = errands_;
}

// Returns when another thread has the seat, or when the threads are closed.
void SocketThreads::sit(Member& self, std::unique_lock<std::mutex>& lock) {
  while (!closed_) {
    set_here(this);
    while (!errand_ && !closed_) {
      lock.unlock();
      wait_();
      lock.lock();
    }
    set_here(nullptr);
    if (errand_ && !run_errand(self, lock)) return;
  }
}

// Returns whether this thread still has the seat.
bool SocketThreads::run_errand(Member& self, std::unique_lock<std::mutex>& lock) {
  std::function<void()> errand = std::exchange(errand_, nullptr);
  self.away = true;
  kept_ = true;
  began_ = clock_.now();
  ++errands_;
  if (wary_ > 0) {
    overdue_ = true;
    call();
  } else if (!patrolling_) {
    set_patrol(true);
  }
  const Instant began = began_;
  lock.unlock();
  errand();
  errand = nullptr;
  const bool was_long = clock_.now() - began > kShort;
  lock.lock();
  self.away = false;
  wary_ = was_long ? kWaryFor : std::max(wary_ - 1, 0);
  if (closed_ || seated_ != &self) return false;
  kept_ = false;
  overdue_ = false;
  return true;
}

// Under the lock.
void SocketThreads::set_patrol(bool on) {
  patrolling_ = on;
  itimerspec when{};
  if (on) when.it_value.tv_nsec = when.it_interval.tv_nsec = kPatrol.count();
  timerfd_settime(timer_, 0, &when, nullptr);
}

void SocketThreads::call() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t rung = ::write(bell_, &one, sizeof one);
}

}  // namespace tenure::net
