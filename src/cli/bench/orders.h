#pragma once

// The orders of a benchmark, as events of a stream: a producer writes them as fast as the engine takes them, in a
// thread of its own. An order's number is at the start of its payload, so that each can be timed.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/distribution.h"
#include "base/result.h"
#include "source/source.h"

namespace tenure::cli {

// When each order was sent and begun. Each is written by one thread.
class OrderTimes {
 public:
  explicit OrderTimes(std::uint64_t orders) : sent_(orders), begun_(orders) {}

  static std::string payload(std::uint64_t number, std::uint64_t bytes);
  void sent(std::uint64_t number) { sent_[number] = now(); }
  // Of the order with this payload. False if it was begun before.
  bool begun(const std::string& payload);
  std::uint64_t begun_count() const { return count_.load(); }
  // From sent to begun.
  void measure(Samples& start) const;

 private:
  static std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

  std::vector<std::int64_t> sent_;
  std::vector<std::atomic<std::int64_t>> begun_;
  std::atomic<std::uint64_t> count_ = 0;
};

struct OrderShape {
  std::uint64_t orders = 200'000;
  std::uint64_t payload_bytes = 64;
  std::uint64_t keys = 1000;

  source::Event order(std::uint64_t number) const;
};

// Writes all orders in its own thread. The destructor waits for it.
class OrderProducer {
 public:
  OrderProducer(source::StreamWriter& writer, const OrderShape& shape, OrderTimes& times);
  ~OrderProducer() { static_cast<void>(wait()); }
  OrderProducer(const OrderProducer&) = delete;
  OrderProducer& operator=(const OrderProducer&) = delete;

  Status wait();

 private:
  Status failed_;  // of the thread, until it has ended
  std::thread thread_;
};

}  // namespace tenure::cli
