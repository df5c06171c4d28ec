#pragma once

// One connection to the server, made when there is something to ask and made again when it breaks.
//
//   idle ─▶ [asking a sentinel] ─▶ connecting ─▶ greeting ─▶ ready ──┐
//    ▲                                  ▲             request, reply │
//    │                                  │                            ▼
//    └──────── nothing waits ────── resting ◀── broken, refused, silent
//
// Requests are pipelined and answered in order. What was sent when the connection breaks is answered Errc::unknown;
// what waits when a connection cannot be made is answered with the reason. A server that owes an answer and is silent
// for `timeout` counts as gone, and no attempt to connect lasts longer. Between attempts lies a pause that grows.
//
// Where the log has been open, a connection that is refused (a login, a certificate) is taken for one whose credentials
// are being replaced: for `login_patience` that counts as unavailable and is tried again, with the credentials as they
// are then. Before that, and after it, whatever waits is answered Errc::refused.
//
// A server of a cluster that does not keep the pool says in the greeting who does, and that one is connected to. It is
// the first to be tried again while it answers; else the one of the URL knows better.

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

// Of the connections of one log: whether any of them was ever let in.
struct Admission {
  bool given = false;
};

struct World {
  Loop& loop;
  net::Transport& transport;
  Entropy& entropy;
  Admission& admission;
};

// Belongs to the loop. Answers come from the loop, never inside send(). Whoever asks bounds what it asks.
class Connection final : private net::StreamEvents {
 public:
  using Done = std::function<void(Result<Reply>)>;
  using MakeGreeting = std::function<Greeting()>;
  // A proof failed, or a script found that the log is not the one we know. Called before anybody is answered so.
  using OnLost = std::function<void(const Error&)>;

  Connection(World world, const RedisSettings& settings, MakeGreeting greeting, OnLost on_lost);
  ~Connection() override = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // `operation` names it in errors, and lives for ever. `patience` is how long the server may take on purpose: it is
  // not taken for silent before that is over, nor before `timeout` is. An error reply is answered as what it means
  // (errors.h).
  void send(std::string_view operation, Bytes command, Done done, Nanos patience = Nanos(0));
  // Answers the requests of this name that have not been sent.
  void revoke(std::string_view operation, const Error& error);
  // Breaks the connection, if there is one: the next request goes by a new one, without a pause.
  void drop(const Error& why);

 private:
  enum class State { idle, asking, connecting, greeting, ready, resting };

  struct Owed {
    std::string_view operation;
    Done done;
    Nanos patience;
    std::uint64_t end = 0;  // in the bytes of the stream: where the request ends
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
  std::size_t sentinel_ = 0;              // the one to ask; stays with one that answers
  std::size_t sentinels_asked_ = 0;       // in this attempt
  std::optional<net::Address> moved_to_;  // the server of a cluster that has the pool
  net::Address address_;                  // of the stream
  std::size_t redirections_ = 0;          // in this attempt
  std::optional<Instant> refused_since_;
  Instant refused_last_;
  std::deque<Request> waiting_;
  std::deque<Owed> owed_;
  std::uint64_t handed_bytes_ = 0;  // to the stream, for requests
  std::uint64_t taken_bytes_ = 0;   // of them, by the system
  Instant heard_at_;
  Backoff backoff_;
  Timer silence_;
  Timer rest_;
  bool flushing_ = false;         // flush() is posted
  std::uint64_t generation_ = 0;  // of the stream: what a callback does may replace it
};

}  // namespace tenure::redis
