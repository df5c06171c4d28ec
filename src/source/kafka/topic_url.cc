#include "source/kafka/topic_url.h"

#include <algorithm>

#include "base/escaped_name.h"
#include "log/url_text.h"

namespace tenure::source {
namespace {

constexpr std::size_t kTopicBytesMax = 249;  // Kafka's own
constexpr std::size_t kGroupBytesMax = 255;
constexpr std::uint32_t kPartitionsMax = 10'000;

Failure bad_topic_url(std::string context) { return fail(Errc::invalid, "kafka open", std::move(context)); }

bool is_topic(std::string_view text) {
  const auto fits = [](char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; };
  return !text.empty() && text.size() <= kTopicBytesMax && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), fits);
}

// Whether the option is ours. The engine's are left for its own parser.
Result<bool> take_option(std::string_view name, std::string_view text, TopicUrl& into) {
  if (name != "stream" && name != "partitions" && name != "group") return false;
  const auto value = percent_decoded(text);
  if (!value || value->empty()) return bad_topic_url(std::string(name) + " needs a value");
  if (name == "stream") {
    if (!into.topic.empty()) return bad_topic_url("name the topic once: kafka://HOST/TOPIC, or ?stream=TOPIC");
    into.topic = *value;
  } else if (name == "group") {
    if (value->size() > kGroupBytesMax) return bad_topic_url("group has up to 255 bytes");
    into.group = *value;
  } else {
    const auto count = url_number(*value, 1, kPartitionsMax);
    if (!count) return bad_topic_url("partitions must be a number from 1 to 10000");
    into.partitions = *count;
  }
  return true;
}

}  // namespace

Result<TopicUrl> parse_topic_url(std::string_view url) {
  TopicUrl found;
  const std::size_t question = std::min(url.find('?'), url.size());
  std::string_view place = url.substr(0, question);
  std::string_view options = url.substr(std::min(question + 1, url.size()));
  const std::size_t authority = place.find("//");
  const std::size_t slash = authority == std::string_view::npos ? authority : place.find('/', authority + 2);
  // A path with an `@` is a password that was not escaped; the engine's parser says so.
  if (slash != std::string_view::npos && place.find('@', slash) == std::string_view::npos) {
    found.topic = place.substr(slash + 1);
    place = place.substr(0, slash);
  }
  std::string engine(place);
  char separator = '?';
  while (!options.empty()) {
    const std::size_t end = std::min(options.find('&'), options.size());
    const std::string_view option = options.substr(0, end);
    options.remove_prefix(std::min(end + 1, options.size()));
    const std::size_t equals = std::min(option.find('='), option.size());
    const auto ours = take_option(option.substr(0, equals), option.substr(std::min(equals + 1, option.size())), found);
    if (!ours) return Failure(ours.error());
    if (*ours) continue;
    engine.append(1, separator).append(option);
    separator = '&';
  }
  auto settings = kafka::parse_settings(engine);
  if (!settings) return Failure(settings.error());
  if (found.topic.empty()) return bad_topic_url("the URL names no topic: write kafka://HOST:PORT/TOPIC");
  if (!is_topic(found.topic)) return bad_topic_url("a topic's name has up to 249 letters, digits, '.', '_' and '-'");
  found.settings = *std::move(settings);
  return found;
}

}  // namespace tenure::source
