#pragma once

// The handler of one source's residents in this process: passes them to the pump, and connects the pump with the pool.
//
//   ThreadHost ─ start, stop ─▶ SourceRunner ─▶ Pump ─▶ Feed, Coordinator
//   Shards ◀─ emits, dispatches ────┘

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <tenure/handler.hpp>

#include "base/clock.h"
#include "base/entropy.h"
#include "feeder/outside.h"
#include "feeder/pump.h"
#include "pool/shards.h"

namespace tenure {

// Thread-safe.
class SourceRunner final : public Handler, public feeder::Outside {
 public:
  using WriteLog = std::function<void(LogLevel, const std::string&)>;

  // The shards and the room must live until end() has returned.
  SourceRunner(feeder::Spec spec, std::unique_ptr<source::Source> source, Shards& shards, feeder::QueueRoom& room,
               WriteLog log);
  ~SourceRunner() override;

  const feeder::Spec& spec() const { return spec_; }
  // Nothing of it runs any more, and residents are not started any more.
  void end();

  Outcome start(Job& job) override;
  std::optional<std::string> stop(Job& job) override;

 private:
  std::shared_ptr<Emitter> emitter(const Hold& hold) override { return shards_.emitter(hold); }
  feeder::QueueRoom& room() override { return room_; }
  void log(LogLevel level, const std::string& text) override { log_(level, text); }
  void dispatch(const Bytes& partition, std::function<void(Errc)> done) override;
  void forget(const Bytes& sequence, std::function<void(bool)> done) override;
  std::int64_t wall_ms() override { return BootClock().wall_ms(); }
  std::uint64_t random() override;

  std::shared_ptr<feeder::Pump> pump() {
    const std::lock_guard lock(mutex_);
    return pump_;
  }

  const feeder::Spec spec_;
  Shards& shards_;
  feeder::QueueRoom& room_;
  const WriteLog log_;
  std::mutex mutex_;
  std::shared_ptr<feeder::Pump> pump_;  // guarded by mutex_; null after the end
};

// The request that dispatches a source's coordinator, or the feeder of a partition.
Request source_request(const feeder::Spec& spec, BytesView partition);

// Stops a source in the whole pool, and forgets how far it was read. Errc::no_such_key if the pool does not have it.
Status remove_source(Shards& shards, const std::string& name, Deadline deadline);

}  // namespace tenure
