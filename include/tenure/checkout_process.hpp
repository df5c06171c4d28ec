#pragma once

// Child processes as the workers of a checkout pool: interpreters, model servers, or any program that is costly to
// start and can speak a simple protocol on its standard input and output.
//
//     auto pool = tenure::open_process_pool({.command = {"python3", "worker.py"}}, {.default_workers = 4});
//     auto worker = pool->checkout();
//     auto answer = (*worker)->call("2 + 3", std::chrono::seconds(1));
//
// The program's standard input and output are one stream socket, on which both sides send frames:
//
//     frame := size:u32 kind:u8 byte*(size-1)        size in network byte order, from 1 to frame_bytes_max + 1
//
//     kind  'M'  a whole request or answer, or the last part of one
//           'P'  a part of a request or answer; more parts follow
//           'E'  from the program, instead of an answer: an error message. The worker stays fit for use
//           'R'  from the program, once, before any other frame: it is ready. Only if says_ready is set
//
// The program answers requests in order and sends nothing else. The end of its input, and SIGTERM, ask it to exit. It
// shares this process's standard error. The pool kills a program that sends an invalid or too long frame.
//
// Neither the program nor its descendants outlive this process, even after kill -9. A small guard process
// (`tenure-guard`, found by TENURE_GUARD, beside this program, or by PATH) ends the whole tree.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tenure/checkout.hpp>
#include <tenure/result.hpp>
#include <vector>

namespace tenure {

// Limits on one child process. Zero turns a limit off. For soft limits on age and idle time use
// CheckoutOptions::max_lifetime and idle_timeout.
struct ProcessLimits {
  // Soft limits: the pool replaces the worker as soon as it is free.
  std::uint64_t calls = 0;
  double calls_jitter = 0.1;       // lowers each worker's limit by a random share, up to this one
  std::uint64_t memory_bytes = 0;  // resident memory of the program and its descendants; checked ten times a second
  // Hard limits: the pool kills the worker at once, and the holder's calls fail.
  std::uint64_t memory_bytes_hard = 0;
  std::chrono::milliseconds call_time{0};  // from a request to its answer
  std::chrono::milliseconds age_hard{0};
};

struct ProcessOptions {
  static constexpr std::size_t kFrameBytesMax = std::size_t{1} << 30;

  std::vector<std::string> command{};      // the program (found by PATH) and its arguments
  std::vector<std::string> environment{};  // NAME=VALUE; added to this process's variables, or replacing them
  std::string folder{};                    // working folder; empty: this process's, as of the first start
  bool says_ready = false;                 // the program counts as started when it sends 'R', not when it runs
  std::chrono::milliseconds start_timeout{10'000};
  std::chrono::milliseconds stop_patience{2'000};       // from SIGTERM to SIGKILL
  std::size_t frame_bytes_max = std::size_t{16} << 20;  // of a frame, and of a whole answer that call() collects
  ProcessLimits limits{};
};

// An answer of a program, or one part of it.
struct ProcessAnswer {
  std::string bytes{};
  bool last = true;  // false: more parts follow
};

namespace detail {
struct ProcessState;
}

// One child process. Not thread-safe: its holder uses it from one thread at a time.
//
// Errc::job_failed carries the program's own error message; the worker stays usable. Errc::invalid means that nothing
// was sent. After any other error except Errc::busy the program is dead or being killed, and the pool replaces the
// worker when the lease ends.
class ProcessWorker {
 public:
  using Timeout = std::chrono::nanoseconds;
  static constexpr Timeout kDefaultTimeout = std::chrono::seconds(30);

  // Starts a program, and waits until it runs or has sent 'R'. Pass an alarm if the worker belongs to a pool.
  static Result<std::unique_ptr<ProcessWorker>> start(ProcessOptions options, std::optional<WorkerAlarm> alarm = {});
  // Asks the program to exit, kills it after stop_patience, and waits until its whole process tree is gone.
  ~ProcessWorker();
  ProcessWorker(const ProcessWorker&) = delete;
  ProcessWorker& operator=(const ProcessWorker&) = delete;

  // Sends one request and returns its answer. If the program does not answer in time, it is killed, since its state is
  // unknown: Errc::timed_out. Errc::worker_died if it exited meanwhile.
  Result<std::string> call(std::string_view request, Timeout timeout = kDefaultTimeout);
  // The same, for an answer in parts. Calls `take` with each part, on this thread. The last part may be empty.
  Status call_streaming(std::string_view request, const std::function<void(std::string_view)>& take,
                        Timeout timeout = kDefaultTimeout);

  // Sends a request without waiting for its answer. Several requests may be outstanding. The bytes may stay in a buffer
  // until receive() or flush(). With `more`, the bytes are a part of a request. Errc::busy: nothing was sent, because
  // the program reads no more until you receive its answers.
  Status send(std::string_view request, bool more = false, Timeout timeout = kDefaultTimeout);
  Status flush(Timeout timeout = kDefaultTimeout);
  // Returns the next answer, or the next part of one. Errc::invalid if no answer is due.
  Result<ProcessAnswer> receive(Timeout timeout = kDefaultTimeout);
  std::uint64_t unanswered() const;
  // For event loops. try_receive() returns an answer that has already arrived, or nothing; it never waits. Once it
  // returns nothing, poll descriptor() for reading.
  Result<std::optional<ProcessAnswer>> try_receive();
  int descriptor() const;

  // True if the program is alive and owes no answer. The pool checks this before it hands a worker out.
  bool fit();
  // Sends SIGKILL to the program and all its descendants.
  void kill(std::string_view reason);
  std::int64_t process_id() const;
  std::uint64_t calls() const;

 private:
  friend struct detail::ProcessState;
  explicit ProcessWorker(std::unique_ptr<detail::ProcessState> state);

  std::unique_ptr<detail::ProcessState> state_;
};

// Returns a factory for CheckoutPool<ProcessWorker>.
std::function<Result<std::unique_ptr<ProcessWorker>>(const WorkerAlarm&)> process_workers(ProcessOptions options);

// Opens a pool of child processes that checks each worker (fit()) before handing it out. Errc::invalid also for invalid
// process options, such as an empty command.
Result<CheckoutPool<ProcessWorker>> open_process_pool(ProcessOptions process, CheckoutOptions options = {});

}  // namespace tenure
