#pragma once

// The URL of a source that feeds a pool. Beside the options of its engine, its query may have options for the feeder:
//
//   kafka://broker:9092/orders?name=orders&order=none&start=-15m&type=order
//
// They are for command lines, which have one text for each source; programs have SourceOptions.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "source/source.h"

namespace tenure::source {

struct FeederUrl {
  std::string url;     // without the feeder's options
  std::string kind;    // the name of the engine
  std::string stream;  // or the topic; empty if the URL names none
  std::string name;    // name=, or that of the stream with other characters for slashes
  std::optional<bool> by_key{};
  std::optional<std::string> start{};
  std::optional<std::string> type{};
};

// Errc::invalid if an option is malformed, or if the URL names no stream. No error repeats a login.
Result<FeederUrl> read_feeder_url(std::string_view url);

// Opens the source of such a URL.
Result<std::unique_ptr<Source>> open_fed_source(std::string_view url);

}  // namespace tenure::source
