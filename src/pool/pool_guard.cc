#include "pool/pool_guard.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <csignal>
#include <cstdlib>

#include "base/assert.h"

namespace tenure {
namespace {

constexpr int kNextStartMs = 1'000;  // a guard that dies again and again is started at this pace

bool executable(const std::string& path) { return !path.empty() && access(path.c_str(), X_OK) == 0; }

std::string folder_of_this_program() {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (size <= 0) return "";
  const std::string found(path.data(), static_cast<std::size_t>(size));
  return found.substr(0, found.rfind('/') + 1);
}

}  // namespace

std::string find_guard() {
  if (const char* named = secure_getenv("TENURE_GUARD"); named != nullptr && *named != '\0') return named;
  const std::string name = "tenure-guard";
  if (const std::string beside = folder_of_this_program() + name; executable(beside)) return beside;
#ifdef TENURE_GUARD_INSTALLED
  if (executable(TENURE_GUARD_INSTALLED)) return TENURE_GUARD_INSTALLED;
#endif
  const char* path = secure_getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const std::string folder = rest.substr(0, end);
    if (!folder.empty() && executable(folder + "/" + name)) return folder + "/" + name;
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  return "";
}

Result<std::unique_ptr<PoolGuard>> PoolGuard::start(Options options) {
  guard::GuardOptions wanted;
  wanted.command = {options.command};
  wanted.apart = true;
  Result<std::unique_ptr<guard::Guard>> guard = guard::Guard::start(std::move(wanted));
  if (!guard) return Failure(guard.error());
  return std::unique_ptr<PoolGuard>(new PoolGuard(std::move(options), *std::move(guard)));
}

PoolGuard::PoolGuard(Options options, std::unique_ptr<guard::Guard> guard)
    : options_(std::move(options)),
      guard_(std::move(guard)),
      log_(guard_->add_log(options_.url, options_.pool)),
      wake_(eventfd(0, EFD_CLOEXEC)) {
  ASSERT(wake_);
  for (const int descriptor : options_.shared) guard_->share(descriptor);
  thread_ = std::thread([this] { watch(); });
  pthread_setname_np(thread_.native_handle(), "tenure-guarded");
}

PoolGuard::~PoolGuard() {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

void PoolGuard::watch() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  for (bool lost = false;;) {
    // Its pipe closes with its end.
    std::array<pollfd, 2> waited{pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                                 pollfd{.fd = guard_->life(), .events = 0, .revents = 0}};
    poll(waited.data(), lost ? 1 : 2, lost ? kNextStartMs : -1);
    if (waited[0].revents != 0) return;
    if (!lost && waited[1].revents == 0) continue;
    if (!lost) options_.warn("the guard has died; until another one runs, a crash is known when the lease is over");
    const bool wait_first = !lost;
    lost = true;
    if (wait_first) continue;
    if (guard_->begin()) lost = false;
  }
}

}  // namespace tenure
