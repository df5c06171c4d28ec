#pragma once

// Which topics a reader wants.

#include <string>
#include <vector>

#include "base/bytes.h"

namespace tenure {

// `*` stands for any characters, `?` for one, and `\` in front of a character for this one. The work grows with the
// product of the lengths at most.
bool matches_pattern(BytesView text, BytesView pattern);

class TopicFilter {
 public:
  TopicFilter(std::vector<std::string> topics, std::string pattern)
      : topics_(std::move(topics)), pattern_(std::move(pattern)) {}

  bool takes(BytesView topic) const;

 private:
  const std::vector<std::string> topics_;
  const std::string pattern_;
};

}  // namespace tenure
