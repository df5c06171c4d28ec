// Residents that are a single function, each with its own thread from start to stop.

#include <exception>
#include <map>
#include <mutex>
#include <tenure/handler.hpp>
#include <thread>

#include "pool/crash_mark.h"
#include "pool/ends_by_itself.h"
#include "pool/stopped_with_error.h"

namespace tenure {
namespace {

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "the handler threw something that is no std::exception";
  }
}

class RunHandler final : public Handler, public EndsByItself, public std::enable_shared_from_this<RunHandler> {
 public:
  explicit RunHandler(RunFunction run) : run_(std::move(run)) {}

  std::vector<JobMatch> takes() const override { return {{.kind = JobKind::resident}}; }

  Outcome start(Job& job) override {
    const auto life = std::make_shared<Life>();
    std::lock_guard lock(mutex_);  // the thread may end before it is stored here
    // It keeps the handler alive, which it may outlive by a few instructions.
    life->thread = std::thread([self = shared_from_this(), life, job]() mutable { self->live(*life, job); });
    lives_[job.epoch()] = life;
    return {};
  }

  std::optional<std::string> stop(Job& job) override {
    std::shared_ptr<Life> life = take(job.epoch());
    if (!life) return std::nullopt;
    life->thread.join();
    if (life->error) throw StoppedWithError{text_of(life->error)};
    return std::move(life->result);
  }

 private:
  struct Life {
    std::thread thread;
    std::string result;  // these two: written by the thread, read after it was joined
    std::exception_ptr error;
  };

  void live(Life& life, Job& job) {
    const CrashMark mark(job);
    try {
      life.result = run_(job);
    } catch (...) {
      life.error = std::current_exception();
    }
    // The one that takes the life ends it: stop(), which joins, or this thread, if the function has returned by itself.
    const std::shared_ptr<Life> own = job.stop_requested() ? nullptr : take(job.epoch());
    if (!own) return;
    own->thread.detach();
    if (!life.error) return job.finish(std::move(life.result));
    job.fail(text_of(life.error));
  }

  std::shared_ptr<Life> take(std::uint64_t epoch) {
    std::lock_guard lock(mutex_);
    const auto found = lives_.find(epoch);
    if (found == lives_.end()) return nullptr;
    std::shared_ptr<Life> life = std::move(found->second);
    lives_.erase(found);
    return life;
  }

  const RunFunction run_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Life>> lives_;  // guarded by mutex_; by epoch
};

}  // namespace

std::shared_ptr<Handler> run_handler(RunFunction run) { return std::make_shared<RunHandler>(std::move(run)); }

}  // namespace tenure
