#pragma once

// Parses the URL of a topic: that of the engine (log/kafka/settings.h), and the topic.
//
//   kafka://[USER:PASSWORD@]HOST[:9092][,HOST…]/TOPIC[?OPTIONS]
//   kafka://HOST?stream=TOPIC[&OPTIONS]
//
// OPTIONS are those of the engine, and
//
//   partitions=N   of a topic that is made, 1 by default
//   group=NAME     under which the read positions are committed, for programs that watch consumer groups

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "log/kafka/settings.h"

namespace tenure::source {

struct TopicUrl {
  kafka::KafkaSettings settings;
  std::string topic;
  std::uint32_t partitions = 1;
  std::string group;  // empty: nothing is committed
};

Result<TopicUrl> parse_topic_url(std::string_view url);

}  // namespace tenure::source
