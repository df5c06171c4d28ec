#include "guard/keepers.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <set>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/clock.h"
#include "guard/process_tree.h"
#include "guard/shield.h"

namespace tenure::guard {
namespace {

// A keeper that was told to end may be stopped or traced by its program. It is killed after this time. The guard ends
// programs earlier than the lease requires (host_margins.h), by more than this.
constexpr std::int64_t kKeeperPatienceNs = 10'000'000;

std::int64_t now_ns() { return BootClock().now().since_boot.count(); }

// Tenure's own variables, of which some are secrets: the engine's URL, passwords, tokens. Programs get those that are
// for them in the message, and run code that need not be trusted with the others.
constexpr std::string_view kOwnVariables = "TENURE_";

// The guard's own environment, which is the worker's, without Tenure's own variables, plus those of the message.
std::vector<std::string> environment_with(std::vector<std::string> added) {
  std::vector<std::string> all = std::move(added);
  const std::size_t own = all.size();
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view line(*at);
    if (line.starts_with(kOwnVariables)) continue;
    const std::string_view name = line.substr(0, line.find('=') + 1);
    const bool replaced = std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(own),
                                      [&](const std::string& word) { return word.starts_with(name); });
    if (!replaced) all.emplace_back(line);
  }
  return all;
}

}  // namespace

Keepers::Keepers(LeasePage page, std::function<void(Message)> tell) : page_(std::move(page)), tell_(std::move(tell)) {
  std::array<int, 2> ends{};
  ASSERT(pipe2(ends.data(), O_CLOEXEC) == 0);
  reports_ = Descriptor(ends[0]);
  reports_in_ = Descriptor(ends[1]);
  fcntl(reports_.get(), F_SETFL, O_NONBLOCK);  // writing keepers block, because a report must not be lost
}

void Keepers::start(Received received, std::vector<int> kept) {
  Message& message = received.message;
  const auto slot = static_cast<std::size_t>(message.value);
  const auto arguments = static_cast<std::size_t>(message.aside);
  const bool sound = message.value >= 0 && slot < kLeaseSlots && message.aside >= 1 &&
                     arguments + 1 <= message.words.size() && received.descriptors.size() == 3;
  if (!sound) return refuse(message.number, EINVAL, StartStep::fork);
  const auto may_run = [this, session = message.session, slot] {
    return lease_holds(session, slot, now_ns()) && page_[slot].fenced == 0;
  };
  if (!may_run()) return refuse(message.number, ECANCELED, StartStep::lease);
  const auto split = message.words.begin() + 1 + static_cast<std::ptrdiff_t>(arguments);
  KeeperTask task;
  task.number = message.number;
  task.folder = message.words[0];
  task.arguments.assign(message.words.begin() + 1, split);
  task.environment = environment_with({split, message.words.end()});
  task.standard = std::move(received.descriptors);
  task.may_run = may_run;  // reads the page, which keepers share
  task.runs_until = [this, session = message.session, slot] {
    return page_[slot].session == session ? page_[slot].end_at.load() : 0;
  };

  const pid_t guard = getpid();
  const pid_t keeper = fork();
  if (keeper < 0) return refuse(message.number, errno, StartStep::fork);
  if (keeper == 0) {
    kept.push_back(reports_in_.get());
    if (now_ns() < shield_until_) shield(std::move(task), guard, reports_in_.get(), kept);
    keep(std::move(task), guard, reports_in_.get(), kept);
  }
  kept_[message.number] = {.keeper = keeper, .session = message.session, .slot = slot};
}

void Keepers::refuse(std::uint64_t number, int error_number, StartStep step) {
  tell_({.kind = MessageKind::refused, .number = number, .value = error_number, .aside = static_cast<int>(step)});
}

void Keepers::stop(std::uint64_t number, std::int64_t end_at) {
  if (const auto found = kept_.find(number); found != kept_.end()) stop(found->second, end_at);
}

void Keepers::end(std::uint64_t number) {
  if (const auto found = kept_.find(number); found != kept_.end()) end(found->second);
}

void Keepers::stop_all(std::uint64_t session) {
  for (auto& [number, kept] : kept_) {
    if (kept.session == session) stop(kept, INT64_MAX);
  }
}

void Keepers::end_all(std::uint64_t session) {
  for (auto& [number, kept] : kept_) {
    if (kept.session == session) end(kept);
  }
}

void Keepers::end_everything() {
  for (auto& [number, kept] : kept_) end(kept);
}

void Keepers::stop(Kept& kept, std::int64_t end_at) {
  kept.end_at = std::min(kept.end_at, end_at);
  if (!std::exchange(kept.asked, true) && !kept.ending) ::kill(kept.keeper, kStopSignal);
}

void Keepers::end(Kept& kept) {
  if (std::exchange(kept.ending, true)) return;
  ::kill(kept.keeper, kEndSignal);
  ::kill(kept.keeper, SIGCONT);  // it may be stopped
  kept.kill_at = now_ns() + kKeeperPatienceNs;
}

void Keepers::hear() {
  KeeperReport report{};
  while (::read(reports_.get(), &report, sizeof report) == static_cast<ssize_t>(sizeof report)) {
    const auto kept = kept_.find(report.number);
    if (kept == kept_.end()) continue;
    const Message said{.kind = report.kind, .number = report.number, .value = report.value, .aside = report.step};
    if (report.kind == MessageKind::started) {
      tell_(said);
    } else {
      kept->second.last = said;
    }
  }
}

void Keepers::reap() {
  for (;;) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, WNOHANG | WUNTRACED);
    if (child <= 0) return;
    if (WIFSTOPPED(status)) {  // most likely by its program
      ::kill(child, SIGCONT);
      continue;
    }
    hear();  // its last report came before its end
    const auto kept =
        std::find_if(kept_.begin(), kept_.end(), [&](const auto& entry) { return entry.second.keeper == child; });
    if (kept == kept_.end()) continue;
    // If a keeper's shield was killed, the keeper's report is not everything.
    const bool murdered = WIFSIGNALED(status) && !kept->second.killed;
    if (kept->second.last && !murdered) {
      tell_(*kept->second.last);
    } else {
      lose(kept->first, kept->second);
    }
    kept_.erase(kept);
  }
}

void Keepers::lose(std::uint64_t number, const Kept& kept) {
  lost_.push_back({.kind = MessageKind::ended, .number = number, .value = SIGKILL, .aside = kept.killed ? 0 : 1});
  strays_ = true;
}

// Somebody has killed a keeper. The kernel kills the program with it. Processes that the program had started are
// children of the guard now, and it has no other children besides keepers.
void Keepers::end_strays() {
  std::set<pid_t> keepers;
  strays_ = false;
  for (const auto& [number, kept] : kept_) {
    keepers.insert(kept.keeper);
    strays_ = strays_ || kept.killed;
  }
  strays_ = kill_descendants(keepers) != 0 || strays_;
  if (strays_) return;
  for (Message& last : std::exchange(lost_, {})) tell_(std::move(last));
}

bool Keepers::lease_holds(std::uint64_t session, std::size_t slot, std::int64_t now) const {
  return page_[slot].session == session && page_[slot].end_at > now;
}

// The worker moves its deadlines in the page without a message. The timer fires at the earliest known deadline. If that
// has moved on meanwhile, the timer is set again: once a lease, and not once a beat.
std::int64_t Keepers::check_deadlines() {
  const std::int64_t now = now_ns();
  std::int64_t next = INT64_MAX;
  for (auto& [number, kept] : kept_) {
    if (kept.ending && kept.kill_at <= now && !kept.killed) {
      kept.killed = true;
      strays_ = true;  // at once: if a keeper is traced, the tracer is notified first
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
  return next;
}

}  // namespace tenure::guard
