#include "source/feeder_url.h"

#include <algorithm>
#include <vector>

#include "log/engines.h"
#include "log/url_text.h"

namespace tenure::source {
namespace {

Failure bad_url(std::string what) { return fail(Errc::invalid, "read the source's URL", std::move(what)); }

// The path behind HOST/: a topic.
std::string path_of(std::string_view url) {
  const std::size_t authority = url.find("://");
  if (authority == std::string_view::npos) return {};
  const std::size_t slash = url.find('/', authority + 3);
  return slash == std::string_view::npos ? std::string() : std::string(url.substr(slash + 1));
}

// False if it is no option of a feeder.
Result<bool> take(std::string_view name, const std::string& value, FeederUrl& into) {
  if (name == "name") {
    into.name = value;
  } else if (name == "start") {
    if (const Result<StartAt> start = parse_start(value, 0); !start) return Failure(start.error());
    into.start = value;
  } else if (name == "type") {
    into.type = value;
  } else if (name == "order") {
    if (value != "key" && value != "none") return bad_url("order is key or none");
    into.by_key = value == "key";
  } else {
    return false;
  }
  return true;
}

}  // namespace

Result<FeederUrl> read_feeder_url(std::string_view url) {
  const Result<const Engine*> engine = built_engine_of(url);
  if (!engine) return Failure(engine.error());
  FeederUrl read;
  read.kind = (*engine)->name;
  const std::size_t mark = std::min(url.find('?'), url.size());
  read.url = url.substr(0, mark);
  std::string_view query = mark == url.size() ? std::string_view() : url.substr(mark + 1);
  std::string kept;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view option = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = std::min(option.find('='), option.size());
    const std::string_view name = option.substr(0, equals);
    const auto value = percent_decoded(equals == option.size() ? std::string_view() : option.substr(equals + 1));
    if (!value) return bad_url("the value of an option is malformed");
    if (name == "stream") read.stream = *value;
    const Result<bool> taken = take(name, *value, read);
    if (!taken) return Failure(taken.error());
    if (!*taken) kept += (kept.empty() ? "?" : "&") + std::string(option);
  }
  if (read.stream.empty() && read.kind == "kafka") read.stream = path_of(read.url);
  if (read.stream.empty()) return bad_url("it names no stream: write ?stream=NAME, or for Kafka kafka://HOST/TOPIC");
  if (read.name.empty()) {
    read.name = read.stream;
    std::replace(read.name.begin(), read.name.end(), '/', '.');
  }
  read.url += kept;
  return read;
}

Result<std::unique_ptr<Source>> open_fed_source(std::string_view url) {
  const Result<FeederUrl> read = read_feeder_url(url);
  if (!read) return Failure(read.error());
  return open_source(read->url);
}

}  // namespace tenure::source
