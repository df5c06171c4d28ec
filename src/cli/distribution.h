#pragma once

// Measured times, and what is told of them.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/quantile.h"
#include "cli/json.h"

namespace tenure::cli {

class Distribution {
 public:
  void add_ms(double ms) { values_.push_back(ms); }
  void add(std::chrono::nanoseconds span) { add_ms(std::chrono::duration<double, std::milli>(span).count()); }
  std::size_t count() const { return values_.size(); }

  // {"p50","p99","max","n"}
  void write(Json& json, std::string_view name) {
    json.object(name).field("p50", at(0.5)).field("p99", at(0.99)).field("max", at(1)).field("n", values_.size()).end();
  }
  std::string text() {
    const auto ms = [this](double share) {
      const std::string digits = std::to_string(at(share));
      return digits.substr(0, digits.find('.') + 4);
    };
    return "p50 " + ms(0.5) + " ms, p99 " + ms(0.99) + " ms, max " + ms(1) + " ms (n " +
           std::to_string(values_.size()) + ")";
  }
  double at(double share) {
    std::sort(values_.begin(), values_.end());
    return quantile(values_, share);
  }

 private:
  std::vector<double> values_;
};

}  // namespace tenure::cli
