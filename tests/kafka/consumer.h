#pragma once

// Another program's consumer.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::conformance {

struct ReadRecord {
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::string>> headers;
};

// All that the partition has now. Fails the test if the broker refuses.
std::vector<ReadRecord> read_partition(const std::string& brokers, const std::string& topic, int partition);

}  // namespace tenure::conformance
