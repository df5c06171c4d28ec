#pragma once

// What is said at the beginning of a connection, before any request. No I/O: a dialogue names the commands to send, all
// at once, and judges the replies in their order. The login is given to it as it is at that moment.

#include <optional>
#include <string>
#include <vector>

#include "log/redis/reply.h"
#include "log/redis/scripts.h"
#include "log/redis/settings.h"

namespace tenure::redis {

// To a server: log in, choose the database, be sure it is a master where sentinels named it, load scripts, and prove
// that the log is still the one that was known.
class Greeting {
 public:
  // `proof` is a call of Scripts::probe, or where there is nothing to prove yet any question about the pool's keys,
  // which a cluster's server answers only if it is the one that keeps them. Empty where it does not matter.
  Greeting(const RedisSettings& settings, const std::vector<const Script*>& scripts, const Bytes& proof);

  Bytes commands(const Login& login) const;
  // True with the last reply. An error ends the connection; Errc::lost_history is the proof's.
  Result<bool> take(Value reply);
  // Where the cluster keeps the pool, after an error that says so. The host is empty where it is the same.
  const std::optional<net::Address>& moved_to() const { return moved_to_; }

 private:
  enum class Step { login, select, role, script, proof };

  void add(Step step, const Bytes& command);

  const std::string place_;
  std::vector<Step> steps_;
  Bytes commands_;  // but for the login
  std::size_t taken_ = 0;
  std::optional<net::Address> moved_to_;
};

// To a sentinel: log in, ask for the address of the service's master.
class Question {
 public:
  explicit Question(const RedisSettings& settings);

  Bytes commands(const Login& login) const;
  // The address with the last reply.
  Result<std::optional<net::Address>> take(Value reply);

 private:
  const std::string place_;
  const std::string service_;
  bool login_;  // its reply is still to come
};

}  // namespace tenure::redis
