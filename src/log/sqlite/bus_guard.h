#pragma once

// Keeps a process alive when somebody truncates a file that it has mapped. Touching a page behind the end of a file
// raises SIGBUS, which by default ends the process. For a guarded mapping the handler puts an empty private page in the
// place of the one that is gone, and notes the harm. The owner of the mapping looks at the note and maps the file anew.
//
// The handler is installed once per process, with the first mapping. Errors elsewhere go to the handler before it.

#include <atomic>
#include <cstddef>

namespace tenure::sqlite {

// One mapping under guard. `harmed` must outlive the object. Thread-safe.
class BusGuard {
 public:
  BusGuard() = default;
  // Where more than kGuardsMax mappings are guarded, this one is not.
  BusGuard(void* begin, std::size_t bytes, std::atomic<bool>& harmed);
  BusGuard(BusGuard&& other) noexcept;
  BusGuard& operator=(BusGuard&&) = delete;
  // To be called before the memory is unmapped.
  ~BusGuard();

  static constexpr std::size_t kGuardsMax = 4096;

 private:
  int slot_ = -1;
};

// A thread in which the signal is blocked is killed by it all the same. For threads that touch a guarded mapping.
void let_bus_errors_through();

}  // namespace tenure::sqlite
