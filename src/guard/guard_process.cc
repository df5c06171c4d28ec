#include "guard/guard_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/assert.h"
#include "guard/cgroup.h"
#include "guard/guard_main.h"
#include "guard/process_tree.h"
#include "guard/remove_tree.h"

namespace tenure::guard {
namespace {

using namespace std::chrono_literals;

constexpr int kStrayPassMs = 2;
// How long the kernel may take, after the socket closed, to report the process as gone.
constexpr int kWorkerGoneMs = 5'000;
constexpr Nanos kReportPatience = 10s;

}  // namespace

GuardProcess::GuardProcess(LeasePage page, ReportEndings report)
    : report_(report), keepers_(std::move(page), [this](Message message) { tell_worker(std::move(message)); }) {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigaddset(&children, kWakeSignal);
  signals_ = Descriptor(signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  poll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  ASSERT(poll_ && signals_);
  for (const int number : {kGuardSocket, kGuardWorker, signals_.get(), keepers_.reports()}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = number}};
    ASSERT(epoll_ctl(poll_.get(), EPOLL_CTL_ADD, number, &event) == 0);
  }
}

int GuardProcess::run() {
  while (!worker_left_ || !keepers_.empty()) look();
  while (kill_descendants() != 0) wait_for_child();
  if (!cgroup_.empty() && !alone_in_cgroup(cgroup_)) leave_cgroup(cgroup_);
  wait_for_worker();
  // Worker and programs are gone: members on this host may know it now. If there is evidence, the log has it first: the
  // first record that ends a session is the one that counts.
  const std::optional<Crash> crash = read_crash(keepers_.page().end().crash);
  if (!crash) alive_.clear();
  report_endings(crash);
  alive_.clear();
  if (!cgroup_.empty()) leave_cgroup(cgroup_);  // takes some milliseconds; nobody waits for it
  for (const std::string& folder : folders_) remove_tree(folder);
  return 0;
}

void GuardProcess::look() {
  std::array<epoll_event, 8> events{};
  const int count =
      epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), keepers_.strays() ? kStrayPassMs : -1);
  bool children = keepers_.strays();
  for (int i = 0; i < count; ++i) {
    const int number = events.at(static_cast<std::size_t>(i)).data.fd;
    if (number == kGuardSocket) hear_worker();
    if (number == kGuardWorker) end_everything();
    if (number == signals_.get()) {
      std::array<signalfd_siginfo, 16> heard{};
      while (::read(signals_.get(), heard.data(), sizeof heard) > 0) children = true;
    }
  }
  keepers_.hear();
  if (children) keepers_.reap();
  if (keepers_.strays()) keepers_.end_strays();
  timer_.set(keepers_.check_deadlines());
  flush();
}

void GuardProcess::hear_worker() {
  while (!worker_left_) {
    Received received = receive_message(kGuardSocket);
    if (received.what == Received::What::nothing) return;
    if (received.what != Received::What::message) return end_everything();
    obey(std::move(received));
  }
}

void GuardProcess::obey(Received received) {
  const Message& message = received.message;
  switch (message.kind) {
    case MessageKind::start: return keepers_.start(std::move(received), held_by_keepers());
    case MessageKind::stop: return keepers_.stop(message.number, message.value);
    case MessageKind::end: return keepers_.end(message.number);
    case MessageKind::stop_all: return keepers_.stop_all(message.session);
    case MessageKind::end_all: return keepers_.end_all(message.session);
    case MessageKind::log:
      if (message.words.size() == 2) logs_[message.number] = {.url = message.words[0], .pool = message.words[1]};
      return;
    case MessageKind::folder: folders_.insert(folders_.end(), message.words.begin(), message.words.end()); return;
    case MessageKind::alive:
      if (received.descriptors.size() == 1) alive_.push_back(std::move(received.descriptors[0]));
      return;
    case MessageKind::cgroup:
      if (message.words.size() != 1 || received.descriptors.size() != 1) return;
      cgroup_ = message.words[0];
      cgroup_lock_ = std::move(received.descriptors[0]);
      return;
    case MessageKind::shield:
      // Shields have the guard's name (shield.cc).
      if (message.value > BootClock().now().since_boot.count()) prctl(PR_SET_NAME, "tenure-watch");
      return keepers_.shield_until(message.value);
    case MessageKind::farewell: farewell_ = true; return;
    default: return;  // only a guard sends these
  }
}

// What a keeper holds open until its program's tree is gone.
std::vector<int> GuardProcess::held_by_keepers() const {
  std::vector<int> held{kGuardLife};
  for (const Descriptor& alive : alive_) held.push_back(alive.get());
  if (cgroup_lock_) held.push_back(cgroup_lock_.get());
  return held;
}

// The worker is gone, or done, or sends nonsense.
void GuardProcess::end_everything() {
  if (std::exchange(worker_left_, true)) return;
  epoll_ctl(poll_.get(), EPOLL_CTL_DEL, kGuardSocket, nullptr);
  epoll_ctl(poll_.get(), EPOLL_CTL_DEL, kGuardWorker, nullptr);
  unsent_.clear();
  keepers_.end_everything();
}

void GuardProcess::tell_worker(Message message) {
  if (!worker_left_) unsent_.push_back(std::move(message));
}

// A frozen worker reads nothing. Its messages wait here.
void GuardProcess::flush() {
  while (!unsent_.empty()) {
    const int error_number = send_message(kGuardSocket, unsent_.front());
    if (error_number == EAGAIN) break;
    if (error_number != 0) {  // it is closed; the worker's last messages can still be read
      hear_worker();
      return end_everything();
    }
    unsent_.pop_front();
  }
  if (worker_left_) return;
  epoll_event event{.events = EPOLLIN, .data = {.fd = kGuardSocket}};
  if (!unsent_.empty()) event.events |= EPOLLOUT;
  epoll_ctl(poll_.get(), EPOLL_CTL_MOD, kGuardSocket, &event);
}

// A pass that has killed a process is repeated when a child ends, or soon.
void GuardProcess::wait_for_child() {
  pollfd waited{.fd = signals_.get(), .events = POLLIN, .revents = 0};
  poll(&waited, 1, kStrayPassMs);
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

// The kernel closes a dying process's files a moment before it reports the process as gone.
void GuardProcess::wait_for_worker() {
  if (farewell_) return;
  pollfd waited{.fd = kGuardWorker, .events = POLLIN, .revents = 0};
  while (poll(&waited, 1, kWorkerGoneMs) < 0 && errno == EINTR) {
  }
  if (waited.revents == 0) farewell_ = true;  // it lives on without this guard; its lease is its own responsibility
}

void GuardProcess::report_endings(const std::optional<Crash>& crash) {
  if (farewell_) return;
  std::vector<Ending> endings;
  for (std::size_t i = 0; i < kLeaseSlots; ++i) {
    const std::uint64_t session = keepers_.page()[i].session;
    const auto log = logs_.find(keepers_.page()[i].log);
    if (session == 0 || log == logs_.end()) continue;
    endings.push_back(log->second);
    endings.back().session = session;
    if (!crash || crash->session != session) continue;
    endings.back().culprits = {crash->epoch};
    endings.back().evidence = crash->evidence;
  }
  if (!endings.empty()) report_(endings, kReportPatience);
}

}  // namespace tenure::guard
