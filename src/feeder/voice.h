#pragma once

// The reports of a feeder about its source. Changes go to the process's log. At most once a second a report goes to the
// pool, where listings show it. Not thread-safe.

#include <string>
#include <utility>

#include "feeder/outside.h"

namespace tenure::feeder {

constexpr Nanos kTellEvery = std::chrono::seconds(1);
constexpr std::size_t kTroubleBytesShown = 500;

class Voice {
 public:
  Voice(Outside& outside, std::string name) : outside_(outside), name_(std::move(name)) {}

  void log(LogLevel level, const std::string& text) { outside_.log(level, "source " + name_ + ": " + text); }

  // Why the source cannot be read. Empty: it can be read again.
  void set_trouble(const std::string& text) {
    const std::string cut = text.substr(0, kTroubleBytesShown);
    if (cut == trouble_) return;
    const bool over = cut.empty();
    trouble_ = cut;
    trouble_untold_ = true;
    log(over ? LogLevel::info : LogLevel::warning, over ? "it can be read again" : trouble_);
  }
  void set_end(std::uint64_t end) {
    end_untold_ = end_untold_ || end != end_;
    end_ = end;
  }

  bool untold() const { return trouble_untold_ || end_untold_; }
  Instant next() const { return told_ + kTellEvery; }
  // Adds it to a report before the report is sent.
  void add_to(SourceReport& report, Instant now) {
    if (std::exchange(trouble_untold_, false)) report.trouble = trouble_;
    if (std::exchange(end_untold_, false)) report.end = end_;
    told_ = now;
  }
  // The report may be lost.
  void repeat() {
    trouble_untold_ = true;
    end_untold_ = end_ != 0;
  }

 private:
  Outside& outside_;
  const std::string name_;
  std::string trouble_;
  bool trouble_untold_ = false;
  std::uint64_t end_ = 0;
  bool end_untold_ = false;
  Instant told_{};
};

}  // namespace tenure::feeder
