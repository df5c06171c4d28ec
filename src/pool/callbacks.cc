#include "pool/callbacks.h"

#include <pthread.h>

#include <utility>

#include "base/assert.h"
#include "base/fetch_ahead.h"
#include "base/output.h"
#include "node/tickets.h"

namespace tenure {
namespace {

constexpr std::size_t kFirstCalls = 64;
constexpr std::size_t kAhead = 8;

}  // namespace

Callbacks::Callbacks() : thread_([this] { serve(); }) { pthread_setname_np(thread_.native_handle(), "tenure-calls"); }

Callbacks::~Callbacks() { close(); }

void Callbacks::post(std::function<void()> call) {
  Call posted{std::make_shared<std::function<void()>>([this, call = std::move(call)] { guard(call); }),
              [](void* subject) { (*static_cast<std::function<void()>*>(subject))(); }};
  if (!take_asleep(posted)) return posted.run(posted.subject.get());
  wake();
}

bool Callbacks::take_asleep(Call& call) {
  std::lock_guard lock(mutex_);
  if (closed_) return false;
  queue_.push_back(std::move(call));
  return true;
}

void Callbacks::wake() {
  {
    std::lock_guard lock(mutex_);
    if (queue_.empty() && !closed_) return;
  }
  wake_.notify_one();
}

void Callbacks::close() {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
  }
  wake();
  ASSERT(!on_thread());
  thread_.join();
}

void Callbacks::threw(const std::string& what) const {
  const std::string text = "a callback threw: " + what;
  try {
    if (report_throw_) return report_throw_(text);
  } catch (...) {  // nobody is left to be told but standard error
  }
  warn_at_once("tenure: " + text);
}

void Callbacks::serve() {
  std::vector<Call> calls;
  // A thread that only frees memory gets no cache from jemalloc, and waits for a lock with each piece. So this thread
  // also allocates some, which goes to the posting threads when the two vectors are swapped.
  calls.reserve(kFirstCalls);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return closed_ || !queue_.empty(); });
      if (queue_.empty()) return;
      calls.swap(queue_);
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
      // Most are tickets, which another processor used last.
      if (i + kAhead < calls.size()) fetch_ahead(calls[i + kAhead].subject.get(), kOpenTicketBytes);
      calls[i].run(calls[i].subject.get());
      calls[i].subject.reset();  // release what it captured before the other calls run
    }
    calls.clear();
  }
}

}  // namespace tenure
