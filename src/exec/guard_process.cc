#include "exec/guard_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/assert.h"
#include "exec/cgroup.h"
#include "exec/guard_main.h"
#include "exec/process_tree.h"
#include "exec/remove_tree.h"
#include "exec/shield.h"

namespace tenure::exec {
namespace {

using namespace std::chrono_literals;

constexpr int kStrayPassMs = 2;
// A keeper that was told to end may be stopped or traced by its program. It is killed after this time. The guard ends
// programs earlier than the lease requires (host_margins.h), and this is less.
constexpr std::int64_t kKeeperPatienceNs = 10'000'000;
// From the moment the socket closes until the kernel reports the process as gone.
constexpr int kWorkerGoneMs = 5'000;
constexpr Nanos kLastWordPatience = 10s;

std::int64_t now_ns() { return BootClock().now().since_boot.count(); }

// The guard's own environment, which is the worker's, with what the frame adds.
std::vector<std::string> environment_with(std::vector<std::string> added) {
  std::vector<std::string> all = std::move(added);
  const std::size_t own = all.size();
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view line(*at);
    const std::string_view name = line.substr(0, line.find('=') + 1);
    const bool replaced = std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(own),
                                      [&](const std::string& word) { return word.starts_with(name); });
    if (!replaced) all.emplace_back(line);
  }
  return all;
}

}  // namespace

GuardProcess::GuardProcess(LeasePage page) : page_(std::move(page)) {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigaddset(&children, kWakeSignal);
  signals_ = Descriptor(signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  std::array<int, 2> ends{};
  ASSERT(pipe2(ends.data(), O_CLOEXEC) == 0);
  reports_ = Descriptor(ends[0]);
  reports_in_ = Descriptor(ends[1]);
  fcntl(reports_.get(), F_SETFL, O_NONBLOCK);  // the keepers' end waits: a report must not be lost
  poll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  ASSERT(poll_ && signals_);
  for (const int number : {kGuardSocket, kGuardWorker, signals_.get(), reports_.get()}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = number}};
    ASSERT(epoll_ctl(poll_.get(), EPOLL_CTL_ADD, number, &event) == 0);
  }
}

int GuardProcess::run() {
  while (!worker_left_ || !kept_.empty() || strays_) look();
  while (kill_descendants() != 0) wait_for_child();
  if (!cgroup_.empty() && !alone_in_cgroup(cgroup_)) leave_cgroup(cgroup_);
  wait_for_worker();
  alive_.clear();  // worker and programs are gone: who watches on this host may know it now
  speak_for_worker();
  if (!cgroup_.empty()) leave_cgroup(cgroup_);  // takes some milliseconds, for which nobody waits here
  for (const std::string& folder : folders_) remove_tree(folder);
  return 0;
}

void GuardProcess::look() {
  std::array<epoll_event, 8> events{};
  const int count =
      epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), strays_ ? kStrayPassMs : -1);
  bool children = strays_;
  for (int i = 0; i < count; ++i) {
    const int number = events.at(static_cast<std::size_t>(i)).data.fd;
    if (number == kGuardSocket) hear_worker();
    if (number == kGuardWorker) end_everything();
    if (number == signals_.get()) {
      std::array<signalfd_siginfo, 16> heard{};
      while (::read(signals_.get(), heard.data(), sizeof heard) > 0) children = true;
    }
  }
  hear_keepers();
  if (children) reap();
  if (strays_) end_strays();
  check_deadlines();
  flush();
}

void GuardProcess::hear_worker() {
  while (!worker_left_) {
    Received received = receive_frame(kGuardSocket);
    if (received.what == Received::What::nothing) return;
    if (received.what != Received::What::frame) return end_everything();
    obey(std::move(received));
  }
}

void GuardProcess::obey(Received received) {
  const Frame& frame = received.frame;
  const auto found = kept_.find(frame.number);
  switch (frame.kind) {
    case FrameKind::start: return start(std::move(received));
    case FrameKind::stop:
      if (found != kept_.end()) stop(found->second, frame.value);
      return;
    case FrameKind::end:
      if (found != kept_.end()) end(found->second);
      return;
    case FrameKind::stop_all:
    case FrameKind::end_all:
      for (auto& [number, kept] : kept_) {
        if (kept.session != frame.session) continue;
        frame.kind == FrameKind::stop_all ? stop(kept, INT64_MAX) : end(kept);
      }
      return;
    case FrameKind::log:
      if (frame.words.size() == 2) logs_[frame.number] = {frame.words[0], frame.words[1], 0};
      return;
    case FrameKind::folder: folders_.insert(folders_.end(), frame.words.begin(), frame.words.end()); return;
    case FrameKind::alive:
      if (received.descriptors.size() == 1) alive_.push_back(std::move(received.descriptors[0]));
      return;
    case FrameKind::cgroup:
      if (frame.words.size() != 1 || received.descriptors.size() != 1) return;
      cgroup_ = frame.words[0];
      cgroup_lock_ = std::move(received.descriptors[0]);
      return;
    case FrameKind::shield: shield_until_ = frame.value; return;
    case FrameKind::farewell: farewell_ = true; return;
    default: return;  // what only a guard says
  }
}

void GuardProcess::start(Received received) {
  Frame& frame = received.frame;
  const auto slot = static_cast<std::size_t>(frame.value);
  const auto arguments = static_cast<std::size_t>(frame.aside);
  const bool sound = frame.value >= 0 && slot < kLeaseSlots && frame.aside >= 1 &&
                     arguments + 1 <= frame.words.size() && received.descriptors.size() == 3;
  if (!sound) return refuse(frame.number, EINVAL, Stage::fork);
  const auto may_run = [this, session = frame.session, slot] {
    return lease_holds(session, slot, now_ns()) && page_[slot].fenced == 0;
  };
  if (!may_run()) return refuse(frame.number, ECANCELED, Stage::lease);
  const auto split = frame.words.begin() + 1 + static_cast<std::ptrdiff_t>(arguments);
  KeeperTask task;
  task.number = frame.number;
  task.folder = frame.words[0];
  task.arguments.assign(frame.words.begin() + 1, split);
  task.environment = environment_with({split, frame.words.end()});
  task.standard = std::move(received.descriptors);
  task.may_run = may_run;  // by the page, which keepers share
  task.runs_until = [this, session = frame.session, slot] {
    return page_[slot].session == session ? page_[slot].end_at.load() : 0;
  };

  const pid_t guard = getpid();
  const pid_t keeper = fork();
  if (keeper < 0) return refuse(frame.number, errno, Stage::fork);
  if (keeper == 0) {
    std::vector<int> open{reports_in_.get(), kGuardLife};
    for (const Descriptor& alive : alive_) open.push_back(alive.get());
    if (cgroup_lock_) open.push_back(cgroup_lock_.get());
    if (now_ns() < shield_until_) shield(std::move(task), guard, reports_in_.get(), open);
    keep(std::move(task), guard, reports_in_.get(), open);
  }
  kept_[frame.number] = {.keeper = keeper, .session = frame.session, .slot = slot};
}

void GuardProcess::refuse(std::uint64_t number, int error_number, Stage stage) {
  say({.kind = FrameKind::refused, .number = number, .value = error_number, .aside = static_cast<int>(stage)});
}

void GuardProcess::stop(Kept& kept, std::int64_t end_at) {
  kept.end_at = std::min(kept.end_at, end_at);
  if (!std::exchange(kept.asked, true) && !kept.ending) ::kill(kept.keeper, kStopSignal);
}

void GuardProcess::end(Kept& kept) {
  if (std::exchange(kept.ending, true)) return;
  ::kill(kept.keeper, kEndSignal);
  ::kill(kept.keeper, SIGCONT);  // it may be stopped
  kept.kill_at = now_ns() + kKeeperPatienceNs;
}

// The worker is gone, or done with us, or talks nonsense.
void GuardProcess::end_everything() {
  if (std::exchange(worker_left_, true)) return;
  epoll_ctl(poll_.get(), EPOLL_CTL_DEL, kGuardSocket, nullptr);
  epoll_ctl(poll_.get(), EPOLL_CTL_DEL, kGuardWorker, nullptr);
  unsent_.clear();
  for (auto& [number, kept] : kept_) end(kept);
}

void GuardProcess::hear_keepers() {
  KeeperReport report{};
  while (::read(reports_.get(), &report, sizeof report) == static_cast<ssize_t>(sizeof report)) {
    const auto kept = kept_.find(report.number);
    if (kept == kept_.end()) continue;
    const Frame said{.kind = report.kind, .number = report.number, .value = report.value, .aside = report.stage};
    if (report.kind == FrameKind::started) {
      say(said);
    } else {
      kept->second.last = said;
    }
  }
}

void GuardProcess::reap() {
  for (;;) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, WNOHANG | WUNTRACED);
    if (child <= 0) return;
    if (WIFSTOPPED(status)) {  // by its program, most likely. Nobody else has a reason
      ::kill(child, SIGCONT);
      continue;
    }
    hear_keepers();  // what it said last came before its end
    const auto kept =
        std::find_if(kept_.begin(), kept_.end(), [&](const auto& entry) { return entry.second.keeper == child; });
    if (kept == kept_.end()) continue;
    // What a keeper says whose shield was killed is not all there is to say.
    const bool murdered = WIFSIGNALED(status) && !kept->second.killed;
    if (kept->second.last && !murdered) {
      say(*kept->second.last);
    } else {
      lose(kept->first, kept->second);
    }
    kept_.erase(kept);
  }
}

void GuardProcess::lose(std::uint64_t number, const Kept& kept) {
  lost_.push_back({.kind = FrameKind::ended, .number = number, .value = SIGKILL, .aside = kept.killed ? 0 : 1});
  strays_ = true;
}

// Somebody has killed a keeper. The program dies with it, by the kernel's hand; what the program had started hangs
// below the guard now, and is all that hangs here besides keepers.
void GuardProcess::end_strays() {
  std::set<pid_t> keepers;
  strays_ = false;
  for (const auto& [number, kept] : kept_) {
    keepers.insert(kept.keeper);
    strays_ = strays_ || kept.killed;
  }
  strays_ = kill_descendants(keepers) != 0 || strays_;
  if (strays_) return;
  for (Frame& last : std::exchange(lost_, {})) say(std::move(last));
}

bool GuardProcess::lease_holds(std::uint64_t session, std::size_t slot, std::int64_t now) const {
  return page_[slot].session == session && page_[slot].end_at > now;
}

// The worker moves its moments in the page without a word. The timer fires at the earliest one known, and if that
// has moved on meanwhile, is set again: once a lease, and not once a beat.
void GuardProcess::check_deadlines() {
  const std::int64_t now = now_ns();
  std::int64_t next = INT64_MAX;
  for (auto& [number, kept] : kept_) {
    if (kept.ending && kept.kill_at <= now && !kept.killed) {
      kept.killed = true;
      strays_ = true;  // at once: of a keeper that is traced, its tracer hears first
      ::kill(kept.keeper, SIGKILL);
    }
    if (kept.ending) {
      if (!kept.killed) next = std::min(next, kept.kill_at);
      continue;
    }
    if (kept.end_at <= now || !lease_holds(kept.session, kept.slot, now)) {
      end(kept);
      next = std::min(next, kept.kill_at);
    } else {
      next = std::min({next, kept.end_at, page_[kept.slot].end_at.load()});
    }
  }
  timer_.set(next);
}

void GuardProcess::say(Frame frame) {
  if (!worker_left_) unsent_.push_back(std::move(frame));
}

// A worker that is frozen reads nothing: what it is to hear waits here.
void GuardProcess::flush() {
  while (!unsent_.empty()) {
    const int error_number = send_frame(kGuardSocket, unsent_.front());
    if (error_number == EAGAIN) break;
    if (error_number != 0) {  // it is closed; what the worker said last is still to be read
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

// A pass that has killed somebody is repeated when a child ends, or soon.
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
  if (waited.revents == 0) farewell_ = true;  // it lives on without us: its lease is its own to keep
}

void GuardProcess::speak_for_worker() {
  if (farewell_) return;
  std::vector<Ending> endings;
  for (std::size_t i = 0; i < kLeaseSlots; ++i) {
    const std::uint64_t session = page_[i].session;
    const auto log = logs_.find(page_[i].log);
    if (session == 0 || log == logs_.end()) continue;
    endings.push_back(log->second);
    endings.back().session = session;
  }
  if (!endings.empty()) say_ends(endings, kLastWordPatience);
}

}  // namespace tenure::exec
