// No text crashes the reader of orders. What it accepts obeys the limits, and its URL can be taken apart.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "orders/order.h"
#include "orders/web_address.h"
#include "orders/words.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenure::orders;
  const tenure::BytesView text(reinterpret_cast<const char*>(data), size);
  const auto order = parse_order(text);
  if (!order) return 0;
  if (!check_order(*order) || order->words.size() > kWordsMax || order->environment.size() > kPairsMax) std::abort();
  if (order->form == Form::container && order->words.front().front() == '-') std::abort();
  if (order->form == Form::url) {
    if (!order->words.empty()) std::abort();
    const auto address = parse_web_address(order->url);
    if (address && (address->host.empty() || address->target.find_first_of("\r\n ") != std::string::npos)) std::abort();
  }
  return 0;
}
