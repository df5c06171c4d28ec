#pragma once

// A parsed command line: the command, its flags and its words.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tenure::cli {

struct Command;

class Call {
 public:
  const Command* command = nullptr;
  std::map<std::string, std::vector<std::string>, std::less<>> flags;  // by name without dashes
  std::vector<std::string> words;
  std::vector<std::string> rest;  // the command line that follows --exec

  bool has(std::string_view flag) const { return flags.contains(flag); }
  // The last value given, or nothing.
  std::optional<std::string> value(std::string_view flag) const;
  std::vector<std::string> values(std::string_view flag) const;

  // The parsed value, or `otherwise` if the flag was not given. Errc::invalid explains a bad value.
  Result<std::chrono::milliseconds> duration(std::string_view flag, std::chrono::milliseconds otherwise) const;
  Result<std::uint64_t> number(std::string_view flag, std::uint64_t otherwise, std::uint64_t max) const;
  // Replaces the default in `into`. Errc::invalid for a value below `min`, too.
  Status read_number(std::string_view flag, std::uint64_t& into, std::uint64_t min, std::uint64_t max) const;

  bool json() const { return has("json"); }
};

// Errc::invalid for a wrong command line.
Failure misused(std::string context);

// "250ms", "10s", "5m", "2h"; a bare number is seconds.
Result<std::chrono::milliseconds> read_duration(std::string_view text);
Result<std::uint64_t> read_number(std::string_view text, std::uint64_t max);

}  // namespace tenure::cli
