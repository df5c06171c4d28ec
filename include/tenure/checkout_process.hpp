#pragma once

// Child processes as the workers of a checkout pool: interpreters, model servers, anything that is costly to start and
// speaks a few bytes on its standard input and output.
//
//     auto pool = tenure::open_process_pool({.command = {"python3", "worker.py"}}, {.default_workers = 4});
//     auto worker = pool->checkout();
//     auto answer = (*worker)->call("2 + 3", std::chrono::seconds(1));
//
// The program's standard input and output are one stream socket, on which both sides send frames:
//
//     frame := size:u32 kind:u8 byte*(size-1)        size in network byte order, from 1 to frame_bytes_max + 1
//
//     kind  'M'  a request, or an answer; or the last part of one
//           'P'  a part of one; more follows
//           'E'  from the program, in place of an answer: why there is none. The program is still fit for use
//           'R'  from the program, once, before anything else: it is ready. Only where says_ready is set
//
// Requests are answered in their order, and nothing is sent that answers no request. The end of its input, and SIGTERM,
// ask the program to end. Its standard error is this process's own. A program that sends what is no frame, or a frame
// that is too long, is killed.
//
// No program outlives the process that started it, nor what the program has started: a guard (`tenure-guard`, found by
// TENURE_GUARD, beside this program or by PATH) ends the whole tree when this process is gone, however it went.

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

// Zero turns a limit off. Age and idle time are limited by the pool: CheckoutOptions::max_lifetime and idle_timeout.
struct ProcessLimits {
  // Soft: the worker is replaced as soon as it is free.
  std::uint64_t calls = 0;
  double calls_jitter = 0.1;       // each worker's limit is lowered by up to this share, at random
  std::uint64_t memory_bytes = 0;  // resident, of the program and all it has started; looked at ten times a second
  // Hard: it is killed at once, and its holder is told.
  std::uint64_t memory_bytes_hard = 0;
  std::chrono::milliseconds call_time{0};  // from a request until its answer
  std::chrono::milliseconds age_hard{0};
};

struct ProcessOptions {
  static constexpr std::size_t kFrameBytesMax = std::size_t{1} << 30;

  std::vector<std::string> command{};      // the program, found by PATH, and its arguments
  std::vector<std::string> environment{};  // NAME=VALUE, in addition to this process's own or instead of the same name
  std::string folder{};                    // to run in; empty: this process's own, as of the first start
  bool says_ready = false;                 // it counts as started when it says so, rather than when it runs
  std::chrono::milliseconds start_timeout{10'000};
  std::chrono::milliseconds stop_patience{2'000};       // from SIGTERM to SIGKILL
  std::size_t frame_bytes_max = std::size_t{16} << 20;  // of a frame, and of a whole answer that call() gathers
  ProcessLimits limits{};
};

// What a program sent.
struct ProcessAnswer {
  std::string bytes{};
  bool last = true;  // of this answer
};

namespace detail {
struct ProcessState;
}

// One child process. Its holder uses it from one thread at a time.
//
// An error of Errc::job_failed comes from the program, in its own words. Errc::invalid: nothing was sent. After any
// other error the program is dead or being killed, and the pool replaces it when the lease is let go.
class ProcessWorker {
 public:
  using Timeout = std::chrono::nanoseconds;
  static constexpr Timeout kDefaultTimeout = std::chrono::seconds(30);

  // Waits until it runs, or is ready. Without an alarm it is in no pool.
  static Result<std::unique_ptr<ProcessWorker>> start(ProcessOptions options, std::optional<WorkerAlarm> alarm = {});
  // Asks the program to end, kills it after stop_patience, and waits until all of it is gone.
  ~ProcessWorker();
  ProcessWorker(const ProcessWorker&) = delete;
  ProcessWorker& operator=(const ProcessWorker&) = delete;

  // One request and its answer. A program that has not answered in time is killed, since nobody can tell what it is at:
  // Errc::timed_out. Errc::worker_died if it ended meanwhile.
  Result<std::string> call(std::string_view request, Timeout timeout = kDefaultTimeout);
  // The same, for an answer in parts: `take` is called with each, on this thread. The last one may be empty.
  Status call_streaming(std::string_view request, const std::function<void(std::string_view)>& take,
                        Timeout timeout = kDefaultTimeout);

  // Several requests may be under way. What is sent may wait in a buffer until receive() or flush(). With `more` it is
  // part of a request. Errc::busy, and nothing is sent: the program takes no more before its answers are received.
  Status send(std::string_view request, bool more = false, Timeout timeout = kDefaultTimeout);
  Status flush(Timeout timeout = kDefaultTimeout);
  // The next answer, or part of one. Errc::invalid where none is due.
  Result<ProcessAnswer> receive(Timeout timeout = kDefaultTimeout);
  std::uint64_t unanswered() const;
  // For event loops: what has come, without waiting, or nothing; and what to poll for reading once there is nothing.
  Result<std::optional<ProcessAnswer>> try_receive();
  int descriptor() const;

  // Whether the next holder may have it: alive, with nothing under way. The pool asks this of every worker it hands
  // out.
  bool fit();
  // SIGKILL to the program and all it has started.
  void kill(std::string_view reason);
  std::int64_t process_id() const;
  std::uint64_t calls() const;

 private:
  friend struct detail::ProcessState;
  explicit ProcessWorker(std::unique_ptr<detail::ProcessState> state);

  std::unique_ptr<detail::ProcessState> state_;
};

// A factory for CheckoutPool<ProcessWorker>.
std::function<Result<std::unique_ptr<ProcessWorker>>(const WorkerAlarm&)> process_workers(ProcessOptions options);

// A pool of them, whose workers are looked at before they are handed out. Errc::invalid also for process options that
// make no sense, such as an empty command.
Result<CheckoutPool<ProcessWorker>> open_process_pool(ProcessOptions process, CheckoutOptions options = {});

}  // namespace tenure
