#pragma once

// A handle's way to its server: the reactor, and a connection whose requests the caller waits for.

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "base/entropy.h"
#include "log/redis/connection.h"
#include "log/redis/settings.h"
#include "net/reactor.h"
#include "source/stream_url.h"

namespace tenure::source::redis {

// Thread-safe.
class StreamServer {
 public:
  static Result<std::unique_ptr<StreamServer>> open(std::string_view url);
  ~StreamServer();
  StreamServer(const StreamServer&) = delete;
  StreamServer& operator=(const StreamServer&) = delete;

  // Blocks until the server has answered, or cannot be reached. A script must be one of stream_scripts.h.
  Result<tenure::redis::Reply> ask(std::string_view operation, Bytes command, Nanos patience = Nanos(0));
  // The same with this stream and its second key.
  Result<tenure::redis::Reply> run(std::string_view operation, const tenure::redis::Script& script,
                                   std::span<const std::string_view> arguments);

  // For the loop's own users, which have to be gone before close().
  tenure::redis::World world() { return {*reactor_, *reactor_, entropy_, admission_}; }
  net::Reactor& reactor() { return *reactor_; }
  void close() { reactor_->close(); }

  const tenure::redis::RedisSettings& settings() const { return settings_; }
  const Bytes& key() const { return key_; }
  const std::string& limits() const { return limits_; }

 private:
  StreamServer(tenure::redis::RedisSettings settings, Bytes key, std::unique_ptr<net::Reactor> reactor);

  const tenure::redis::RedisSettings settings_;
  const Bytes key_;
  const std::string limits_;
  SystemEntropy entropy_;
  tenure::redis::Admission admission_;  // in turns of the reactor
  const std::unique_ptr<net::Reactor> reactor_;
  std::unique_ptr<tenure::redis::Connection> connection_;  // used on the loop, and after that has ended
};

}  // namespace tenure::source::redis
