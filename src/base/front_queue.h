#pragma once

// A queue in one block of memory that is reused. A std::deque allocates and frees a block for every few elements that
// pass through it.

#include <cstddef>
#include <utility>
#include <vector>

namespace tenure {

// For one thread at a time. Elements must be default-constructible, and their move must not throw.
template <class T>
class FrontQueue {
 public:
  bool empty() const { return front_ == elements_.size(); }
  std::size_t size() const { return elements_.size() - front_; }
  auto begin() { return elements_.begin() + static_cast<std::ptrdiff_t>(front_); }
  auto end() { return elements_.end(); }

  void push_back(T element) {
    // Reuse the space of taken elements before the memory grows.
    if (elements_.size() == elements_.capacity() && front_ > elements_.size() / 2) drop_taken();
    elements_.push_back(std::move(element));
  }

  T& front() { return elements_[front_]; }
  T& back() { return elements_.back(); }

  // The queue must not be empty.
  T take_front() {
    T taken = std::exchange(elements_[front_++], T());
    if (empty()) {
      front_ = 0;
      elements_.clear();
      if (elements_.capacity() > kKept) std::vector<T>().swap(elements_);
    }
    return taken;
  }

  template <class Condition>
  void erase_if(Condition condition) {
    drop_taken();
    std::erase_if(elements_, condition);
  }

 private:
  static constexpr std::size_t kKept = 8192;  // elements; a longer queue gives its memory back

  void drop_taken() {
    elements_.erase(elements_.begin(), begin());
    front_ = 0;
  }

  std::vector<T> elements_;  // the first front_ are taken
  std::size_t front_ = 0;
};

}  // namespace tenure
