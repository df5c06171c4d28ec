#pragma once

// The interfaces through which feeders use the pool and their thread.

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

// Thread-safe. Callbacks run on any thread, also within the call.
class Outside {
 public:
  virtual ~Outside() = default;

  virtual std::shared_ptr<Emitter> emitter(const Hold& hold) = 0;
  virtual QueueRoom& room() = 0;
  virtual void log(LogLevel level, const std::string& text) = 0;
  // Dispatches the feeder of a partition. The callback gets the code of the refusal, if there is one.
  virtual void dispatch(const Bytes& partition, std::function<void(Errc)> done) = 0;
  // Forgets a sequence in the whole pool.
  virtual void forget(const Bytes& sequence, std::function<void(bool forgotten)> done) = 0;
  virtual std::int64_t wall_ms() = 0;
  virtual std::uint64_t random() = 0;
};

// Posts work from any thread to the feeder's thread. Does nothing if the feeder is gone.
using Post = std::function<void(std::function<void()>)>;

// A partition's feeder, or the coordinator. Only the pump's thread calls it.
class Duty {
 public:
  virtual ~Duty() = default;
  // Does all work that is possible now, without blocking for long. True if there was any.
  virtual bool step(Instant now) = 0;
  // The latest moment for the next step.
  virtual Instant due() const = 0;
  // True if it waits for events of the source.
  virtual bool hungry() const { return false; }
  // Asks the source for its end. Blocks until the server has answered, up to the timeout of the URL.
  virtual void look_at_end(Instant /*now*/) {}
  // Ends the tenure. Returns the checkpoint, if there is one.
  virtual std::optional<Bytes> stop() = 0;
};

}  // namespace tenure::feeder
