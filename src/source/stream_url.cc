#include "source/stream_url.h"

#include <algorithm>

#include "base/escaped_name.h"
#include "log/url_text.h"

namespace tenure::source {
namespace {

constexpr std::string_view kOption = "stream=";

Failure bad_name(std::string context) { return fail(Errc::invalid, "open stream", std::move(context)); }

}  // namespace

Result<StreamUrl> split_stream_url(std::string_view url) {
  const std::size_t question = std::min(url.find('?'), url.size());
  StreamUrl found{.engine = std::string(url.substr(0, question)), .stream = {}};
  std::string_view options = url.substr(std::min(question + 1, url.size()));
  char separator = '?';
  while (!options.empty()) {
    const std::size_t end = std::min(options.find('&'), options.size());
    const std::string_view option = options.substr(0, end);
    options.remove_prefix(std::min(end + 1, options.size()));
    if (!option.starts_with(kOption)) {
      found.engine.append(1, separator).append(option);
      separator = '&';
      continue;
    }
    const auto name = percent_decoded(option.substr(kOption.size()));
    if (!name || name->empty()) return bad_name("stream= needs a name; %XX must be two hexadecimal digits");
    found.stream = *name;
  }
  if (found.stream.empty()) return bad_name("the URL names no stream: add ?stream=NAME");
  if (found.stream.size() > kStreamNameBytesMax) return bad_name("a stream's name has up to 512 bytes");
  return found;
}

std::string with_stream(std::string_view engine, BytesView stream) {
  std::string url(engine);
  url += engine.find('?') == std::string_view::npos ? '?' : '&';
  return url.append(kOption).append(file_name_of(stream));
}

}  // namespace tenure::source
