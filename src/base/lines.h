#pragma once

// Cuts a stream of bytes into lines. A line over the limit is cut there, and the rest of it is dropped.

#include <cstddef>
#include <optional>

#include "base/bytes.h"

namespace tenure {

class Lines {
 public:
  explicit Lines(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  template <class Take>  // Take(BytesView line, bool whole)
  void feed(BytesView bytes, Take take) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const BytesView part = bytes.substr(0, end);
      const std::size_t room = bytes_max_ - open_.size();
      open_ += part.substr(0, room);
      cut_ = cut_ || part.size() > room;
      if (end == BytesView::npos) return;
      flush(take);
      bytes.remove_prefix(end + 1);
    }
  }
  // The last line may lack a line end.
  template <class Take>
  void finish(Take take) {
    if (!open_.empty()) flush(take);
  }

 private:
  template <class Take>
  void flush(Take take) {
    take(BytesView(open_), !cut_);
    open_.clear();
    cut_ = false;
  }

  const std::size_t bytes_max_;
  Bytes open_;
  bool cut_ = false;
};

}  // namespace tenure
