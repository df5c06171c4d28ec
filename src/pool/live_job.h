#pragma once

// A job that a worker of this process holds. The handler's Job refers to it.

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <tenure/handler.hpp>

#include "guard/crash_note.h"
#include "node/keys/emitter.h"
#include "node/keys/host.h"

namespace tenure {

class ThreadHost;

// Handles of jobs may outlive the host. Through this they find the host, or learn that it is gone. Each job counts as
// an owner, and the loop counts them. What the executor's threads read for each job is in another cache line.
struct HostDoor {
  std::mutex mutex;
  ThreadHost* host;         // guarded by mutex; null once it is gone
  EmitterMaker emitters{};  // guarded by mutex; may be null
  // Where threads that run handlers note a crash. Null: nowhere.
  alignas(64) std::atomic<guard::CrashNote*> note = nullptr;
};

// Thread-safe, except where a member says otherwise.
class LiveJob {
 public:
  LiveJob(HeldJob&& job, HoldReports& to, std::shared_ptr<HostDoor> host)
      : held(std::move(job)), reports(to), door(std::move(host)) {}
  ~LiveJob() { delete rare_.load(std::memory_order_relaxed); }
  LiveJob(const LiveJob&) = delete;
  LiveJob& operator=(const LiveJob&) = delete;

  const HeldJob held;
  HoldReports& reports;  // of its shard's node; valid while the host exists
  const std::shared_ptr<HostDoor> door;

  // Set before the job is queued. Then only for the thread that runs the job. Null once it has ended.
  std::shared_ptr<Handler> handler;

  std::stop_token stop_token() {
    Rare& rare = make_rare();
    const std::lock_guard lock(rare.mutex);
    if (!rare.source) rare.source.emplace();
    const std::stop_token token = rare.source->get_token();
    if (stop_.load() != 0) rare.source->request_stop();  // nobody can be listening yet
    return token;
  }
  bool stop_requested() const { return stop_.load(std::memory_order_acquire) != 0; }
  std::optional<StopReason> stop_reason() const {
    const int stop = stop_.load(std::memory_order_acquire);
    if (stop == 0 || stop == kFenced) return std::nullopt;
    return static_cast<StopReason>(stop - 1);
  }
  // Without a reason: the lease is lost. The first reason stays. Trip the token afterwards.
  void request_stop(std::optional<StopReason> reason) {
    int none = 0;
    stop_.compare_exchange_strong(none, reason ? static_cast<int>(*reason) + 1 : kFenced);
  }
  // Runs the users' callbacks of the token. Not on a loop, and with no lock held.
  void trip() {
    Rare* const rare = rare_.load();
    if (rare == nullptr) return;
    std::optional<std::stop_source> source;
    {
      const std::lock_guard lock(rare->mutex);
      source = rare->source;
    }
    if (source) source->request_stop();
  }
  bool has_token() {
    Rare* const rare = rare_.load();
    if (rare == nullptr) return false;
    const std::lock_guard lock(rare->mutex);
    return rare->source.has_value();
  }

  // Made when the handler first emits.
  std::shared_ptr<Emitter> emitter(const EmitterMaker& make) {
    Rare& rare = make_rare();
    const std::lock_guard lock(rare.mutex);
    if (!rare.emitter) rare.emitter = make(held.hold);
    return rare.emitter;
  }

  struct Message {
    std::uint64_t number;
    Bytes text;
  };
  enum class Phase : std::uint8_t { waiting, begun, running, ended };

  // All below: guarded by the host's mutex.
  Phase phase = Phase::waiting;
  bool queued = false;  // in the host's queue, or being run
  bool stop_due = false;
  bool stop_failed = false;  // stop() threw: whether the job still runs is not known
  bool started_told = false;
  std::list<Message> messages;    // most jobs have none, and an empty list costs nothing
  std::optional<Outcome> ending;  // set when it has ended by itself

 private:
  static constexpr int kFenced = 255;

  // What few jobs need: many are allocated and freed each second, by different threads.
  struct Rare {
    std::mutex mutex;
    std::shared_ptr<Emitter> emitter;        // guarded by mutex
    std::optional<std::stop_source> source;  // guarded by mutex; created when a token is requested
  };

  Rare& make_rare() {
    Rare* present = rare_.load();
    if (present != nullptr) return *present;
    auto fresh = std::make_unique<Rare>();
    return rare_.compare_exchange_strong(present, fresh.get()) ? *fresh.release() : *present;
  }

  // Sequentially consistent, both: who asks for a token either sees the stop, or is seen by who requests it.
  std::atomic<int> stop_{0};
  std::atomic<Rare*> rare_{nullptr};
};

using LiveJobPtr = std::shared_ptr<LiveJob>;

}  // namespace tenure
