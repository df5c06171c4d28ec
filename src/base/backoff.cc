#include "base/backoff.h"

#include <algorithm>

namespace tenure {

Nanos Backoff::next() {
  Nanos span = base_;
  for (int i = 0; i < attempts_ && span < cap_; ++i) span *= 2;
  span = std::min(span, cap_);
  ++attempts_;
  const auto half = static_cast<std::uint64_t>(std::max<std::int64_t>(1, span.count() / 2));
  return Nanos(static_cast<std::int64_t>(half + entropy_->below(half + 1)));
}

}  // namespace tenure
