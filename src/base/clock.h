#pragma once

// Time within one process. Only CLOCK_BOOTTIME decides anything: it never jumps, and it counts the time in which a
// machine was suspended, as a lease must. The wall clock is for people and is read at the edges.

#include <chrono>
#include <cstdint>

namespace tenure {

using Nanos = std::chrono::nanoseconds;

// A moment on some CLOCK_BOOTTIME. Comparable only with moments of the same clock.
struct Instant {
  Nanos since_boot{0};

  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant at, Nanos by) { return {at.since_boot + by}; }
  friend constexpr Instant operator-(Instant at, Nanos by) { return {at.since_boot - by}; }
  friend constexpr Nanos operator-(Instant to, Instant from) { return to.since_boot - from.since_boot; }
};

constexpr std::int64_t to_ms(Nanos span) { return std::chrono::duration_cast<std::chrono::milliseconds>(span).count(); }

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
  // Milliseconds since 1970 on the wall clock. Written into records for people, never compared.
  virtual std::int64_t wall_ms() const = 0;
};

// Thread-safe.
class BootClock final : public Clock {
 public:
  Instant now() const override;
  std::int64_t wall_ms() const override;
};

// A clock for tests that moves only when told. Not thread-safe.
class VirtualClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  std::int64_t wall_ms() const override { return to_ms(now_.since_boot); }
  void advance(Nanos by) { now_ = now_ + by; }

 private:
  Instant now_;
};

}  // namespace tenure
