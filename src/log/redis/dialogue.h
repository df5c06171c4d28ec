#pragma once

// The start of a connection, before any request. No I/O: a dialogue returns all commands to send, and checks the
// replies in order. It gets the current login.

#include <optional>
#include <string>
#include <vector>

#include "log/redis/reply.h"
#include "log/redis/scripts.h"
#include "log/redis/settings.h"

namespace tenure::redis {

// With a server: log in, select the database, check that the server is a master if sentinels reported it, load scripts,
// and prove that the log is still the known one.
class Greeting {
 public:
  // `proof` is a call of Scripts::probe. If there is nothing to prove yet, it is any request about the pool's keys,
  // which only the right server of a cluster answers. Empty if neither is needed.
  Greeting(const RedisSettings& settings, const std::vector<const Script*>& scripts, const Bytes& proof);

  Bytes commands(const Login& login) const;
  // True with the last reply. An error ends the connection. Errc::lost_history comes from the proof.
  Result<bool> take(Value reply);
  // After an error: the server of the cluster that has the pool. An empty host means the same host.
  const std::optional<net::Address>& moved_to() const { return moved_to_; }

 private:
  enum class Step { login, select, role, script, proof };

  void add(Step step, const Bytes& command);

  const std::string place_;
  std::vector<Step> steps_;
  Bytes commands_;  // without the login
  std::size_t taken_ = 0;
  std::optional<net::Address> moved_to_;
};

// With a sentinel: log in, ask for the address of the service's master.
class Question {
 public:
  explicit Question(const RedisSettings& settings);

  Bytes commands(const Login& login) const;
  // Returns the address with the last reply.
  Result<std::optional<net::Address>> take(Value reply);

 private:
  const std::string place_;
  const std::string service_;
  bool login_;  // its reply is still to come
};

}  // namespace tenure::redis
