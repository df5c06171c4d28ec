#include "log/sqlite/write_turn.h"

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>

#include "base/assert.h"
#include "log/sqlite/errors.h"

namespace tenure::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kLookAgain = 20ms;
// How long one who has just written waits for the one it woke to take its turn. A wake-up takes some 50 µs.
constexpr Nanos kPassMax = 5ms;

}  // namespace

WriteTurn::~WriteTurn() {
  if (held_) release();
}

Status WriteTurn::acquire(Nanos patience) {
  ASSERT(!held_);
  let_pass();
  WakeWords& words = wake_.words();
  const Instant deadline = clock_.now() + patience;
  for (;;) {
    if (interrupted_.load(std::memory_order_acquire)) return fail(Errc::closed, "sqlite write turn");
    const std::uint32_t seen = words.releases.load(std::memory_order_acquire);
    if (flock(wake_.descriptor(), LOCK_EX | LOCK_NB) == 0) break;
    if (errno != EWOULDBLOCK && errno != EINTR) return Failure(system_error(errno, "lock", wake_.path()));
    const Instant now = clock_.now();
    if (now >= deadline) return Failure(blocked());
    futex_wait(words.releases, seen, std::min(deadline - now, kLookAgain));
  }
  held_ = true;
  words.holder_pid.store(static_cast<std::uint32_t>(getpid()), std::memory_order_relaxed);
  words.turns.fetch_add(1, std::memory_order_release);
  futex_wake(words.turns, INT_MAX);
  return {};
}

void WriteTurn::release() {
  ASSERT(held_);
  held_ = false;
  WakeWords& words = wake_.words();
  turns_at_release_ = words.turns.load(std::memory_order_relaxed);
  words.holder_pid.store(0, std::memory_order_relaxed);
  flock(wake_.descriptor(), LOCK_UN);
  words.releases.fetch_add(1, std::memory_order_release);
  owes_pass_ = futex_wake(words.releases, 1) > 0;
}

void WriteTurn::interrupt() {
  interrupted_.store(true, std::memory_order_release);
  wake_.words().releases.fetch_add(1, std::memory_order_release);
  futex_wake(wake_.words().releases, INT_MAX);
  futex_wake(wake_.words().turns, INT_MAX);
}

// Without this, a writer with more to write takes the turn again long before the process it woke is running, and a
// second writing process starves.
void WriteTurn::let_pass() {
  if (!owes_pass_) return;
  owes_pass_ = false;
  const Instant deadline = clock_.now() + kPassMax;
  while (wake_.words().turns.load(std::memory_order_acquire) == turns_at_release_ &&
         !interrupted_.load(std::memory_order_acquire)) {
    const Instant now = clock_.now();
    if (now >= deadline) return;
    futex_wait(wake_.words().turns, turns_at_release_, deadline - now);
  }
}

Error WriteTurn::blocked() const {
  const std::string holder = std::to_string(wake_.words().holder_pid.load(std::memory_order_relaxed));
  std::string context = wake_.path();
  context.append(": process ").append(holder).append(" has had the write lock for too long; if it is stopped, ");
  context.append("continue it (kill -CONT ").append(holder).append(") or end it");
  return {Errc::unavailable, "sqlite write turn", std::move(context)};
}

}  // namespace tenure::sqlite
