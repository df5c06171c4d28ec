#pragma once

// Hands over the tasks of a source for one tenure of this process. Hosts get one for a resident that emits.

#include <cstdint>
#include <functional>
#include <memory>

#include "node/keys/host.h"
#include "node/sources/emission.h"

namespace tenure {

// Any thread. `done` is called once, with the position up to which everything was taken in, on a thread of the library
// that it must not block, or within the call.
class Emitter {
 public:
  using Done = std::function<void(Result<std::uint64_t>)>;

  virtual ~Emitter() = default;
  // Errc::pool_full, busy: nothing of it, or only a part, was taken in; emit the same again. Errc::lost_history: a log
  // has lost what it had taken in; ask, and go on from there. Errc::refused: the tenure is over.
  // The emission is not copied, so that the caller can keep it for another try.
  virtual void emit(std::shared_ptr<const Emission> emission, Nanos timeout, Done done) = 0;
  // How far the source is. Needed before its first emit. An empty name: the key of the tenure. The report is in the log
  // when it is answered.
  virtual void ask(Bytes source, SourceReport report, Nanos timeout, Done done) = 0;
  // Sends a report that nobody waits for.
  virtual void tell(Bytes source, SourceReport report) = 0;
};

using EmitterMaker = std::function<std::shared_ptr<Emitter>(const Hold& hold)>;

}  // namespace tenure
