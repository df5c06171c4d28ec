#pragma once

// Waits for SIGTERM and SIGINT.

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "base/descriptor.h"

namespace tenure::cli {

// Construct it before any thread starts, so that no thread receives the signals.
class Signals {
 public:
  Signals() {
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGTERM);
    sigaddset(&both, SIGINT);
    pthread_sigmask(SIG_BLOCK, &both, nullptr);
    descriptor_ = Descriptor(signalfd(-1, &both, SFD_CLOEXEC));
  }
  // Readable when a signal has come.
  int descriptor() const { return descriptor_.get(); }
  // True if a signal came in time. A negative timeout waits forever.
  bool wait(int timeout_ms) const {
    pollfd ready{descriptor_.get(), POLLIN, 0};
    if (::poll(&ready, 1, timeout_ms) <= 0) return false;
    signalfd_siginfo info{};
    return ::read(descriptor_.get(), &info, sizeof info) == sizeof info;
  }

 private:
  Descriptor descriptor_;
};

}  // namespace tenure::cli
