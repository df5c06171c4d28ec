#include "cli/bench/orders.h"

#include <algorithm>

namespace tenure::cli {
namespace {

constexpr std::uint64_t kOrdersInOneCall = 2048;

}  // namespace

std::string OrderTimes::payload(std::uint64_t number, std::uint64_t bytes) {
  std::string text(bytes, 'x');
  std::copy_n(reinterpret_cast<const char*>(&number), sizeof number, text.begin());
  return text;
}

bool OrderTimes::begun(const std::string& payload) {
  std::uint64_t number = 0;
  if (payload.size() < sizeof number) return false;
  std::copy_n(payload.begin(), sizeof number, reinterpret_cast<char*>(&number));
  if (number >= begun_.size() || begun_[number].exchange(now()) != 0) return false;
  ++count_;
  return true;
}

void OrderTimes::measure(Samples& start) const {
  for (std::size_t i = 0; i < sent_.size(); ++i) start.add(std::chrono::nanoseconds(begun_[i] - sent_[i]));
}

source::Event OrderShape::order(std::uint64_t number) const {
  source::Event event;
  event.key = "order-" + std::to_string(number % keys);
  event.payload = OrderTimes::payload(number, payload_bytes);
  return event;
}

OrderProducer::OrderProducer(source::StreamWriter& writer, const OrderShape& shape, OrderTimes& times) {
  thread_ = std::thread([this, &writer, shape, &times] {
    std::vector<source::Event> events;
    for (std::uint64_t next = 0; next < shape.orders && failed_;) {
      events.clear();
      const std::uint64_t end = std::min(next + kOrdersInOneCall, shape.orders);
      for (; next < end; ++next) {
        events.push_back(shape.order(next));
        times.sent(next);
      }
      const auto added = writer.add(events);
      if (!added) failed_ = Failure(added.error());
    }
  });
}

Status OrderProducer::wait() {
  if (thread_.joinable()) thread_.join();
  return failed_;
}

}  // namespace tenure::cli
