#pragma once

// A served pool of programs, and its clients.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <tenure/checkout_remote.hpp>
#include <thread>

#include "log_conformance/temporary_directory.h"
#include "net/place.h"
#include "process/channel.h"
#include "remote/words.h"

namespace tenure {

constexpr std::chrono::seconds kLong{20};

template <class Holds>
bool soon(const Holds& holds) {
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// A pool of programs (tests/process/child.cc) that is served.
class RemoteStage : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TENURE_GUARD", TENURE_GUARD, 1);
    ProcessOptions process;
    process.command = {PROCESS_CHILD};
    process.stop_patience = std::chrono::milliseconds(50);
    CheckoutOptions options;
    options.default_workers = options.max_workers = 1;
    options.max_queue = 1;
    options.start_backoff = options.start_backoff_max = std::chrono::milliseconds(1);
    pool.emplace(open_process_pool(process, options).value());
  }
  void serve(ServeOptions options = {}) {
    if (options.listen.empty()) options.listen = "unix:" + folder.path() + "/pool.sock";
    server = CheckoutServer::open(pool->ref(), options).value();
    to.address = server->address();
    to.token = options.token;
  }
  Result<RemoteWorker> checkout(std::chrono::nanoseconds timeout = kLong) {
    return RemoteWorker::checkout(to, timeout);
  }
  bool all_free() {
    return soon([this] { return pool->state().free == 1 && pool->state().held == 0; });
  }

  // A client that says what it likes.
  struct Raw {
    explicit Raw(const std::string& address)
        : Raw(net::connect_to(*net::read_place(address), net::after(kLong)).value().socket) {}
    explicit Raw(Descriptor connected) : socket(std::move(connected)), wire(socket.get()), channel(wire, 1U << 20) {}
    void say(char kind, BytesView bytes) {
      EXPECT_TRUE(channel.send(kind, bytes, net::after(kLong)));
      EXPECT_TRUE(channel.flush(net::after(kLong)));
    }
    std::string hear(char kind) {
      const auto frame = channel.receive(net::after(kLong));
      if (!frame) return "nothing: " + frame.error().message();
      EXPECT_EQ(frame->kind, kind) << frame->bytes;
      return std::string(frame->bytes);
    }
    void greet() {
      say('H', std::string(remote::kGreeting) + "\n");
      hear('H');
    }
    // Whether the server has closed the connection; asks without waiting.
    bool closed() { return channel.take().error().code == Errc::closed; }
    Descriptor socket;
    net::SocketWire wire;
    process::Channel channel;
  };

  // A certificate for 127.0.0.1, in NAME.pem, and its key in NAME.key.
  void make_certificate(const std::string& name) const {
    const std::string command =
        "cd " + folder.path() +
        " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout " + name + ".key -out " +
        name + ".pem -days 2 -subj /CN=" + name + " -addext subjectAltName=IP:127.0.0.1 2>/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  std::string file(const std::string& name) const { return folder.path() + "/" + name; }

 public:
  conformance::TemporaryDirectory folder;
  std::optional<CheckoutPool<ProcessWorker>> pool;
  std::unique_ptr<CheckoutServer> server;
  RemoteOptions to;
};

}  // namespace tenure
