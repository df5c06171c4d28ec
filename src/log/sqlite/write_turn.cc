#include "log/sqlite/write_turn.h"

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <optional>
#include <string>

#include "base/assert.h"
#include "log/sqlite/errors.h"

namespace tenure::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kLookAgain = 20ms;
// In a moving queue every release wakes a waiter, and hundreds of frequent polls would slow the others down.
constexpr Nanos kLookAgainInQueue = 50ms;
// How long a writer waits for the process that it woke to take its turn. A wake-up takes some 50 µs.
constexpr Nanos kPassMax = 5ms;

}  // namespace

WriteTurn::~WriteTurn() {
  if (held_) release();
}

Status WriteTurn::acquire(TurnPatience patience) {
  ASSERT(!held_);
  let_pass();
  const Instant began = clock_.now();
  const Instant last = began + patience.total;
  Instant deadline = began + patience.stuck;
  std::optional<std::uint32_t> turns;  // changes if the turn was taken since
  for (;;) {
    if (interrupted_.load(std::memory_order_acquire)) {
      wake_.drop_orphan();
      return fail(Errc::closed, "sqlite write turn");
    }
    const std::shared_ptr<WakeMap> map = wake_.map();
    WakeWords& words = map->words();
    const std::uint32_t seen = words.releases.load(std::memory_order_acquire);
    const bool taken = flock(map->descriptor(), LOCK_EX | LOCK_NB) == 0;
    if (!taken && errno != EWOULDBLOCK && errno != EINTR) return Failure(system_error(errno, "lock", wake_.path()));
    if (taken && map->is_at(wake_.path())) {
      held_ = map;
      break;
    }
    if (taken) flock(map->descriptor(), LOCK_UN);
    const Instant now = clock_.now();
    if (const std::uint32_t others = words.turns.load(std::memory_order_acquire); turns != others) {
      turns = others;
      deadline = now + patience.stuck;
    }
    if (now >= deadline || now >= last) {
      wake_.drop_orphan();
      return Failure(blocked(words, now < deadline));
    }
    if (const Status there = wake_.renew(); !there) return there;
    const Nanos look_again = now - began >= kLookAgainInQueue ? kLookAgainInQueue : kLookAgain;
    if (!taken) futex_wait(words.releases, seen, std::min({deadline - now, last - now, look_again}));
  }
  WakeWords& words = held_->words();
  words.holder_pid.store(static_cast<std::uint32_t>(getpid()), std::memory_order_relaxed);
  words.turns.fetch_add(1, std::memory_order_release);
  futex_wake(words.turns, INT_MAX);
  return {};
}

void WriteTurn::release() {
  ASSERT(held_);
  const std::shared_ptr<WakeMap> map = std::move(held_);
  held_ = nullptr;
  wake_.drop_if_orphan(*map);
  WakeWords& words = map->words();
  turns_at_release_ = words.turns.load(std::memory_order_relaxed);
  words.holder_pid.store(0, std::memory_order_relaxed);
  flock(map->descriptor(), LOCK_UN);
  words.releases.fetch_add(1, std::memory_order_release);
  if (futex_wake(words.releases, 1) > 0) owes_pass_ = map;
}

void WriteTurn::interrupt() {
  interrupted_.store(true, std::memory_order_release);
  const std::shared_ptr<WakeMap> map = wake_.map();
  map->words().releases.fetch_add(1, std::memory_order_release);
  futex_wake(map->words().releases, INT_MAX);
  futex_wake(map->words().turns, INT_MAX);
}

// Otherwise a writer with more to write would take the turn again long before the process it woke is running, and a
// second writing process would starve.
void WriteTurn::let_pass() {
  const std::shared_ptr<WakeMap> map = std::move(owes_pass_);
  owes_pass_ = nullptr;
  if (!map) return;
  const WakeWords& words = map->words();
  const Instant deadline = clock_.now() + kPassMax;
  while (words.turns.load(std::memory_order_acquire) == turns_at_release_ &&
         !interrupted_.load(std::memory_order_acquire)) {
    const Instant now = clock_.now();
    if (now >= deadline) return;
    futex_wait(words.turns, turns_at_release_, deadline - now);
  }
}

Error WriteTurn::blocked(const WakeWords& words, bool moves) const {
  std::string context = wake_.path();
  if (moves) {
    context.append(": too many processes wait for the write lock; start fewer of them at a time");
    return {Errc::unavailable, "sqlite write turn", std::move(context)};
  }
  const std::uint32_t pid = words.holder_pid.load(std::memory_order_relaxed);
  if (pid == 0) {
    context.append(": another program has locked this file; find it (fuser ")
        .append(wake_.path())
        .append(") and end it");
    return {Errc::unavailable, "sqlite write turn", std::move(context)};
  }
  const std::string holder = std::to_string(pid);
  context.append(": process ").append(holder).append(" has had the write lock for too long; if it is stopped, ");
  context.append("continue it (kill -CONT ").append(holder).append(") or end it");
  return {Errc::unavailable, "sqlite write turn", std::move(context)};
}

}  // namespace tenure::sqlite
