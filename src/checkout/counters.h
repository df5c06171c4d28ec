#pragma once

// Counts events that are too frequent for a mutex or a shared cache line. Each thread adds to one of a few lines.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tenure {

class StripedCounter {
 public:
  void add(std::size_t thread) { stripes_[thread % kStripes].value.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t sum() const {
    std::uint64_t total = 0;
    for (const Stripe& stripe : stripes_) total += stripe.value.load(std::memory_order_relaxed);
    return total;
  }

 private:
  static constexpr std::size_t kStripes = 16;
  struct alignas(64) Stripe {
    std::atomic<std::uint64_t> value{0};
  };

  std::array<Stripe, kStripes> stripes_;
};

}  // namespace tenure
