#pragma once

// What feeders need of the pool and of their thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tenure/options.hpp>

#include "base/bytes.h"
#include "base/clock.h"
#include "feeder/queue_room.h"
#include "node/keys/emitter.h"

namespace tenure::feeder {

// Thread-safe. Callbacks come on any thread, also within the call.
class Outside {
 public:
  virtual ~Outside() = default;

  virtual std::shared_ptr<Emitter> emitter(const Hold& hold) = 0;
  virtual QueueRoom& room() = 0;
  virtual void log(LogLevel level, const std::string& text) = 0;
  // Dispatches the feeder of a partition. The code is that of the refusal, if it was not accepted.
  virtual void dispatch(const Bytes& partition, std::function<void(Errc)> done) = 0;
  // Forgets a sequence in the whole pool.
  virtual void forget(const Bytes& sequence, std::function<void(bool forgotten)> done) = 0;
  virtual std::int64_t wall_ms() = 0;
  virtual std::uint64_t random() = 0;
};

// Runs something on the feeder's thread, from any thread. Nothing happens once the feeder is gone.
using Post = std::function<void(std::function<void()>)>;

// One thing that a pump does: a partition's feeder, or the coordinator. Only the pump's thread calls it.
class Duty {
 public:
  virtual ~Duty() = default;
  // Does what can be done now, without blocking for long. True if it did something.
  virtual bool step(Instant now) = 0;
  // When it has to be stepped at the latest.
  virtual Instant due() const = 0;
  // It would read events if there were any.
  virtual bool hungry() const { return false; }
  // Asks the source how far it is. This may take as long as the server takes.
  virtual void look_at_end(Instant /*now*/) {}
  // The end. Returns the checkpoint, if there is one.
  virtual std::optional<Bytes> stop() = 0;
};

}  // namespace tenure::feeder
