// The executor's threads: the only place that calls users' handlers and catches their exceptions.

#include <pthread.h>

#include <exception>

#include "pool/crash_mark.h"
#include "pool/ends_by_itself.h"
#include "pool/stopped_with_error.h"
#include "pool/thread_host.h"

namespace tenure {

namespace {

// Turns exceptions of a handler into an outcome.
template <class Call>
Outcome guarded(Call call) {
  try {
    return call();
  } catch (const Requeue& requeue) {
    return requeue;
  } catch (const NoRetry& no_retry) {
    return no_retry;
  } catch (const std::exception& exception) {
    return Outcome::failed(exception.what());
  } catch (...) {
    return Outcome::failed("the handler threw something that is not a std::exception");
  }
}

}  // namespace

// With the lock held.
ThreadHost::Step ThreadHost::next_step(const LiveJob& job) {
  switch (job.phase) {
    case LiveJob::Phase::waiting: return Step::begin;
    case LiveJob::Phase::begun: return Step::none;
    case LiveJob::Phase::running:
      if (job.stop_due) return job.stop_failed ? Step::none : Step::stop;
      return job.messages.empty() ? Step::none : Step::message;
    case LiveJob::Phase::ended: return Step::none;
  }
  return Step::none;
}

void ThreadHost::serve(std::size_t slot) {
  executing_ = this;
  pthread_setname_np(pthread_self(), "tenure-work");
  Pace::Stretch stretch;
  std::unique_lock lock(mutex_);
  answer_call();
  for (;;) {
    // Even at the end, no job may be left waiting for its turn.
    while (stops_.empty() && (queue_.empty() ? !stopping_ : !has_room() || alone_)) {
      pace_.note_pause(stretch, clock_);
      wait_for_work(lock);
    }
    if (!stops_.empty()) {
      LiveJobPtr job = std::move(stops_.front());
      stops_.pop_front();
      if (!stops_.empty()) wake_for_stop();
      wake();
      work_on(std::move(job), slot, lock);
    } else if (!queue_.empty()) {
      alone_ = pace_.brisk() && queue_.size() > 1;
      pace_.note_begin();
      begin_next(slot, lock);
      alone_ = false;
      pace_.note_end(stretch, clock_);
    } else {
      return;
    }
  }
}

// With the lock held, which is released meanwhile. While a thread works alone, one of the waiting threads looks out.
void ThreadHost::wait_for_work(std::unique_lock<std::mutex>& lock) {
  ++idle_;
  if (queue_.empty()) alone_ = false;
  if (alone_ && lookout_ != Lookout::there) {
    look_out(lock);
  } else {
    wake_.wait(lock);
    answer_call();
  }
  --idle_;
}

// With the lock held. This thread may have been called to look out, and may find other work first.
void ThreadHost::answer_call() {
  if (lookout_ == Lookout::called) lookout_ = Lookout::none;
}

// Returns when woken, when other work appears, or when the lone worker stops making progress.
void ThreadHost::look_out(std::unique_lock<std::mutex>& lock) {
  lookout_ = Lookout::there;
  bool woken = false;
  std::uint64_t seen = 0;
  do {
    seen = pace_.begun();
    woken = wake_.wait_for(lock, Pace::kLookEvery) == std::cv_status::no_timeout;
    // A notification that comes as the time runs out is not reported.
    woken = woken || !stops_.empty() || (queue_.empty() ? stopping_ : !alone_);
  } while (!woken && pace_.begun() != seen);
  lookout_ = Lookout::none;
  if (woken || !alone_) return;
  alone_ = false;
  pace_.note_stuck();
}

// With the lock held, which is released meanwhile. Takes the first job of the queue.
void ThreadHost::begin_next(std::size_t slot, std::unique_lock<std::mutex>& lock) {
  LiveJobPtr job = std::move(queue_.front());
  queue_.pop_front();
  ++working_;
  wake();
  work_on(std::move(job), slot, lock);
  --working_;
  if (stopping_) wake_.notify_all();  // threads that waited for room may leave now
}

// If an executor was faster there is nothing to do.
void ThreadHost::serve_as_guest() {
  executing_ = this;
  {
    std::unique_lock lock(mutex_);
    if (!queue_.empty() && has_room() && !abandoned_) {
      if (guest_places_.empty()) {
        guest_places_.push_back(running_.size());
        running_.emplace_back();
      }
      const std::size_t place = guest_places_.back();
      guest_places_.pop_back();
      begin_next(place, lock);
      guest_places_.push_back(place);
    }
    --guests_;
    wake();  // for jobs that came meanwhile
    if (stopping_) quiet_.notify_all();
  }
  executing_ = nullptr;
}

void ThreadHost::help(std::size_t slot) {
  executing_ = this;
  pthread_setname_np(pthread_self(), "tenure-help");
  std::unique_lock lock(mutex_);
  for (;;) {
    while (stops_.empty() && !stopping_) {
      ++helpers_idle_;
      helper_wake_.wait(lock);
      --helpers_idle_;
    }
    if (stops_.empty()) return;
    LiveJobPtr job = std::move(stops_.front());
    stops_.pop_front();
    if (!stops_.empty()) wake_for_stop();
    work_on(std::move(job), slot, lock);
  }
}

void ThreadHost::work_on(LiveJobPtr job, std::size_t slot, std::unique_lock<std::mutex>& lock) {
  const Step step = next_step(*job);
  LiveJob::Message message{};
  if (step == Step::begin) job->phase = LiveJob::Phase::begun;
  if (step == Step::message) {
    message = std::move(job->messages.front());
    job->messages.pop_front();
  }
  if (step != Step::none) {
    running_[slot] = job;
    lock.unlock();
    perform(job, step, message);
    lock.lock();
    running_[slot] = nullptr;
  }
  job->queued = false;
  enqueue(job);
  if (stopping_) quiet_.notify_all();
  forget(std::move(job), lock);
}

// The handler, and data that it put into its job, may be freed here. So not with the lock held.
void ThreadHost::forget(LiveJobPtr job, std::unique_lock<std::mutex>& lock) {
  if (!queue_.empty() && job->phase == LiveJob::Phase::ended) {
    spent_.push_back(std::move(job));
    return;
  }
  std::vector<LiveJobPtr> spent = std::exchange(spent_, {});
  const bool ended = job->phase == LiveJob::Phase::ended;
  lock.unlock();
  // A handler may have kept its Job, so that each would keep the other.
  if (ended) job->handler.reset();
  job.reset();
  for (const LiveJobPtr& each : spent) each->handler.reset();
  spent.clear();
  lock.lock();
}

void ThreadHost::perform(const LiveJobPtr& job, Step step, const LiveJob::Message& message) {
  const CrashMark mark(door_->note.load(std::memory_order_relaxed), job->held.session, job->held.hold.epoch);
  switch (step) {
    case Step::begin: return begin(job);
    case Step::message: return run_message(job, message);
    case Step::stop: return run_stop(job);
    case Step::none: return;
  }
}

// With the lock held. The job's last report is about to be made. False if it was already made.
bool ThreadHost::conclude(LiveJob& job) {
  if (job.phase == LiveJob::Phase::ended) return false;
  job.phase = LiveJob::Phase::ended;
  live_.erase(job.held.hold.epoch);
  return true;
}

void ThreadHost::begin(const LiveJobPtr& job) {
  using Next = HoldReports::Next;
  Job handle(job);
  if (job->held.kind == JobKind::task) {
    Outcome outcome = guarded([&] { return job->handler->run_task(handle); });
    {
      std::lock_guard lock(mutex_);
      conclude(*job);
    }
    return tell_end(*job, std::move(outcome), Next::retry);
  }
  Outcome outcome = guarded([&] { return job->handler->start(handle); });
  if (outcome.kind() != Outcome::Kind::done) {
    {
      std::lock_guard lock(mutex_);
      conclude(*job);
    }
    // A start that was interrupted because the job moves elsewhere has not failed.
    const std::optional<StopReason> asked = job->stop_reason();
    if (asked && *asked != StopReason::stop) return job->reports.released(job->held.hold);
    return tell_end(*job, std::move(outcome), Next::drop);
  }
  const bool may_end_at_once = dynamic_cast<const EndsByItself*>(job->handler.get()) != nullptr;
  may_end_at_once ? job->reports.begun(job->held.hold) : job->reports.started(job->held.hold);
  {
    std::lock_guard lock(mutex_);
    job->phase = LiveJob::Phase::running;
    if (!job->ending) return;
    outcome = *job->ending;
    conclude(*job);
  }
  tell_end(*job, std::move(outcome), Next::retry);
}

// `on_failure`: the consequence of an ordinary failure. A start that is not tried again frees its key.
void ThreadHost::tell_end(const LiveJob& job, Outcome outcome, HoldReports::Next on_failure) {
  using Next = HoldReports::Next;
  const Hold& hold = job.held.hold;
  const Nanos delay = outcome.delay();
  switch (outcome.kind()) {
    case Outcome::Kind::done: return job.reports.finished(hold, std::move(outcome).take_text());
    case Outcome::Kind::requeue: return job.reports.failed(hold, Next::requeue, std::move(outcome).take_text(), delay);
    case Outcome::Kind::no_retry:
      return job.reports.failed(hold, on_failure == Next::drop ? Next::refuse : Next::bury,
                                std::move(outcome).take_text(), {});
    case Outcome::Kind::failed: return job.reports.failed(hold, on_failure, std::move(outcome).take_text(), {});
  }
}

void ThreadHost::run_message(const LiveJobPtr& job, const LiveJob::Message& message) {
  Job handle(job);
  const Outcome outcome = guarded([&] {
    job->handler->notify(handle, message.text);
    return Outcome();
  });
  if (outcome.kind() != Outcome::Kind::done) {
    log(LogLevel::warning, "notify of '" + job->held.hold.key + "' failed: " + outcome.text());
    return job->reports.message_failed(job->held.hold, message.number, outcome.text());
  }
  job->reports.handled(job->held.hold, message.number);
}

void ThreadHost::run_stop(const LiveJobPtr& job) {
  job->trip();
  Job handle(job);
  std::optional<std::string> blob;
  const Outcome outcome = guarded([&] {
    try {
      blob = job->handler->stop(handle);
    } catch (const StoppedWithError& stopped) {
      log(LogLevel::warning, "'" + job->held.hold.key + "' has stopped with an error: " + stopped.text);
    }
    return Outcome();
  });
  if (outcome.kind() != Outcome::Kind::done && !note_failed_stop(*job, outcome.text())) return;
  {
    std::lock_guard lock(mutex_);
    if (!conclude(*job)) return;
  }
  if (blob) return job->reports.released(job->held.hold, *std::move(blob));
  job->reports.released(job->held.hold);
}

// Part of the job may still run, so its key is not given back: not until the job itself says that it has ended, or its
// process ends. True if it has said so already.
bool ThreadHost::note_failed_stop(LiveJob& job, const std::string& error) {
  log(LogLevel::error, "stop of '" + job.held.hold.key + "' failed: " + error +
                           "; the job counts as running, and its key stays with this worker");
  std::lock_guard lock(mutex_);
  job.stop_failed = true;
  return job.ending.has_value();
}

void ThreadHost::end_by_itself(LiveJob& job, Outcome outcome) {
  bool stopped = false;
  {
    std::lock_guard lock(mutex_);
    if (job.held.kind != JobKind::resident || job.ending) return;
    if (job.phase == LiveJob::Phase::begun) {
      job.ending = std::move(outcome);  // reported once start() has returned
      return;
    }
    if (job.phase != LiveJob::Phase::running) return;
    // During a stop, the stop is reported instead.
    if (job.stop_due && !job.stop_failed) {
      job.ending = std::move(outcome);
      return;
    }
    if (!conclude(job)) return;
    stopped = job.stop_failed;
  }
  if (stopped) return job.reports.released(job.held.hold);
  tell_end(job, std::move(outcome), HoldReports::Next::retry);
}

}  // namespace tenure
