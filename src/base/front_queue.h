#pragma once

// A queue in one piece of memory that is used again: a std::deque takes and gives back a block for every few elements
// that pass through it.

#include <cstddef>
#include <utility>
#include <vector>

namespace tenure {

// Used by one thread at a time. Elements can be default-constructed, and moved without failing.
template <class T>
class FrontQueue {
 public:
  bool empty() const { return front_ == elements_.size(); }
  std::size_t size() const { return elements_.size() - front_; }
  auto begin() { return elements_.begin() + static_cast<std::ptrdiff_t>(front_); }
  auto end() { return elements_.end(); }

  void push_back(T element) {
    // What was taken is given up before the memory has to grow for it.
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
  static constexpr std::size_t kKept = 8192;  // elements; the memory of a longer queue is given back once it is empty

  void drop_taken() {
    elements_.erase(elements_.begin(), begin());
    front_ = 0;
  }

  std::vector<T> elements_;  // the first front_ are taken
  std::size_t front_ = 0;
};

}  // namespace tenure
