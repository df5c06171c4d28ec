// Implements the public API of a worker program in C++.

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <tenure/checkout_child.hpp>
#include <utility>

#include "process/blocking_wire.h"
#include "process/channel.h"

namespace tenure {
namespace {

using net::Time;
using process::Channel;

class CallServer {
 public:
  using Work = std::function<Result<std::string>(std::string_view)>;

  CallServer(const Work& work, const ChildOptions& options)
      : work_(work), says_ready_(options.says_ready), wire_(STDIN_FILENO), channel_(wire_, options.frame_bytes_max) {}

  Status run() {
    if (says_ready_) {
      if (Status sent = channel_.send('R', {}, Time::max()); !sent) return sent;
    }
    for (;;) {
      const Result<Channel::Frame> frame = next();
      if (!frame) return Failure(frame.error());
      if (Status taken = take(*frame); !taken) return taken;
    }
  }

 private:
  // Answers are sent one by one: the next request may take long, and its time must not count for the previous one.
  Result<Channel::Frame> next() {
    if (Status flushed = flush(); !flushed) return Failure(std::move(flushed).error());
    Result<Channel::Frame> held = channel_.held();
    if (!held || held->kind != 0) return held;
    // If several requests arrive at a time, spinning does not pay: it would get them one by one.
    wire_.expect_last(std::exchange(since_wait_, 0) <= 1);
    return channel_.receive(Time::max());
  }

  // The caller may have sent all it can without reading an answer. The caller gets the error, not this program.
  Status flush() {
    for (;;) {
      Status flushed = channel_.flush(Time::max());
      if (flushed || flushed.error().code != Errc::busy) return flushed;
      wire_.wait(net::Wire::kWritable, Time::max());
    }
  }

  Status take(const Channel::Frame& frame) {
    if (frame.kind != 'M' && frame.kind != 'P') {
      return fail(Errc::corrupt, "receive", "a frame of kind " + std::to_string(frame.kind));
    }
    if (!channel_.fits(parts_.size() + frame.bytes.size())) {
      return fail(Errc::corrupt, "receive", "a request in parts is too long");
    }
    if (frame.kind == 'P') {
      parts_ += frame.bytes;
      return {};
    }
    ++since_wait_;
    if (parts_.empty()) return answer(frame.bytes);
    parts_ += frame.bytes;
    return answer(std::exchange(parts_, {}));
  }

  Status answer(std::string_view request) {
    const Result<std::string> answered = call(request);
    if (!answered) return send('E', reason(answered.error()));
    if (channel_.fits(answered->size())) return send('M', *answered);
    return send('E', "an answer of " + std::to_string(answered->size()) + " bytes, which is too long");
  }

  Result<std::string> call(std::string_view request) {
    try {
      return work_(request);
    } catch (const std::exception& thrown) {
      return fail(Errc::job_failed, "call", thrown.what());
    } catch (...) {
      return fail(Errc::job_failed, "call", "it threw something that is not a std::exception");
    }
  }

  std::string reason(const Error& error) const {
    std::string text = error.context.empty() ? error.message() : error.context;
    while (!channel_.fits(text.size())) text.pop_back();
    return text;
  }

  Status send(char kind, std::string_view bytes) {
    for (;;) {
      Status sent = channel_.send(kind, bytes, Time::max());
      if (sent || sent.error().code != Errc::busy) return sent;
      if (Status flushed = flush(); !flushed) return flushed;
    }
  }

  const Work& work_;
  const bool says_ready_;
  process::BlockingSocketWire wire_;
  Channel channel_;
  Bytes parts_;                   // of a request whose last part has not arrived
  std::uint64_t since_wait_ = 0;  // requests
};

bool is_stream_socket(int descriptor) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

}  // namespace

Status serve_calls(const std::function<Result<std::string>(std::string_view)>& work, ChildOptions options) {
  if (!is_stream_socket(STDIN_FILENO))
    return fail(Errc::invalid, "serve calls", "standard input is not a stream socket");
  Status served = CallServer(work, options).run();
  if (!served && served.error().code == Errc::closed) return {};
  return served;
}

}  // namespace tenure
