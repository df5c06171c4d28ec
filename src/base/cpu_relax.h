#pragma once

namespace tenure {

// Between two looks at what another processor is about to change: leaves the caches, and the other half of the core, to
// those who work.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace tenure
