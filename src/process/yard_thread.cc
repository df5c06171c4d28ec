// What the yard's thread does: hears the guard, and looks after limits.

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <fstream>

#include "exec/process_tree.h"
#include "process/yard.h"

namespace tenure::process {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kMemoryLook = 100ms;
constexpr Nanos kNoHurry = 1h;

std::string ms_text(std::chrono::milliseconds span) { return std::to_string(span.count()) + " ms"; }

}  // namespace

void Yard::serve() {
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
      tend_guard();  // after the news: the last child may have ended
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

// Starts the guard for who wants it, and ends it after the last.
void Yard::tend_guard() {
  if (users_ == 0 && children_.empty() && guard_) {
    guard_.reset();
    guard_lost_ = false;
  }
  if (!guard_wanted_ || guard_lost_) return;  // the end of a lost one wakes us
  guard_wanted_ = false;
  guard_error_.reset();
  if (!guard_) {
    auto started = exec::Guard::start({guard_command_});
    if (started) {
      guard_ = std::move(*started);
      guard_->renew(kSession, Instant{Nanos::max()}, exec::kNoLog);
    } else {
      guard_error_ = std::move(started).error();
    }
  }
  ++attempts_;
  changed_.notify_all();
}

void Yard::hear_guard(News& news) {
  while (!guard_lost_) {
    const exec::Received received = guard_->receive();
    if (received.what == exec::Received::What::nothing) return;
    if (received.what != exec::Received::What::frame) return lose_guard();
    obey(received.frame, news);
  }
}

void Yard::obey(const exec::Frame& frame, News& news) {
  const auto found = children_.find(frame.number);
  if (found == children_.end()) return;
  const ChildPtr child = found->second;
  if (frame.kind == exec::FrameKind::started) {
    child->phase = Child::Phase::running;
    child->process = static_cast<pid_t>(frame.value);
    child->started = BootClock().now();
    changed_.notify_all();
  }
  if (frame.kind == exec::FrameKind::ended) return ended(child, describe_end(static_cast<int>(frame.value)), news);
  if (frame.kind != exec::FrameKind::refused) return;
  guard_->leases().release(child->slot);
  child->phase = Child::Phase::refused;
  child->refusal = {static_cast<int>(frame.value), static_cast<exec::Stage>(frame.aside)};
  children_.erase(found);
  changed_.notify_all();
}

void Yard::lose_guard() {
  guard_lost_ = true;
  guard_->destroy();  // it may live and talk nonsense
}

// Guard and keepers are gone: nothing of any program is left.
void Yard::all_gone(News& news) {
  if (!guard_) return;
  if (!guard_lost_) lose_guard();
  while (!children_.empty()) ended(children_.begin()->second, "died with its guard", news);
  guard_.reset();
  guard_lost_ = false;
}

void Yard::ended(const ChildPtr& child, std::string why, News& news) {
  guard_->leases().release(child->slot);
  child->phase = Child::Phase::ended;
  if (child->why.empty()) child->why = std::move(why);
  if (child->alarm && !std::exchange(child->told, true)) news.dead.emplace_back(*child->alarm, child->why);
  children_.erase(child->number);
  changed_.notify_all();
}

void Yard::end_now(const ChildPtr& child, std::string why, News& news) {
  if (child->why.empty()) child->why = std::move(why);
  ::shutdown(child->socket.get(), SHUT_RDWR);
  if (guard_ && !guard_lost_ && children_.contains(child->number)) guard_->end_program(child->number);
  if (child->alarm && !std::exchange(child->told, true)) news.dead.emplace_back(*child->alarm, child->why);
}

// Returns how long nothing can be due. A request that is sent meanwhile is due after a whole call_time, and so not
// before the next look.
Nanos Yard::enforce(News& news) {
  Nanos patience = kNoHurry;
  const Instant now = BootClock().now();
  bool memory = false;
  const std::map<std::uint64_t, ChildPtr> all = children_;
  for (const auto& [number, child] : all) {
    const ProcessLimits& limits = child->limits;
    if (child->phase != Child::Phase::running || !child->why.empty()) continue;
    const auto check = [&](Instant since, std::chrono::milliseconds limit, const char* what) {
      const Nanos left = since + limit - now;
      if (left > 0ns) return void(patience = std::min(patience, left));
      end_now(child, "was killed: " + std::string(what) + " took longer than " + ms_text(limit), news);
    };
    if (limits.age_hard > 0ms) check(child->started, limits.age_hard, "its life");
    const std::int64_t busy = child->busy_since.load(std::memory_order_relaxed);
    if (limits.call_time > 0ms) {
      const Instant since = busy != 0 ? Instant{Nanos(busy)} : now;
      if (now - since >= limits.call_time) child->overdue = true;
      check(since, limits.call_time, "a call");
    }
    if (limits.memory_bytes == 0 && limits.memory_bytes_hard == 0) continue;
    memory = true;
    if (now >= next_memory_look_) check_memory(child, news);
  }
  if (!memory) return patience;
  if (now >= next_memory_look_) next_memory_look_ = now + kMemoryLook;
  return std::min(patience, next_memory_look_ - now);
}

void Yard::check_memory(const ChildPtr& child, News& news) {
  const std::uint64_t used = tree_memory(child->process);
  const ProcessLimits& limits = child->limits;
  const std::string text = "it uses " + std::to_string(used) + " bytes of memory";
  if (limits.memory_bytes_hard != 0 && used > limits.memory_bytes_hard) {
    return end_now(child, "was killed: " + text, news);
  }
  if (limits.memory_bytes == 0 || used <= limits.memory_bytes || !child->alarm) return;
  if (!std::exchange(child->worn_out, true)) news.worn_out.emplace_back(*child->alarm, text);
}

std::string describe_end(int status) {
  if (WIFEXITED(status)) return "ended with exit code " + std::to_string(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  const char* name = sigabbrev_np(number);
  return "was killed by signal " + std::to_string(number) + (name == nullptr ? "" : std::string(" (SIG") + name + ")");
}

std::uint64_t tree_memory(pid_t process) {
  static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::uint64_t pages = 0;
  std::vector<pid_t> open{process};
  while (!open.empty()) {
    const pid_t each = open.back();
    open.pop_back();
    std::ifstream file("/proc/" + std::to_string(each) + "/statm");
    std::uint64_t whole = 0;
    std::uint64_t resident = 0;
    if (file >> whole >> resident) pages += resident;
    for (const pid_t child : exec::children_of(each)) open.push_back(child);
  }
  return pages * page;
}

}  // namespace tenure::process
