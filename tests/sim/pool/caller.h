#pragma once

// One life of a process that sends requests to the pool, with any implementation.

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "node/request.h"
#include "sim/checker/history.h"
#include "sim/pool/recorder.h"
#include "sim/world/process.h"
#include "tenure/error.hpp"

namespace tenure {
struct Settlement;
}

namespace tenure::sim {

class Onlooker;

struct Request {
  Ask ask;
  Bytes key;
  Bytes text;  // the payload, or the message
  Nanos delay{};
  std::uint64_t grave = 0;  // of the buried job, for retry_dead and drop_dead
  Bytes type = {};

  // As production code has it.
  tenure::Request asked() const;
};

class Caller {
 public:
  explicit Caller(Process& process) : process_(process) {}
  virtual ~Caller() = default;

  Process& process() { return process_; }
  virtual void start() = 0;
  // Asks on the process' own loop; `asked` is called there with the ticket, unless the request was refused at once.
  virtual void ask(const Request& request, std::function<void(std::uint64_t)> asked) = 0;
  // Ends the pool, and waits for its end. False: it cannot.
  virtual bool shut_down() { return false; }
  // Its worker serves the key from here on, or no more.
  virtual void serve(const Bytes& /*worker*/, const Bytes& /*key*/, bool /*serves*/) {}
  // The worker, of any process, is to take no more keys.
  virtual void drain(const Bytes& /*worker*/) {}
  // Ends in good order, if there is an order to it.
  virtual void leave() {}
  // The last one that it has had, if it works.
  virtual std::uint64_t session() const { return 0; }
  // The clock's rate has changed, and with it the true time of whatever was told in its terms.
  virtual void clock_changed() {}

  std::function<void()> on_closed;
  std::function<void()> on_broken;
  // The pool has switched to a machine version that its program does not apply.
  std::function<void()> on_too_old;
  std::function<void()> on_misfit;  // one of its workers is refused for good

 protected:
  void write_settled(Recorder& recorder, const Settlement& settlement) const;
  // `error` is the error of a program that supports machine versions up to `speaks`, when the pool needs a newer one.
  static bool is_too_old(const Error& error, std::uint32_t speaks, const Onlooker& onlooker);

 private:
  Process& process_;
};

}  // namespace tenure::sim
