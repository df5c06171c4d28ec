// The engine in memory, for the suites of all engines.

#include <atomic>

#include "log_conformance/engine.h"

namespace tenure::conformance {
namespace {

// A log in memory lives while a handle is open, and tests close all of theirs in between: the place keeps one.
class MemoryPlace final : public Place {
 public:
  std::string url() const override { return "memory:conformance-" + std::to_string(number_); }
  std::string fresh_url() const override { return url() + "-fresh"; }

 private:
  static int next_number() {
    static std::atomic<int> last = 0;
    return ++last;
  }

  const int number_ = next_number();
  const std::unique_ptr<Log> keeper_ = open_log(url(), {}).value();
};

const RegisteredEngine kMemory(
    {.name = "memory", .many_pools = true, .pool_tests_with_shards = true, .make_place = make<MemoryPlace>});

}  // namespace
}  // namespace tenure::conformance
