// The thread of ChildProcesses: handles reports of the guard, and enforces limits.

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include "guard/process_tree.h"
#include "process/child_processes.h"

namespace tenure::process {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kNoHurry = 1h;

}  // namespace

void ChildProcesses::serve() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  for (;;) {
    News news;
    std::array<pollfd, 3> waited{{{wake_.get(), POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}}};
    Nanos patience = kNoHurry;
    {
      const std::lock_guard lock(mutex_);
      if (guard_) hear_guard(news);
      tend_guard();  // after the reports, because the last child may have ended
      patience = enforce(news);
      if (guard_ && !guard_lost_) waited[1].fd = guard_->socket();
      if (guard_) waited[2].fd = guard_->life();
    }
    tell(news);
    const bool told = !news.dead.empty() || !news.worn_out.empty();
    poll(waited.data(), waited.size(), told ? 0 : static_cast<int>(to_ms(patience)) + 1);
    std::uint64_t ignored = 0;
    if (waited[0].revents != 0) (void)!::read(wake_.get(), &ignored, sizeof ignored);
    if (waited[2].revents == 0) continue;
    {
      const std::lock_guard lock(mutex_);
      hear_guard(news = {});
      all_gone(news);
    }
    tell(news);
  }
}

// Starts the guard when somebody wants it, and ends it after the last user.
void ChildProcesses::tend_guard() {
  if (users_ == 0 && children_.empty() && guard_) {
    guard_.reset();
    guard_lost_ = false;
  }
  if (!guard_wanted_ || guard_lost_) return;  // the end of a lost guard wakes this thread
  guard_wanted_ = false;
  guard_error_.reset();
  if (!guard_) {
    auto started = guard::Guard::start({.command = guard_command_});
    if (started) {
      guard_ = std::move(*started);
      guard_->renew(kSession, Instant{Nanos::max()}, guard::kNoLog);
    } else {
      guard_error_ = std::move(started).error();
    }
  }
  ++attempts_;
  changed_.notify_all();
}

void ChildProcesses::hear_guard(News& news) {
  while (!guard_lost_) {
    const guard::Received received = guard_->receive();
    if (received.what == guard::Received::What::nothing) return;
    if (received.what != guard::Received::What::message) return lose_guard();
    obey(received.message, news);
  }
}

void ChildProcesses::obey(const guard::Message& message, News& news) {
  const auto found = children_.find(message.number);
  if (found == children_.end()) return;
  const ChildPtr child = found->second;
  if (message.kind == guard::MessageKind::started) {
    child->phase = Child::Phase::running;
    child->process = static_cast<pid_t>(message.value);
    child->started = BootClock().now();
    changed_.notify_all();
  }
  if (message.kind == guard::MessageKind::ended)
    return ended(child, describe_end(static_cast<int>(message.value)), news);
  if (message.kind != guard::MessageKind::refused) return;
  guard_->leases().release(child->slot);
  child->phase = Child::Phase::refused;
  child->refusal = {static_cast<int>(message.value), static_cast<guard::StartStep>(message.aside)};
  children_.erase(found);
  changed_.notify_all();
}

void ChildProcesses::lose_guard() {
  guard_lost_ = true;
  guard_->destroy();  // it may be alive and send nonsense
}

// Guard and keepers are gone, so nothing of any program is left.
void ChildProcesses::all_gone(News& news) {
  if (!guard_) return;
  if (!guard_lost_) lose_guard();
  while (!children_.empty()) ended(children_.begin()->second, "died with its guard", news);
  guard_.reset();
  guard_lost_ = false;
}

void ChildProcesses::ended(const ChildPtr& child, std::string why, News& news) {
  guard_->leases().release(child->slot);
  child->phase = Child::Phase::ended;
  if (child->why.empty()) child->why = std::move(why);
  if (child->alarm && !std::exchange(child->told, true)) news.dead.emplace_back(*child->alarm, child->why);
  children_.erase(child->number);
  changed_.notify_all();
}

void ChildProcesses::end_now(const ChildPtr& child, std::string why, News& news) {
  if (child->why.empty()) child->why = std::move(why);
  ::shutdown(child->socket.get(), SHUT_RDWR);
  if (guard_ && !guard_lost_ && children_.contains(child->number)) guard_->end_program(child->number);
  if (child->alarm && !std::exchange(child->told, true)) news.dead.emplace_back(*child->alarm, child->why);
}

// Returns for how long nothing can be due.
Nanos ChildProcesses::enforce(News& news) {
  Nanos patience = kNoHurry;
  const Instant now = BootClock().now();
  const bool weigh = now >= next_memory_look_;
  if (weigh) next_memory_look_ = now + guard::kWeighEvery;
  const std::map<std::uint64_t, ChildPtr> all = children_;
  for (const auto& [number, child] : all) {
    if (child->limits.weighs()) patience = std::min(patience, next_memory_look_ - now);
    if (child->phase != Child::Phase::running || !child->why.empty()) continue;
    if (weigh && child->limits.weighs()) child->memory_bytes = guard::tree_memory(child->process);
    const std::int64_t busy = child->busy_since.load(std::memory_order_relaxed);
    guard::Worn worn{.started = child->started, .memory_bytes = child->memory_bytes};
    if (busy != 0) worn.busy_since = Instant{Nanos(busy)};
    const guard::Judgement judgement = guard::judge(child->limits, worn, now, "call");
    patience = std::min(patience, judgement.left);
    obey(child, judgement, news);
  }
  return patience;
}

void ChildProcesses::obey(const ChildPtr& child, const guard::Judgement& judgement, News& news) {
  using What = guard::Judgement::What;
  if (judgement.what == What::fit) return;
  if (judgement.what != What::worn_out) {
    child->overdue = judgement.what == What::overdue;
    return end_now(child, "was killed: " + judgement.why, news);
  }
  if (child->alarm && !std::exchange(child->worn_out, true)) news.worn_out.emplace_back(*child->alarm, judgement.why);
}

std::string describe_end(int status) {
  if (WIFEXITED(status)) return "ended with exit code " + std::to_string(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  const char* name = sigabbrev_np(number);
  return "was killed by signal " + std::to_string(number) + (name == nullptr ? "" : std::string(" (SIG") + name + ")");
}

}  // namespace tenure::process
