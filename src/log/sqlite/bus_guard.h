#pragma once

// Keeps a process alive when somebody truncates a file that it has mapped. An access behind the end of a file raises
// SIGBUS, which by default ends the process. For a guarded mapping, the handler replaces the missing page by an empty
// private page and sets a flag. The owner of the mapping checks the flag and maps the file again.
//
// The handler is installed once per process, with the first mapping. It passes errors elsewhere to the previous
// handler.

#include <atomic>
#include <cstddef>

namespace tenure::sqlite {

// Guards one mapping. `harmed` must outlive the object. Thread-safe.
class BusGuard {
 public:
  BusGuard() = default;
  // Beyond kGuardsMax guarded mappings, this one is not guarded.
  BusGuard(void* begin, std::size_t bytes, std::atomic<bool>& harmed);
  BusGuard(BusGuard&& other) noexcept;
  BusGuard& operator=(BusGuard&&) = delete;
  // Destroy it before the memory is unmapped.
  ~BusGuard();

  static constexpr std::size_t kGuardsMax = 4096;

 private:
  int slot_ = -1;
};

// The signal kills a thread that blocks it. Call this in threads that access a guarded mapping.
void let_bus_errors_through();

}  // namespace tenure::sqlite
