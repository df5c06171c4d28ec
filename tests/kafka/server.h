#pragma once

// A real Kafka broker (KRaft, one node) for tests: on free ports of the loopback, in its own directory. It ends with
// the object, or with the test's process. tools/kafka/fetch brings it.
//
// A broker takes about two seconds to start. Most tests share one (shared_broker.h).

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "log_conformance/child.h"
#include "log_conformance/temporary_directory.h"

namespace tenure::conformance {

class KafkaServer {
 public:
  // Of a cluster (cluster.h): its number, its controller's port, and those of all controllers.
  struct Seat {
    int node = 1;
    std::uint16_t controller_port = 0;
    std::string voters{};
  };

  // `settings` are lines of its properties file. They may replace those below.
  explicit KafkaServer(std::vector<std::string> settings = {});
  // Does not wait until it serves: it cannot before the others are there.
  KafkaServer(Seat seat, std::vector<std::string> settings);
  bool wait_until_ready();

  std::uint16_t port() const { return port_; }
  std::string brokers() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url() const { return "kafka://" + brokers(); }
  const std::string& directory() const { return directory_.path(); }

  pid_t pid() const { return server_->pid(); }
  // Runs a class of Kafka's tools to its end.
  static void run_tool(const std::vector<std::string>& words);

  void signal(int number) const { server_->signal(number); }
  // Stops it; returns when it is stopped.
  void freeze() const;
  void thaw() const { signal(SIGCONT); }
  // Without a word, as a crash would.
  void kill();
  // After kill(): the same broker with the same data. Returns when it serves again.
  void restart();
  // Between the two: other lines of its properties file, for the same port.
  void set(std::vector<std::string> settings) { settings_ = std::move(settings); }
  // Between the two: its data is that of a new broker; is put aside; is what was put aside.
  void forget();
  void save();
  void bring_back();

 private:
  void start();
  void format() const;

  const TemporaryDirectory directory_;
  std::vector<std::string> settings_;
  Seat seat_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Child> server_;
};

}  // namespace tenure::conformance
