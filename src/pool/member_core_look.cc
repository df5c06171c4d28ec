// Listings are not older than the call: before a look at the state, asks the engine where the log ends, and waits until
// everything up to there has been applied.

#include "pool/member_core.h"

namespace tenure {
namespace {

// The engine is away, or the log was replaced.
constexpr std::chrono::milliseconds kAskAgain(20);

}  // namespace

Status MemberCore::catch_up(Deadline deadline) {
  // A reader marks the log's end with a record. So a log that accepts nothing keeps it waiting.
  const auto late = [this]() -> Failure {
    const std::lock_guard lock(mutex_);
    if (delay_) return fail(delay_->code, "look", delay_->context);
    return fail(Errc::timed_out, "look", "the log has not been read to its end yet");
  };
  for (;;) {
    const bool ready = wait(deadline, [this] { return caught_up_ || failure_; });
    if (Status running = still_running("look"); !running) return running;
    if (!ready) return late();
    const auto sought = std::make_shared<EndSought>();
    log_->find_end(
        [this, sought](const Result<Position>& end) { loop_.post([this, sought, end] { end_found(sought, end); }); });
    const bool answered = wait(deadline, [&] { return sought->answer != EndSought::Answer::none || failure_; });
    if (Status running = still_running("look"); !running) return running;
    if (!answered) break;
    {
      const std::lock_guard lock(mutex_);
      if (sought->answer == EndSought::Answer::reached) return {};
    }
    wait(std::min<Deadline>(deadline, after(kAskAgain)), [this] { return failure_.has_value(); });
    if (Deadline::clock::now() >= deadline) break;
  }
  return late();
}

void MemberCore::end_found(const EndSoughtPtr& sought, const Result<Position>& end) {
  if (!end || !node_) return answer_end(sought, EndSought::Answer::ask_again);
  if (node_->machine().position() >= *end) return answer_end(sought, EndSought::Answer::reached);
  sought->end = *end;
  // A caller whose deadline has passed does not wait any more.
  std::erase_if(ends_sought_, [](const EndSoughtPtr& other) { return other.use_count() == 1; });
  ends_sought_.push_back(sought);
}

void MemberCore::tell_ends(Position reached) {
  std::erase_if(ends_sought_, [&](const EndSoughtPtr& sought) {
    if (reached < sought->end) return false;
    answer_end(sought, EndSought::Answer::reached);
    return true;
  });
}

void MemberCore::answer_end(const EndSoughtPtr& sought, EndSought::Answer answer) {
  hear([&] { sought->answer = answer; });
}

}  // namespace tenure
