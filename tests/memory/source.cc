// Streams in memory, for the suite of all kinds of sources.

#include <atomic>
#include <mutex>

#include "source/stream_url.h"
#include "source_conformance/engine.h"

namespace tenure::conformance {
namespace {

// A stream in memory lives while a handle is open, and tests close all of theirs in between: the place keeps one.
class MemoryStreamPlace final : public StreamPlace {
 public:
  std::string url(const std::string& stream) override {
    std::string url = source::with_stream("memory:sources-" + std::to_string(number_), stream);
    auto keeper = source::open_source(url);
    const std::lock_guard lock(mutex_);
    if (keeper) keepers_.push_back(*std::move(keeper));
    return url;
  }

 private:
  static int next_place() {
    static std::atomic<int> last = 0;
    return ++last;
  }

  const int number_ = next_place();
  std::mutex mutex_;
  std::vector<std::unique_ptr<source::Source>> keepers_;  // guarded by mutex_
};

const RegisteredSource kMemorySource(
    {.name = "memory", .dense = true, .limits = true, .make_place = make_stream_place<MemoryStreamPlace>});

}  // namespace
}  // namespace tenure::conformance
