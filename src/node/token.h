#pragma once

// Work that is posted to a loop, or passed to an engine, may outlive its object. Token::guard makes such work do
// nothing once the object is gone. The object and the work belong to one loop.

#include <memory>
#include <utility>

namespace tenure {

class Token {
 public:
  template <class Work>
  auto guard(Work work) const {
    return [alive = std::weak_ptr<char>(life_), work = std::move(work)](auto&&... args) mutable {
      if (!alive.expired()) work(std::forward<decltype(args)>(args)...);
    };
  }

 private:
  std::shared_ptr<char> life_ = std::make_shared<char>();
};

}  // namespace tenure
