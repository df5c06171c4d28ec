#include "log/redis/connection.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "log/redis/errors.h"

namespace tenure::redis {
namespace {

using std::chrono::milliseconds;

constexpr Nanos kRestBase = milliseconds(10);
constexpr Nanos kRestCap = milliseconds(500);
// How late a deliberate wait of the server may end: Redis checks ten times a second.
constexpr Nanos kServerTick = milliseconds(500);
// While a cluster is reshaped its servers may point at each other.
constexpr std::size_t kRedirectionsMax = 5;
// The limit on a sentinel's answer, which names a host.
constexpr std::size_t kAnswerBytesMax = 64U << 10;
// Refusals that are further apart are unrelated.
constexpr Nanos kRefusalGap = std::chrono::seconds(30);
constexpr std::size_t kCopiedMax = 16U << 10;
constexpr std::size_t kTogetherMax = 256U << 10;

}  // namespace

Connection::Connection(World world, const RedisSettings& settings, MakeGreeting greeting, OnLost on_lost)
    : world_(world),
      settings_(settings),
      make_greeting_(std::move(greeting)),
      on_lost_(std::move(on_lost)),
      backoff_(kRestBase, kRestCap, world.entropy),
      silence_(world.loop),
      rest_(world.loop) {}

// All commands of one turn of the loop are sent together.
void Connection::send(std::string_view operation, Bytes command, Done done, Nanos patience) {
  waiting_.push_back({std::move(command), {operation, std::move(done), patience}});
  if (flushing_) return;
  flushing_ = true;
  world_.loop.post([this] {
    flushing_ = false;
    if (state_ == State::idle && !waiting_.empty()) begin();
    if (state_ == State::ready) flush();
  });
}

void Connection::revoke(std::string_view operation, const Error& error) {
  std::deque<Request> kept;
  std::vector<Done> revoked;
  for (Request& request : std::exchange(waiting_, {})) {
    if (request.answer.operation == operation) {
      revoked.push_back(std::move(request.answer.done));
    } else {
      kept.push_back(std::move(request));
    }
  }
  waiting_.swap(kept);
  for (const Done& done : revoked) done(Failure(error));
}

void Connection::drop(const Error& why) {
  if (state_ == State::idle || state_ == State::resting) return;
  close_stream(State::idle);
  answer_owed(why);
  if (state_ == State::idle && !waiting_.empty()) begin();
}

void Connection::begin() {
  sentinels_asked_ = 0;
  redirections_ = 0;
  if (!settings_.service.empty()) return ask_sentinel();
  if (moved_to_) return connect_to(*moved_to_);
  if (settings_.socket_path.empty()) return connect_to(settings_.addresses.front());
  open_stream({.address = {}, .socket_path = settings_.socket_path, .tls = false}, State::connecting);
}

void Connection::ask_sentinel() {
  ++sentinels_asked_;
  question_.emplace(settings_);
  open_stream({.address = settings_.addresses[sentinel_], .socket_path = {}, .tls = settings_.tls.on}, State::asking);
}

void Connection::connect_to(const net::Address& address) {
  address_ = address;
  open_stream({.address = address, .socket_path = {}, .tls = settings_.tls.on}, State::connecting);
}

void Connection::open_stream(const net::Endpoint& endpoint, State state) {
  state_ = state;
  ++generation_;
  parser_ = std::make_shared<ReplyParser>(state == State::asking ? kAnswerBytesMax : ReplyParser::kReplyBytesMax);
  stream_ = world_.transport.connect(endpoint, *this);
  heard();
  watch();
}

void Connection::close_stream(State next) {
  ++generation_;
  stream_.reset();
  silence_.cancel();
  state_ = next;
}

void Connection::opened() {
  heard();
  const Result<Login> login = current_login(state_ == State::asking ? settings_.sentinel_login : settings_.login);
  if (!login) return broken(login.error());
  if (state_ == State::asking) {
    stream_->send(question_->commands(*login));
    return;
  }
  state_ = State::greeting;
  greeting_.emplace(make_greeting_());
  stream_->send(greeting_->commands(*login));
}

// A request whose bytes are still being sent is no silence. But a server that owes an answer to a complete request is
// silent, even if more can be sent: a dead connection takes a lot of bytes before it is full.
void Connection::progressed(std::size_t bytes) {
  if (state_ != State::ready) return heard();
  const bool on_its_way = !owed_.empty() && owed_.front().end > taken_bytes_;
  taken_bytes_ += bytes;
  if (on_its_way) heard();
}

// Before a connection is ready, only complete answers count. They are a few words, so an attempt ends in time even if
// the other side sends single bytes.
void Connection::received(BytesView bytes) {
  if (state_ == State::ready) heard();
  const std::shared_ptr<ReplyParser> parser = parser_;
  const std::uint64_t generation = generation_;
  parser->feed(bytes);
  while (generation == generation_) {
    Result<std::optional<Reply>> reply = parser->next();
    if (!reply) return broken(reply.error());
    if (!*reply) return;
    take(**std::move(reply));
  }
}

void Connection::take(Reply reply) {
  if (state_ == State::asking) return take_question(reply.value());
  if (state_ == State::greeting) return take_greeting(reply.value());
  if (owed_.empty()) return broken({Errc::unavailable, "redis reply", settings_.shown + ": a reply without a request"});
  const Owed owed = std::move(owed_.front());
  owed_.pop_front();
  if (reply.value().is_error()) return answer_error(reply.value(), owed);
  owed.done(std::move(reply));
}

void Connection::answer_error(Value reply, const Owed& owed) {
  Verdict verdict = judge(reply.text(), owed.operation, settings_.shown);
  // The server no longer knows our login. The next connection shows whether it accepts us.
  if (verdict.error.code == Errc::refused && verdict.reconnect) verdict.error = put_off(std::move(verdict.error));
  const std::uint64_t generation = generation_;
  if (verdict.error.code == Errc::lost_history) on_lost_(verdict.error);
  owed.done(Failure(verdict.error));
  if (verdict.reconnect && generation == generation_) broken(verdict.error);
}

void Connection::take_question(Value reply) {
  heard();
  Result<std::optional<net::Address>> address = question_->take(reply);
  if (!address) return broken(address.error());
  if (*address) {
    close_stream(State::idle);
    connect_to(**address);
  }
}

void Connection::take_greeting(Value reply) {
  heard();
  const Result<bool> finished = greeting_->take(reply);
  if (!finished && follow_redirection()) return;
  if (!finished) return broken(finished.error());
  if (!*finished) return;
  state_ = State::ready;
  world_.admission.given = true;
  refused_since_.reset();
  handed_bytes_ = taken_bytes_ = 0;
  backoff_.reset();
  flush();
}

bool Connection::follow_redirection() {
  std::optional<net::Address> to = greeting_->moved_to();
  if (!to || !settings_.socket_path.empty() || ++redirections_ > kRedirectionsMax) return false;
  if (to->host.empty()) to->host = address_.host;
  moved_to_ = std::move(to);
  close_stream(State::idle);
  connect_to(*moved_to_);
  return true;
}

void Connection::flush() {
  if (waiting_.empty()) return;
  Bytes together;
  std::size_t taken = 0;
  if (owed_.empty()) heard();
  for (Request& request : waiting_) {
    const std::size_t size = request.command.size();
    // A large command is not copied again.
    if (size >= kCopiedMax || together.size() + size > kTogetherMax) {
      if (!together.empty()) taken += stream_->send(std::exchange(together, {}));
    }
    if (size >= kCopiedMax)
      taken += stream_->send(std::move(request.command));
    else
      together += request.command;
    handed_bytes_ += size;
    request.answer.end = handed_bytes_;
    owed_.push_back(std::move(request.answer));
  }
  waiting_.clear();
  if (!together.empty()) taken += stream_->send(std::move(together));
  if (taken != 0) progressed(taken);
  watch();
}

void Connection::heard() { heard_at_ = world_.loop.now(); }

Nanos Connection::allowed_silence() const {
  const Nanos patience = state_ == State::ready && !owed_.empty() ? owed_.front().patience : Nanos(0);
  return patience == Nanos(0) ? settings_.timeout : std::max(settings_.timeout, patience + kServerTick);
}

void Connection::watch() {
  if (!silence_.armed()) silence_.arm(heard_at_ + allowed_silence(), [this] { check_silence(); });
}

void Connection::check_silence() {
  if (state_ == State::ready && owed_.empty()) return;
  if (world_.loop.now() < heard_at_ + allowed_silence()) return watch();
  broken({Errc::unavailable, "redis connection",
          settings_.shown + ": the server has been silent for " + std::to_string(to_ms(allowed_silence())) + " ms"});
}

// Also for a stream that the connection itself finds to be useless.
void Connection::broken(const Error& error) {
  if (state_ == State::asking && sentinels_asked_ < settings_.addresses.size()) {
    close_stream(State::idle);
    sentinel_ = (sentinel_ + 1) % settings_.addresses.size();
    return ask_sentinel();
  }
  const bool was_ready = state_ == State::ready;
  if (!was_ready) moved_to_.reset();
  close_stream(State::resting);
  rest_.arm(world_.loop.now() + backoff_.next(), [this] {
    state_ = State::idle;
    if (!waiting_.empty()) begin();
  });
  if (was_ready) return answer_owed(error);
  if (error.code == Errc::lost_history) on_lost_(error);
  answer_waiting(error.code == Errc::refused ? put_off(error) : error);
}

// A refusal while credentials are being replaced must not end a log that was open.
Error Connection::put_off(Error refused) {
  if (!world_.admission.given) return refused;
  const Instant now = world_.loop.now();
  if (!refused_since_ || now - refused_last_ > kRefusalGap) refused_since_ = now;
  refused_last_ = now;
  const std::string patience = std::to_string(to_ms(settings_.login_patience) / 1000) + " s (login_patience)";
  if (now - *refused_since_ >= settings_.login_patience) {
    refused.context += "; it has been refused for " + patience;
    return refused;
  }
  refused.code = Errc::unavailable;
  refused.context += "; it is tried again for " + patience;
  return refused;
}

void Connection::answer_owed(const Error& error) {
  const Error unknown{Errc::unknown, error.operation, error.context};
  for (Owed& owed : std::exchange(owed_, {})) owed.done(Failure(unknown));
}

void Connection::answer_waiting(const Error& error) {
  for (Request& request : std::exchange(waiting_, {})) request.answer.done(Failure(error));
}

}  // namespace tenure::redis
