#include "remote/session.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/same_secret.h"
#include "remote/words.h"

namespace tenure::remote {
namespace {

using namespace std::chrono_literals;
using net::after;
using net::Time;
using Lease = CheckoutLease<ProcessWorker>;

// How long a client may take to read what it is sent, and to read a refusal, which fits into any socket that is read at
// all.
constexpr std::chrono::nanoseconds kSendPatience = 30s;
constexpr std::chrono::nanoseconds kRefusalPatience = 1s;
constexpr std::uint64_t kUnderWayMax = 64;
// How many answers to take from a worker before looking at its client.
constexpr int kAnswersMax = 64;
constexpr std::size_t kUnderWayBytesMax = 64U << 10;

int poll_ms(Time deadline) {
  if (deadline == Time::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000'000));
}

// Zero means no limit.
Time after_limit(std::chrono::milliseconds limit) { return limit.count() > 0 ? after(limit) : Time::max(); }

bool is(const Result<process::Channel::Frame>& frame, Errc code) { return !frame && frame.error().code == code; }

}  // namespace

Session::Session(Descriptor socket, Pool pool, const ServeOptions& options, Credentials& credentials, bool secured,
                 Admit admit)
    : socket_(std::move(socket)),
      pool_(std::move(pool)),
      options_(options),
      credentials_(credentials),
      secured_(secured),
      admit_(std::move(admit)),
      silence_(socket_.get()) {}

void Session::end() const { ::shutdown(socket_.get(), SHUT_RDWR); }

// A newcomer has one deadline to become a client, however many steps it takes.
void Session::run() {
  const Time known_by = after(options_.hello_timeout);
  if (!open(known_by) || !greet(known_by)) return;
  const auto frame = channel_->receive(after(options_.hello_timeout));
  if (frame) return obey(*frame);
  if (is(frame, Errc::corrupt)) refuse(frame.error());
}

bool Session::open(Time known_by) {
  if (secured_ && credentials_.with_tls()) {
    auto secured = credentials_.tls()->open(socket_.get(), "", known_by);
    if (!secured) return false;
    wire_ = *std::move(secured);
  } else {
    wire_ = std::make_unique<net::SocketWire>(socket_.get());
  }
  channel_ = std::make_unique<process::Channel>(*wire_, kHelloBytesMax);
  return true;
}

bool Session::greet(Time known_by) {
  const auto frame = channel_->receive(known_by);
  if (!frame) return false;
  const BytesView said = frame->bytes;
  const bool ours =
      frame->kind == word::kHello && said.starts_with(kGreeting) && said.substr(kGreeting.size()).starts_with('\n');
  if (!ours) return refuse({Errc::version, "hello", "this server uses " + Bytes(kGreeting)}), false;
  if (credentials_.with_token() && !same_secret(said.substr(kGreeting.size() + 1), credentials_.token())) {
    return refuse({Errc::refused, "hello", "the token is wrong"}), false;
  }
  if (const Status admitted = admit_(); !admitted) return refuse(admitted.error()), false;
  return send(word::kHello, kGreeting);
}

void Session::obey(const Frame& frame) {
  if (frame.kind == word::kStats) return void(send(word::kStats, stats_of(pool_)));
  if (frame.kind == word::kCheckout) return lend(frame.bytes);
  refuse({Errc::invalid, "serve", "expected a checkout"});
}

void Session::lend(BytesView request) {
  std::int64_t patience_ms = 0;
  const char* begin = request.data();
  const auto [stop, error] = std::from_chars(begin, begin + request.size(), patience_ms);
  const BytesView force = request.substr(static_cast<std::size_t>(stop - begin));
  if (error != std::errc() || patience_ms < 0 || patience_ms > 1'000'000'000 || (force != " 0" && force != " 1")) {
    return refuse({Errc::invalid, "checkout", "the request cannot be read"});
  }
  auto lease = wait_for_worker(std::chrono::milliseconds(patience_ms), force == " 1");
  if (!lease) return refuse(lease.error());
  if (!*lease) return;
  // Only a client with a worker may use memory for long frames.
  channel_->allow(options_.frame_bytes_max);
  held_until_ = after_limit(options_.max_hold);
  const bool told = send(word::kWorker, std::to_string((*lease)->process_id()));
  if (told && relay(**lease)) return lease->checkin();
  if ((*lease)->unanswered() == 0 && (*lease)->fit()) return lease->checkin();
  (*lease)->kill("its client disconnected");
  lease->discard("its client disconnected");
}

Result<Lease> Session::wait_for_worker(std::chrono::nanoseconds patience, bool force) {
  const Descriptor news(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!news) return fail(Errc::busy, "checkout", "no descriptor is free");
  std::atomic<int> last{-1};
  AsyncCheckoutOptions options;
  options.force_enqueue = force;
  auto request = pool_.checkout_async(
      [&](const CheckoutNews<ProcessWorker>& told) {
        last = static_cast<int>(told.kind());
        const std::uint64_t one = 1;
        (void)!::write(news.get(), &one, sizeof one);
      },
      options);
  const Time deadline = after(patience);
  for (;;) {
    if (last == static_cast<int>(CheckoutNewsKind::worker)) {
      auto lease = request.confirm();
      if (lease || (lease.error().code != Errc::worker_died && lease.error().code != Errc::busy)) return lease;
    }
    if (last == static_cast<int>(CheckoutNewsKind::overloaded)) return fail(Errc::overloaded, "checkout");
    if (last == static_cast<int>(CheckoutNewsKind::pool_down)) {
      return fail(Errc::pool_down, "checkout", pool_.state().reason);
    }
    std::array<pollfd, 2> waited{{{news.get(), POLLIN, 0}, {socket_.get(), POLLIN, 0}}};
    const int ready = ::poll(waited.data(), waited.size(), poll_ms(deadline));
    if (ready == 0) return fail(Errc::timed_out, "checkout", "no worker became free");
    std::uint64_t ignored = 0;
    if (waited[0].revents != 0) (void)!::read(news.get(), &ignored, sizeof ignored);
    // A client that sends something now can only be giving up.
    if (waited[1].revents != 0 && channel_->stirs()) return Lease();
  }
}

// A program that owes answers may not be reading. Then a request must fit into its socket: otherwise this thread would
// block and not notice that the client is gone. A program that owes nothing but the request being sent in parts has to
// read it.
bool Session::may_ask(const ProcessWorker& worker) const {
  if (worker.unanswered() == (in_parts_ ? 1 : 0)) return true;
  return worker.unanswered() < kUnderWayMax && under_way_bytes_ + request_->bytes.size() < kUnderWayBytesMax;
}

bool Session::relay(ProcessWorker& worker) {
  Time idle_until = after_limit(options_.max_idle);
  bool clean = false;
  for (;;) {
    bool busy = false;
    // Sending to one side may receive from the other without the poller knowing. Neither side can continue this beyond
    // the lease's end.
    do {
      moved_ = false;
      if (!from_client(worker, clean)) return clean;
      if (!from_worker(worker)) return false;
      busy = busy || moved_;
    } while (moved_ && !overdue());
    const bool owes = worker.unanswered() != 0;
    if (busy || owes) idle_until = after_limit(options_.max_idle);
    const Time deadline = owes ? held_until_ : std::min(held_until_, idle_until);
    const bool asks = !request_;
    std::array<pollfd, 2> waited{
        {{socket_.get(), static_cast<short>(asks ? POLLIN : POLLRDHUP), 0}, {worker.descriptor(), POLLIN, 0}}};
    const int ready = ::poll(waited.data(), waited.size(), poll_ms(deadline));
    if (!asks && waited[0].revents != 0) return false;  // the client is gone, and answers are due
    if (ready == 0 || overdue()) {
      refuse({Errc::timed_out, "hold",
              deadline == held_until_
                  ? "a lease lasts no longer than " + std::to_string(options_.max_hold.count()) + " ms"
                  : "no request for " + std::to_string(options_.max_idle.count()) + " ms"});
      return false;
    }
  }
}

bool Session::from_client(ProcessWorker& worker, bool& clean) {
  for (;;) {
    if (!request_ && !hear(worker, clean)) return false;
    if (!request_ || !may_ask(worker)) return true;
    under_way_bytes_ = (worker.unanswered() == 0 ? 0 : under_way_bytes_) + request_->bytes.size();
    Status sent = worker.send(request_->bytes, !request_->last, patience());
    while (!sent && sent.error().code == Errc::busy) {
      if (!from_worker(worker)) return false;
      if (overdue()) return true;
      sent = worker.send(request_->bytes, !request_->last, patience());
    }
    in_parts_ = !request_->last;
    request_.reset();
    if (sent) sent = worker.flush(patience());
    if (!sent && sent.error().code != Errc::busy) {
      refuse(sent.error());
      return false;
    }
    if (overdue()) return true;
  }
}

// Handles the client's next frame, if there is one.
bool Session::hear(const ProcessWorker& worker, bool& clean) {
  const auto frame = channel_->take();
  if (is(frame, Errc::timed_out)) return true;
  if (!frame) {
    if (frame.error().code == Errc::corrupt) refuse(frame.error());
    return false;
  }
  moved_ = true;
  if (frame->kind == word::kBye) {
    clean = worker.unanswered() == 0;
    return false;
  }
  if (frame->kind != word::kMessage && frame->kind != word::kPart) {
    refuse({Errc::invalid, "serve", "a frame of kind " + std::to_string(frame->kind)});
    return false;
  }
  request_ = ProcessAnswer{std::string(frame->bytes), frame->kind == word::kMessage};
  return true;
}

bool Session::from_worker(ProcessWorker& worker) {
  for (int i = 0; i < kAnswersMax; ++i) {
    const auto answer = worker.try_receive();
    if (!answer) {
      if (answer.error().code == Errc::job_failed) {
        moved_ = true;
        if (!send(word::kError, answer.error().context)) return false;
        continue;
      }
      refuse(answer.error());
      return false;
    }
    if (!*answer) return true;
    moved_ = true;
    if (!send((*answer)->last ? word::kMessage : word::kPart, (*answer)->bytes)) return false;
  }
  return true;
}

bool Session::overdue() const { return std::chrono::steady_clock::now() >= held_until_; }

// The time limit for one step of the lease.
std::chrono::nanoseconds Session::patience() const {
  return std::min<std::chrono::nanoseconds>(kSendPatience, held_until_ - std::chrono::steady_clock::now());
}

bool Session::send(char kind, BytesView bytes) {
  const Time deadline = kind == word::kRefusal ? after(kRefusalPatience) : after(patience());
  silence_.before_sending();
  return channel_->send(kind, bytes, deadline).has_value() && channel_->flush(deadline).has_value();
}

void Session::refuse(const Error& error) { send(word::kRefusal, encode_refusal(error)); }

}  // namespace tenure::remote
