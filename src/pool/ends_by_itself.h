#pragma once

namespace tenure {

// A handler of the library whose start() says nothing of whether the job will run: it may end a moment later.
class EndsByItself {
 public:
  virtual ~EndsByItself() = default;
};

}  // namespace tenure
