#include "sim/checker/log_replay.h"

#include <algorithm>
#include <utility>

namespace tenure::sim {

namespace {

constexpr Time kRounding = 2 * kMilli;  // the log counts in milliseconds
constexpr Time kDriftMax = 1000;        // the engine's clock runs ahead by less than one in so many

std::string name(const Asked& asked) { return asked.key + " (ticket " + std::to_string(asked.ticket) + ")"; }

// Nobody asks for these.
bool of_partition(const Event& event) {
  return std::visit(
      [](const auto& what) {
        if constexpr (requires { what.key; }) {
          return is_partition(what.key);
        } else {
          return false;
        }
      },
      event.what);
}

bool is_job(const Asked& asked) { return asked.ask == Ask::resident || asked.ask == Ask::task; }

}  // namespace

AskedBy asked_by_ticket(const History& history) {
  AskedBy found;
  for (const Event& event : history) {
    if (const auto* asked = std::get_if<Asked>(&event.what)) found.emplace(asked->ticket, *asked);
  }
  return found;
}

void LogReplay::apply(const Event& event) {
  if (dropped_ != 0) {
    const auto* buried = std::get_if<LogBuried>(&event.what);
    if (buried == nullptr || buried->ticket != dropped_) {
      broken('u', "a resident that had run was dropped: " + name(*jobs[dropped_].asked));
    }
    dropped_ = 0;
  }
  now_ = event.at;
  if (of_partition(event)) return;
  if (std::holds_alternative<LogRestoring>(event.what)) return remember(event);
  std::visit([this](const auto& what) { on(what); }, event.what);
}

void LogReplay::on(const LogSettled& settled) {
  const auto found = asked_.find(settled.ticket);
  if (found == asked_.end()) {
    return broken('f', "the log speaks of ticket " + std::to_string(settled.ticket) + ", which nobody asked for");
  }
  switch (settled.step) {
    case Step::accepted: return accept(found->second);
    case Step::refused: return refuse(found->second, settled.code);
    case Step::started: return begin(settled.ticket, true);
    case Step::done:
    case Step::failed:
    case Step::stopped: return settle(found->second, settled.step);
  }
}

void LogReplay::accept(const Asked& asked) {
  ReplayedKey& key = keys[asked.key];
  switch (asked.ask) {
    case Ask::emit: return;
    case Ask::resident:
    case Ask::task: return accept_job(asked);
    case Ask::notify:
      if (ending_ && !key.takes_messages()) return;  // its resident may not have been asked to stop yet
      if (!key.takes_messages()) return broken('h', "a message was accepted for a key without a job: " + name(asked));
      jobs[key.resident].messages.push_back({asked.ticket, now_});
      messages.insert(asked.ticket);
      return;
    case Ask::stop:
      if (!key.any()) broken('h', "a stop was accepted for a key without a job: " + name(asked));
      stops[asked.ticket] = now_;
      key.stopping = key.resident != 0;
      return;
    case Ask::retry_dead:
    case Ask::drop_dead: {
      ReplayedJob& job = jobs[asked.of];
      if (!job.buried) return broken('h', "what is not buried was retried or dropped: " + name(asked));
      job.buried = false;
      if (asked.ask == Ask::retry_dead) {
        job.live = true;
        if (job.asked->ask == Ask::task) enter_key(*job.asked);
      } else {
        job.live = false;
        if (job.asked->ask == Ask::resident) leave_key(*job.asked);
      }
      return;
    }
  }
}

void LogReplay::accept_job(const Asked& asked) {
  if (jobs.contains(asked.ticket)) return broken('f', "accepted twice: " + name(asked));
  const ReplayedKey& key = keys[asked.key];
  // It is buried with the next events, and is never in the line.
  if (asked.event != 0 && key.resident != 0) {
    ReplayedJob& job = jobs[asked.ticket];
    job.asked = &asked;
    job.accepted_at = now_;
    job.begun = true;
    return;
  }
  if (key.resident != 0 || (asked.ask == Ask::resident && key.any())) {
    broken('h', "a second live job was accepted for its key: " + name(asked));
  }
  const Waiting before = waiting();
  if (asked.delayed ? before.delayed >= expected_.delayed_bound : before.queued >= expected_.queue_bound) {
    broken('i', "a bound is exceeded: " + std::to_string(before.queued) + " queued and " +
                    std::to_string(before.delayed) + " delayed before " + name(asked));
  }
  ReplayedJob& job = jobs[asked.ticket];
  job.asked = &asked;
  job.accepted_at = now_;
  keys[asked.key].taken = true;
  enter_key(asked);
}

// Log time may lag. It runs ahead of true time only where the engine's clock jumps.
LogReplay::Waiting LogReplay::waiting() const {
  Waiting waiting;
  for (const auto& [ticket, job] : jobs) {
    if (!job.live || job.begun || job.asked == nullptr) continue;
    if (job.vague || (job.restored && job.asked->delayed)) {
      ++waiting.either;
    } else if (!job.asked->delayed || job.granted) {
      ++waiting.queued;
    } else {
      const Time surely = job.accepted_at + job.asked->delay - job.asked->delay / kDriftMax - kRounding;
      const bool early = !expected_.engine_steps && now_ < surely;
      ++(early ? waiting.delayed : waiting.either);
    }
  }
  return waiting;
}

void LogReplay::refuse(const Asked& asked, Errc code) {
  const ReplayedKey& key = keys[asked.key];
  if (code == Errc::pool_full) {
    const Waiting now = waiting();
    const bool fits = now.queued + now.either + asked.tasks <= expected_.queue_bound;
    if (asked.ask == Ask::emit && fits) broken('i', "an emit was refused as full, and would fit");
    if (asked.ask == Ask::emit) return;
    if (asked.delayed ? now.delayed + now.either < expected_.delayed_bound
                      : now.queued + now.either < expected_.queue_bound) {
      broken('i', "refused as full with " + std::to_string(now.queued) + " queued and " + std::to_string(now.delayed) +
                      " delayed: " + name(asked));
    }
  }
  if (code == Errc::key_exists && !(asked.ask == Ask::resident ? key.any() : key.resident != 0)) {
    broken('h', "refused for a job that its key does not have: " + name(asked));
  }
  if (code == Errc::no_such_key && (asked.ask == Ask::notify || asked.ask == Ask::stop) &&
      (asked.ask == Ask::stop ? key.any() : key.takes_messages())) {
    broken('h', "refused though its key has a job: " + name(asked));
  }
}

void LogReplay::settle(const Asked& asked, Step step) {
  if (asked.ask == Ask::stop) {
    stops.erase(asked.ticket);
    return;
  }
  messages.erase(asked.ticket);
  if (!is_job(asked)) return;
  const auto found = jobs.find(asked.ticket);
  if (found == jobs.end()) return broken('f', "settled but never accepted: " + name(asked));
  ReplayedJob& job = found->second;
  if (!job.live && !job.buried) return broken('f', "settled twice: " + name(asked));
  ReplayedKey& key = keys[asked.key];
  if (step == Step::done && (key.epoch == 0 || key.holder_ticket != asked.ticket)) {
    broken('f', "done by nobody who held it: " + name(asked));
  }
  if (step != Step::stopped && !key.tasks.empty() && asked.ask == Ask::task && !asked.delayed &&
      key.tasks.front() != asked.ticket) {
    broken('g', "a task ended before one accepted earlier: " + name(asked));
  }
  if (step == Step::failed && asked.ask == Ask::resident && job.started && !key.stopping) dropped_ = asked.ticket;
  job.live = false;
  job.buried = false;
  leave_key(asked);
  job.granted = true;
}

void LogReplay::enter_key(const Asked& asked) {
  ReplayedKey& key = keys[asked.key];
  if (asked.ask == Ask::resident) {
    key.resident = asked.ticket;
  } else if (asked.delayed) {
    key.delayed.insert(asked.ticket);
  } else {
    key.tasks.push_back(asked.ticket);
  }
}

void LogReplay::leave_key(const Asked& asked) {
  ReplayedKey& key = keys[asked.key];
  if (key.resident == asked.ticket) {
    key.resident = 0;
    key.stopping = false;
  }
  key.tasks.remove(asked.ticket);
  key.delayed.erase(asked.ticket);
}

void LogReplay::on(const LogGranted& granted) {
  ReplayedKey& key = keys[granted.key];
  const std::string what = granted.key + " epoch " + std::to_string(granted.epoch);
  const auto found = jobs.find(granted.ticket);
  if (found == jobs.end() || found->second.asked->key != granted.key || !found->second.live) {
    return broken('f', "granted for no live job: " + what);
  }
  ReplayedJob& job = found->second;
  if (key.epoch != 0) {
    broken('e', "granted while the tenure of epoch " + std::to_string(key.epoch) + " goes on: " + what);
  }
  const bool ordered = job.asked->ask == Ask::task && !job.asked->delayed;
  if (ordered && key.tasks.front() != granted.ticket) broken('g', "granted before a task accepted earlier: " + what);
  if (granted.first == job.granted && !job.vague)
    broken('i', "granted for the first time, or not, against the log: " + what);
  job.granted = true;
  key.epoch = granted.epoch;
  key.holder_ticket = granted.ticket;
  if (!job.vague) given[{granted.key, granted.epoch}] = job.value;
}

void LogReplay::on(const LogEnded& ended) {
  ReplayedKey& key = keys[ended.key];
  if (key.epoch != ended.epoch) {
    return broken('e', "a tenure ended that did not go on: " + ended.key + " epoch " + std::to_string(ended.epoch));
  }
  if (key.timed_out == ended.epoch && ended.how == HowEnded::handoff) {
    broken('T', "a start that timed out is just tried again: " + ended.key + " epoch " + std::to_string(ended.epoch));
  }
  if (ended.how == HowEnded::failed || ended.how == HowEnded::done) begin(key.holder_ticket, false);
  key.epoch = 0;
  key.holder_ticket = 0;
}

// A job that was never accepted has been judged where it was granted.
void LogReplay::begin(std::uint64_t ticket, bool started) {
  const auto found = jobs.find(ticket);
  if (found == jobs.end()) return;
  found->second.begun = true;
  found->second.started = found->second.started || started;
}

void LogReplay::on(const LogTimedOut& timed_out) { keys[timed_out.key].timed_out = timed_out.epoch; }

// A resident job keeps its key when it is buried, a task does not.
void LogReplay::on(const LogBuried& buried) {
  const auto found = jobs.find(buried.ticket);
  if (found == jobs.end()) return broken('f', "buried but never accepted: ticket " + std::to_string(buried.ticket));
  found->second.buried = true;
  found->second.begun = true;
  found->second.live = false;
  if (found->second.asked->ask == Ask::resident && !ending_) enter_key(*found->second.asked);
}

// Residents are on their way out, and what is buried is forgotten.
void LogReplay::on(const LogShutdown& /*began*/) {
  ending_ = true;
  for (auto& [ticket, job] : jobs) {
    if (std::exchange(job.buried, false)) leave_key(*job.asked);
  }
  for (auto& [name, key] : keys) key.stopping = key.resident != 0;
}

void LogReplay::remember(const Event& restoring) {
  // Another member goes on with it, and knows more or less: what only one of them knew may be there or not.
  if (old_ != nullptr) {
    earlier_ghost_ = earlier_ghost_ || of_ghost_;
    std::set<std::uint64_t> known;
    for (const auto& [ticket, job] : old_->jobs) {
      const bool by_all = !took_over_ || known_before_.contains(ticket);
      if (by_all && (job.live || job.buried)) known.insert(ticket);
    }
    known_before_ = std::move(known);
    took_over_ = true;
  }
  of_ghost_ = std::get<LogRestoring>(restoring.what).ghost;
  old_ = std::make_unique<LogReplay>(asked_, expected_, ignored_, remembered_);
  for (const Event* event : remembered_->at(&restoring)) old_->apply(*event);
}

void LogReplay::on(const LogRestored& restored) {
  const auto asked = asked_.find(restored.ticket);
  const std::string what = restored.key + " (ticket " + std::to_string(restored.ticket) + ")";
  if (asked == asked_.end() || old_ == nullptr) return broken('s', "restored, and nobody asked for it: " + what);
  if (jobs.contains(restored.ticket)) return broken('s', "restored though the log has it, or had it: " + what);
  const auto found = old_->jobs.find(restored.ticket);
  const bool known = found != old_->jobs.end() && (found->second.live || found->second.buried);
  if (!known && !of_ghost_) return broken('s', "restored though it was over: " + what);
  if (known && !of_ghost_ && found->second.buried != restored.dead) {
    return broken('s', "restored dead or alive, against what it was: " + what);
  }
  ReplayedKey& key = keys[restored.key];
  const bool resident = asked->second.ask == Ask::resident;
  ReplayedJob& job = jobs[restored.ticket];
  if (found != old_->jobs.end()) job = found->second;
  job.asked = &asked->second;
  job.buried = restored.dead;
  job.live = !restored.dead;
  if (of_ghost_) job.vague = true;
  if (resident && (key.resident != 0 || key.any())) broken('h', "restored beside another live job: " + what);
  if (job.live || resident) enter_key(asked->second);
  job.restored = true;
}

// What shares its key with tasks that are being stopped goes with them.
bool LogReplay::is_left_out(const ReplayedJob& job) const {
  const auto key = old_->keys.find(job.asked->key);
  if (key != old_->keys.end() && key->second.stopping) return true;
  const bool stopped = std::any_of(old_->stops.begin(), old_->stops.end(),
                                   [&](const auto& stop) { return asked_.at(stop.first).key == job.asked->key; });
  const auto now = keys.find(job.asked->key);
  return stopped || (now != keys.end() && now->second.taken);
}

void LogReplay::on(const LogRestoreEnded&) {
  if (old_ == nullptr) return;
  for (const auto& [ticket, job] : old_->jobs) {
    if (job.asked == nullptr || (!job.live && !job.buried) || jobs.contains(ticket) || is_left_out(job)) continue;
    if (of_ghost_ || earlier_ghost_ || (took_over_ && !known_before_.contains(ticket))) continue;
    broken('s', "was known, and not restored: " + name(*job.asked));
  }
  old_.reset();
  known_before_.clear();
  took_over_ = earlier_ghost_ = false;
}

void LogReplay::on(const LogBlob& blob) {
  const auto [first, fresh] = batches_.try_emplace({blob.sender, blob.sequence}, blob.position);
  if (!fresh && first->second != blob.position) return;
  const ReplayedKey& key = keys[blob.key];
  if (key.epoch == blob.epoch && key.epoch != 0) jobs[key.holder_ticket].value = blob.value;
}

}  // namespace tenure::sim
