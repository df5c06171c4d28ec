// The client: checks a worker out over a connection, and calls it.

#include <algorithm>
#include <charconv>
#include <tenure/checkout_remote.hpp>
#include <thread>

#include "base/backoff.h"
#include "base/entropy.h"
#include "net/place.h"
#include "net/silence.h"
#include "net/tls_wire.h"
#include "process/channel.h"
#include "remote/credentials.h"
#include "remote/words.h"

namespace tenure {

using net::after;
using net::Time;
using process::Channel;
namespace word = remote::word;

class RemoteWorker::Body {
 public:
  // Connects, up to the server's hello. A server with too many newcomers closes some of them before it answers. Such a
  // connection is tried again for some two seconds.
  static Result<std::unique_ptr<Body>> connect(const RemoteOptions& options);
  // Errc::closed: the server closed the connection without an answer.
  static Result<std::unique_ptr<Body>> connect_once(const RemoteOptions& options, Time deadline);

  // Receives a frame of this kind, or the error.
  Result<std::string> expect(char kind, Time deadline) {
    auto heard = hear(kind, deadline);
    if (!heard) return lost(heard.error());
    return heard;
  }
  // The same, but the end of the connection is Errc::closed.
  Result<std::string> hear(char kind, Time deadline) {
    const auto frame = channel->receive(deadline);
    if (!frame) return Failure(frame.error());
    if (frame->kind == word::kRefusal) return Failure(remote::decode_refusal(frame->bytes));
    if (frame->kind != kind) return fail(Errc::version, "checkout", "the server sent an unexpected frame");
    return std::string(frame->bytes);
  }
  Status send(char kind, BytesView bytes, Time deadline) {
    silence->before_sending();
    if (Status sent = channel->send(kind, bytes, deadline); !sent) return sent;
    return channel->flush(deadline);
  }
  static Failure lost(const Error& error) {
    if (error.code != Errc::closed) return Failure(error);
    return fail(Errc::unavailable, error.operation, "the connection was closed");
  }
  // The connection is gone, and with it the worker.
  Failure end(Error error) {
    over = true;
    channel.reset();
    wire.reset();
    socket.close();
    // If the server timed out, its message says more.
    if (error.code == Errc::timed_out && error.context.empty())
      error.context = "no answer in time; the worker is abandoned";
    return lost(error);
  }

  Descriptor socket;
  std::optional<net::Silence> silence;  // set when connected
  std::unique_ptr<net::Wire> wire;
  std::unique_ptr<Channel> channel;
  std::int64_t process = 0;
  std::uint64_t unanswered = 0;
  std::size_t bytes_max = 0;
  bool open_request = false;
  bool over = false;
};

Result<std::unique_ptr<RemoteWorker::Body>> RemoteWorker::Body::connect(const RemoteOptions& options) {
  constexpr int kTriesMax = 16;
  constexpr Nanos kPauseBase = std::chrono::milliseconds(5);
  constexpr Nanos kPauseCap = std::chrono::milliseconds(200);
  const Time deadline = after(options.connect_timeout);
  SystemEntropy entropy;
  Backoff pauses(kPauseBase, kPauseCap, entropy);
  for (int tries = 1;; ++tries) {
    auto body = connect_once(options, deadline);
    if (body || body.error().code != Errc::closed) return body;
    const Nanos pause = pauses.next();
    if (tries == kTriesMax || std::chrono::steady_clock::now() + pause >= deadline) return lost(body.error());
    std::this_thread::sleep_for(pause);
  }
}

Result<std::unique_ptr<RemoteWorker::Body>> RemoteWorker::Body::connect_once(const RemoteOptions& options,
                                                                             Time deadline) {
  const auto place = net::read_place(options.address);
  if (!place) return Failure(place.error());
  const auto token = remote::token_of(options);
  if (!token) return Failure(token.error());
  if (options.frame_bytes_max == 0 || options.frame_bytes_max > ProcessOptions::kFrameBytesMax) {
    return fail(Errc::invalid, "checkout", "frame_bytes_max must lie between 1 and 2^30");
  }
  auto connected = net::connect_to(*place, deadline);
  if (!connected) return Failure(connected.error());
  if (connected->off_host && (!options.tls || token->empty())) {
    return fail(Errc::invalid, "checkout", options.address + " is on another host: TLS and a token are needed");
  }
  auto body = std::make_unique<Body>();
  body->socket = std::move(connected->socket);
  body->silence.emplace(body->socket.get());
  body->bytes_max = options.frame_bytes_max;
  if (options.tls && !place->unix_socket) {
    auto context = net::TlsContext::client(options.tls_authorities);
    if (!context) return Failure(context.error());
    auto secured = (*context)->open(body->socket.get(), place->host, deadline);
    if (!secured) return Failure(secured.error());
    body->wire = *std::move(secured);
  } else {
    body->wire = std::make_unique<net::SocketWire>(body->socket.get());
  }
  body->channel = std::make_unique<Channel>(*body->wire, options.frame_bytes_max);
  Status sent = body->send(word::kHello, Bytes(remote::kGreeting) + "\n" + *token, deadline);
  // A server that refuses may close before it has read everything. Its message comes first.
  if (!sent && sent.error().code != Errc::closed) return Failure(sent.error());
  auto heard = body->hear(word::kHello, deadline);
  if (!heard) return Failure(heard.error());
  if (*heard != remote::kGreeting) return fail(Errc::version, "checkout", "the server speaks another version");
  return body;
}

Result<RemoteWorker> RemoteWorker::checkout(const RemoteOptions& options, Timeout timeout, bool force_enqueue) {
  auto body = Body::connect(options);
  if (!body) return Failure(body.error());
  const auto ms =
      std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count(), 0, 1'000'000'000);
  // The server measures the time. Give it some more to report.
  const Time deadline = after(std::chrono::milliseconds(ms) + options.connect_timeout);
  const Bytes request = std::to_string(ms) + (force_enqueue ? " 1" : " 0");
  if (Status sent = (*body)->send(word::kCheckout, request, deadline); !sent) return Body::lost(sent.error());
  auto granted = (*body)->expect(word::kWorker, deadline);
  if (!granted) return Failure(granted.error());
  std::from_chars(granted->data(), granted->data() + granted->size(), (*body)->process);
  return RemoteWorker(*std::move(body));
}

RemoteWorker::RemoteWorker(std::unique_ptr<Body> body) : body_(std::move(body)) {}
RemoteWorker::RemoteWorker(RemoteWorker&&) noexcept = default;
RemoteWorker& RemoteWorker::operator=(RemoteWorker&& other) noexcept {
  if (this != &other) {
    checkin();
    body_ = std::move(other.body_);
  }
  return *this;
}
RemoteWorker::~RemoteWorker() { checkin(); }

void RemoteWorker::checkin() {
  if (!body_) return;
  // If the goodbye cannot be sent at once, the end of the connection means the same.
  if (!body_->over) (void)body_->send(word::kBye, "", after({}));
  body_.reset();
}

std::int64_t RemoteWorker::process_id() const { return body_ ? body_->process : 0; }

Status RemoteWorker::send(std::string_view request, bool more, Timeout timeout) {
  if (!body_ || body_->over) return fail(Errc::closed, "send", "the worker is not held any more");
  const Time deadline = after(timeout);
  body_->silence->before_sending();
  Status sent = body_->channel->send(more ? word::kPart : word::kMessage, request, deadline);
  if (sent) sent = body_->channel->flush(deadline);
  if (!sent) {
    if (sent.error().code == Errc::invalid || sent.error().code == Errc::busy) return sent;
    if (sent.error().code != Errc::closed) return body_->end(sent.error());
    // The server may have sent the reason.
    const auto why = body_->expect(word::kRefusal, deadline);
    return body_->end(why.error());
  }
  if (!std::exchange(body_->open_request, more)) ++body_->unanswered;
  return {};
}

Result<ProcessAnswer> RemoteWorker::receive(Timeout timeout) {
  if (!body_ || body_->over) return fail(Errc::closed, "receive", "the worker is not held any more");
  if (body_->unanswered == 0) return fail(Errc::invalid, "receive", "no answer is due");
  const auto frame = body_->channel->receive(after(timeout));
  if (!frame) return body_->end(frame.error());
  switch (frame->kind) {
    case word::kPart: return ProcessAnswer{std::string(frame->bytes), false};
    case word::kMessage: --body_->unanswered; return ProcessAnswer{std::string(frame->bytes), true};
    case word::kError: --body_->unanswered; return fail(Errc::job_failed, "call", std::string(frame->bytes));
    case word::kRefusal: return body_->end(remote::decode_refusal(frame->bytes));
    default: return body_->end({Errc::corrupt, "receive", "a frame of kind " + std::to_string(frame->kind)});
  }
}

Status RemoteWorker::call_streaming(std::string_view request, const std::function<void(std::string_view)>& take,
                                    Timeout timeout) {
  if (body_ && !body_->over && body_->unanswered != 0)
    return fail(Errc::invalid, "call", "answers to earlier requests are due");
  const Time deadline = after(timeout);
  if (Status sent = send(request, false, timeout); !sent) return sent;
  for (;;) {
    auto answer = receive(deadline - std::chrono::steady_clock::now());
    if (!answer) return Failure(answer.error());
    take(answer->bytes);
    if (answer->last) return {};
    // Parts that have arrived are taken without waiting, so an endless answer would never time out by itself.
    if (std::chrono::steady_clock::now() >= deadline) return body_->end({Errc::timed_out, "receive", ""});
  }
}

Result<std::string> RemoteWorker::call(std::string_view request, Timeout timeout) {
  std::string whole;
  bool too_long = false;
  const std::size_t most = body_ ? body_->bytes_max : 0;
  const auto gather = [&](std::string_view part) {
    too_long = too_long || whole.size() + part.size() > most;
    if (!too_long) whole += part;
  };
  if (Status called = call_streaming(request, gather, timeout); !called) return Failure(called.error());
  if (too_long) return fail(Errc::job_failed, "call", "an answer of more than " + std::to_string(most) + " bytes");
  return whole;
}

Result<std::string> remote_checkout_stats(const RemoteOptions& options) {
  auto body = RemoteWorker::Body::connect(options);
  if (!body) return Failure(body.error());
  const Time deadline = after(options.connect_timeout);
  if (Status sent = (*body)->send(word::kStats, "", deadline); !sent) return RemoteWorker::Body::lost(sent.error());
  return (*body)->expect(word::kStats, deadline);
}

}  // namespace tenure
