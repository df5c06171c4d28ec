#include "guard/crash_note.h"

#include <string.h>

#include <algorithm>

namespace tenure::guard {

bool CrashNote::write(std::int32_t by_signal, std::uint64_t of_session, std::uint64_t of_epoch, const char* words) {
  std::uint32_t expected = kEmpty;
  if (!state.compare_exchange_strong(expected, kTaken)) return false;
  signal = by_signal;
  session = of_session;
  epoch = of_epoch;
  std::uint32_t size = 0;
  for (; words != nullptr && words[size] != '\0' && size < kTextMax; ++size) text[size] = words[size];
  text_bytes = size;
  state = kWritten;
  return true;
}

std::optional<Crash> read_crash(const CrashNote& note) {
  if (note.state != CrashNote::kWritten) return std::nullopt;
  const char* name = sigabbrev_np(note.signal);
  std::string evidence = name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(note.signal);
  const std::size_t size = std::min<std::size_t>(note.text_bytes, CrashNote::kTextMax);
  if (size != 0) evidence += ": " + std::string(static_cast<const char*>(note.text), size);
  return Crash{note.session, note.epoch, std::move(evidence)};
}

}  // namespace tenure::guard
