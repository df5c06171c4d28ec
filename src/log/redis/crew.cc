#include "log/redis/crew.h"

#include <poll.h>
#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "base/assert.h"

namespace tenure::redis {
namespace {

// More is for those who are away for long, while others come and go.
constexpr std::size_t kMembersFirst = 2;
constexpr std::size_t kMembersMax = 4;

// So long is the seat kept for one on an errand, and so long do the sockets wait at most.
constexpr Nanos kKept = std::chrono::microseconds(100);
constexpr Nanos kAtOnce{1};
constexpr Nanos kNotAtAll{0};

}  // namespace

Crew::Crew(std::function<void()> wait)
    : wait_(std::move(wait)), timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  ASSERT(timer_ >= 0);
}

Crew::~Crew() { ::close(timer_); }

void Crew::begin() {
  std::lock_guard lock(mutex_);
  while (members_.size() < kMembersFirst) add_member();
}

// Under the lock.
void Crew::add_member() {
  Member& member = members_.emplace_back();
  member.thread = std::thread([crew = shared_from_this(), &member] { crew->serve(member); });
  pthread_setname_np(member.thread.native_handle(), "tenure-redis");
}

bool Crew::take(std::function<void()> errand) {
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

void Crew::close(const std::function<void()>& stop) {
  std::vector<std::thread> here;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    call_in(kAtOnce);
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

void Crew::serve(Member& self) {
  std::unique_lock lock(mutex_);
  while (!closed_) {
    stand_by(self, lock);
    if (seated_ == &self) sit(self, lock);
  }
}

// Until the seat is this one's, or all is over.
void Crew::stand_by(Member& self, std::unique_lock<std::mutex>& lock) {
  ++ready_;
  while (!closed_ && seated_ != nullptr && !kept_) {
    lock.unlock();
    pollfd called{.fd = timer_, .events = POLLIN, .revents = 0};
    ::poll(&called, 1, -1);
    lock.lock();
  }
  --ready_;
  if (closed_) return;
  seated_ = &self;
  kept_ = false;
  call_in(kNotAtAll);
}

// Until the crew is closed, or another has the seat.
void Crew::sit(Member& self, std::unique_lock<std::mutex>& lock) {
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

// Whether the seat is still this one's.
bool Crew::run_errand(Member& self, std::unique_lock<std::mutex>& lock) {
  std::function<void()> errand = std::exchange(errand_, nullptr);
  self.away = true;
  kept_ = true;
  if (!closed_) call_in(last_was_long_ ? kAtOnce : kKept);
  lock.unlock();
  const BootClock clock;
  const Instant began = clock.now();
  errand();
  errand = nullptr;
  const bool was_long = clock.now() - began > kKept;
  lock.lock();
  self.away = false;
  last_was_long_ = was_long;
  if (closed_ || seated_ != &self) return false;
  kept_ = false;
  call_in(kNotAtAll);
  return true;
}

// Under the lock. Nobody is called any more once the span is zero.
void Crew::call_in(Nanos span) const {
  itimerspec when{};
  when.it_value.tv_nsec = span.count();
  timerfd_settime(timer_, 0, &when, nullptr);
}

}  // namespace tenure::redis
