#include "render/distribution.h"

namespace tenure::render {

void write(Json& json, std::string_view name, const Distribution& times) {
  json.object(name).field("p50", times.p50).field("p99", times.p99).field("max", times.max).field("n", times.n).end();
}

std::string text_of(const Distribution& times) {
  const auto ms = [](double value) {
    const std::string digits = std::to_string(value);
    return digits.substr(0, digits.find('.') + 4);
  };
  return "p50 " + ms(times.p50) + " ms, p99 " + ms(times.p99) + " ms, max " + ms(times.max) + " ms (n " +
         std::to_string(times.n) + ")";
}

}  // namespace tenure::render
