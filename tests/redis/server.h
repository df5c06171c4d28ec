#pragma once

// A real redis-server for one test: on a free port of the loopback and a unix socket, in its own directory. It ends
// with the object, or with the test's process.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "log_conformance/child.h"
#include "log_conformance/free_port.h"
#include "log_conformance/temporary_directory.h"

namespace tenure::conformance {

// A program of Redis that ends with this process at the latest.
std::unique_ptr<Child> start_redis(const std::string& program, const std::vector<std::string>& arguments);

class RedisServer {
 public:
  // `options` are as on redis-server's command line. It keeps nothing on disk unless they say so.
  explicit RedisServer(std::vector<std::string> options = {});
  ~RedisServer() = default;

  std::uint16_t port() const { return port_; }
  const std::string& directory() const { return directory_.path(); }
  std::string socket() const { return directory_.path() + "/redis.sock"; }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

  // One command, as redis-cli would send it; the answer as text, its elements joined by a space.
  std::string command(const std::vector<std::string>& words) const;

  void signal(int number) const { server_->signal(number); }
  // Without a word, as a crash would.
  void kill();
  // After kill(): the same server with the same data, if it kept any.
  void restart() { start(); }

 private:
  void start();

  const TemporaryDirectory directory_;
  const std::vector<std::string> options_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Child> server_;
};

}  // namespace tenure::conformance
