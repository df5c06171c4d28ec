#include "cli/call.h"

#include <charconv>
#include <cmath>

namespace tenure::cli {
namespace {

constexpr double kDurationMsMax = 366.0 * 24 * 3600 * 1000;

Failure bad_value(std::string_view flag, const Error& why) {
  return misused("--" + std::string(flag) + ": " + why.context);
}

}  // namespace

Failure misused(std::string context) { return fail(Errc::invalid, "read the command line", std::move(context)); }

std::optional<std::string> Call::value(std::string_view flag) const {
  const auto found = flags.find(flag);
  if (found == flags.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Call::values(std::string_view flag) const {
  const auto found = flags.find(flag);
  return found == flags.end() ? std::vector<std::string>{} : found->second;
}

Result<std::chrono::milliseconds> Call::duration(std::string_view flag, std::chrono::milliseconds otherwise) const {
  const std::optional<std::string> text = value(flag);
  if (!text) return otherwise;
  Result<std::chrono::milliseconds> read = read_duration(*text);
  if (!read) return bad_value(flag, read.error());
  return read;
}

Result<std::uint64_t> Call::number(std::string_view flag, std::uint64_t otherwise, std::uint64_t max) const {
  const std::optional<std::string> text = value(flag);
  if (!text) return otherwise;
  Result<std::uint64_t> read = cli::read_number(*text, max);
  if (!read) return bad_value(flag, read.error());
  return read;
}

Status Call::read_number(std::string_view flag, std::uint64_t& into, std::uint64_t min, std::uint64_t max) const {
  if (!has(flag)) return {};
  const Result<std::uint64_t> given = number(flag, into, max);
  if (!given) return Failure(given.error());
  if (*given < min) return misused("--" + std::string(flag) + " must be at least " + std::to_string(min));
  into = *given;
  return {};
}

Result<std::chrono::milliseconds> read_duration(std::string_view text) {
  const auto wrong = [&] {
    return misused("'" + std::string(text) + "' is not a duration; write 250ms, 10s, 5m or 2h");
  };
  double amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (error != std::errc{} || !std::isfinite(amount) || amount < 0) return wrong();
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  double ms = 0;
  if (unit == "ms") {
    ms = amount;
  } else if (unit.empty() || unit == "s") {
    ms = amount * 1000;
  } else if (unit == "m") {
    ms = amount * 60'000;
  } else if (unit == "h") {
    ms = amount * 3'600'000;
  } else {
    return wrong();
  }
  if (ms > kDurationMsMax) return misused("'" + std::string(text) + "' is longer than a year");
  return std::chrono::milliseconds(std::llround(ms));
}

Result<std::uint64_t> read_number(std::string_view text, std::uint64_t max) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
    return misused("'" + std::string(text) + "' is not a number");
  }
  if (number > max) return misused(std::string(text) + " is too large; at most " + std::to_string(max));
  return number;
}

}  // namespace tenure::cli
