#pragma once

// Takes the stream's name out of a URL: what is left names the engine.

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace tenure::source {

struct StreamUrl {
  std::string engine;  // without the option
  Bytes stream;
};

// `?stream=NAME` or `&stream=NAME`, with %XX decoded. Errc::invalid if there is no name, or one above
// kStreamNameBytesMax.
Result<StreamUrl> split_stream_url(std::string_view url);
// The opposite: adds the option, with %XX where it is needed.
std::string with_stream(std::string_view engine, BytesView stream);

constexpr std::size_t kStreamNameBytesMax = 512;

}  // namespace tenure::source
