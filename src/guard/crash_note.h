#pragma once

// What a process writes about its own death into the page that it shares with its guard: which tenure's handler brought
// it down, and how. The guard reads it once the process is gone.
//
// A signal handler writes it: everything here is lock-free and allocates nothing.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tenure::guard {

struct CrashNote {
  static constexpr std::size_t kTextMax = 224;

  enum State : std::uint32_t { kEmpty, kTaken, kWritten };
  std::atomic<std::uint32_t> state;
  std::atomic<std::int32_t> signal;
  std::atomic<std::uint64_t> session;
  std::atomic<std::uint64_t> epoch;
  std::atomic<std::uint32_t> text_bytes;
  char text[kTextMax];  // NOLINT(modernize-avoid-c-arrays): of an exception that nobody caught

  // False if another thread's crash is noted already. `words` may be null.
  bool write(std::int32_t by_signal, std::uint64_t of_session, std::uint64_t of_epoch, const char* words);
  // The process lives on: its own handler has dealt with the signal.
  void clear() { state = kEmpty; }
};

struct Crash {
  std::uint64_t session;
  std::uint64_t epoch;
  std::string evidence;  // "SIGSEGV", "SIGABRT: uncaught exception: bad"
};

// For the guard, after the death. Nothing if no handler is to blame.
std::optional<Crash> read_crash(const CrashNote& note);

}  // namespace tenure::guard
