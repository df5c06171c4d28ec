#pragma once

namespace tenure {

// For spin loops: leaves the caches and the other half of the core to other threads between two looks at a value.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace tenure
