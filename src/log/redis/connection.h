#pragma once

// One connection to the server. It is made when there is something to send, and again after it breaks.
//
//   idle ─▶ [asking a sentinel] ─▶ connecting ─▶ greeting ─▶ ready ──┐
//    ▲                                  ▲             request, reply │
//    │                                  │                            ▼
//    └──────── nothing waits ────── resting ◀── broken, refused, silent
//
// Requests are pipelined and answered in order. When the connection breaks, requests that were sent fail with
// Errc::unknown. When no connection can be made, waiting requests fail with the reason. A server that owes an answer
// and is silent for `timeout` counts as gone, and an attempt to connect lasts no longer than that. The pause between
// attempts grows.
//
// If the log was open before, a refused connection (a login, a certificate) probably means that credentials are being
// replaced. For `login_patience` it counts as unavailable, and is tried again with the current credentials. Before the
// log was open, and after `login_patience`, waiting requests fail with Errc::refused.
//
// If a server of a cluster does not have the pool, its reply to the greeting names the one that does, and the
// connection goes there. Later attempts start with that server as long as it answers, otherwise with the URL's.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "base/entropy.h"
#include "base/loop.h"
#include "log/redis/dialogue.h"
#include "log/redis/reply_parser.h"
#include "net/transport.h"

namespace tenure::redis {

// Shared by the connections of one log: whether any of them was ever accepted.
struct Admission {
  bool given = false;
};

struct World {
  Loop& loop;
  net::Transport& transport;
  Entropy& entropy;
  Admission& admission;
};

// Belongs to the loop. Answers come from the loop, never inside send(). The caller bounds the requests.
class Connection final : private net::StreamEvents {
 public:
  using Done = std::function<void(Result<Reply>)>;
  using MakeGreeting = std::function<Greeting()>;
  // Called if a proof failed, or a script found another log, before any request is answered with that.
  using OnLost = std::function<void(const Error&)>;

  Connection(World world, const RedisSettings& settings, MakeGreeting greeting, OnLost on_lost);
  ~Connection() override = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // `operation` names the request in errors, and must be a literal. `patience` is how long the server may wait on
  // purpose: it counts as silent only after `patience` and `timeout` have passed. An error reply is translated
  // (errors.h).
  void send(std::string_view operation, Bytes command, Done done, Nanos patience = Nanos(0));
  // Fails requests with this name that have not been sent.
  void revoke(std::string_view operation, const Error& error);
  // Breaks the connection, if there is one. The next request uses a new one, without a pause.
  void drop(const Error& why);

 private:
  enum class State { idle, asking, connecting, greeting, ready, resting };

  struct Owed {
    std::string_view operation;
    Done done;
    Nanos patience;
    std::uint64_t end = 0;  // where the request ends, in bytes of the stream
  };
  struct Request {
    Bytes command;
    Owed answer;
  };

  void opened() override;
  void received(BytesView bytes) override;
  void progressed(std::size_t bytes) override;
  void broken(const Error& error) override;

  void begin();
  void ask_sentinel();
  void connect_to(const net::Address& address);
  void open_stream(const net::Endpoint& endpoint, State state);
  void take(Reply reply);
  void take_question(Value reply);
  void take_greeting(Value reply);
  bool follow_redirection();
  void answer_error(Value reply, const Owed& owed);
  Error put_off(Error refused);
  void flush();
  void heard();
  void watch();
  void check_silence();
  Nanos allowed_silence() const;
  void close_stream(State next);
  void answer_owed(const Error& error);
  void answer_waiting(const Error& error);

  const World world_;
  const RedisSettings& settings_;
  const MakeGreeting make_greeting_;
  const OnLost on_lost_;
  State state_ = State::idle;
  std::unique_ptr<net::Stream> stream_;
  std::shared_ptr<ReplyParser> parser_;
  std::optional<Greeting> greeting_;
  std::optional<Question> question_;
  std::size_t sentinel_ = 0;              // the one to ask; stays the same while it answers
  std::size_t sentinels_asked_ = 0;       // in this attempt
  std::optional<net::Address> moved_to_;  // the server of a cluster that has the pool
  net::Address address_;                  // of the stream
  std::size_t redirections_ = 0;          // in this attempt
  std::optional<Instant> refused_since_;
  Instant refused_last_;
  std::deque<Request> waiting_;
  std::deque<Owed> owed_;
  std::uint64_t handed_bytes_ = 0;  // request bytes passed to the stream
  std::uint64_t taken_bytes_ = 0;   // of these, bytes that the system has taken
  Instant heard_at_;
  Backoff backoff_;
  Timer silence_;
  Timer rest_;
  bool flushing_ = false;         // flush() is posted
  std::uint64_t generation_ = 0;  // of the stream; callbacks may replace it
};

}  // namespace tenure::redis
