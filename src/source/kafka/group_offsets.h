#pragma once

// Commits how far a topic was read, under a group's name, for programs that watch the lag of consumer groups. Nobody
// joins the group, and nothing is read from it.

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"

namespace tenure::source {

// Used from one thread. The client must have the group's name.
class GroupOffsets {
 public:
  void note(std::int32_t partition, std::uint64_t position) { noted_[partition] = position; }
  // Sends what was noted, if the last time was a while ago. Does not wait for an answer: a later one replaces it.
  void commit(rd_kafka_t* client, const std::string& topic, Instant now);

 private:
  std::map<std::int32_t, std::uint64_t> noted_;
  Instant committed_at_{};
};

}  // namespace tenure::source
