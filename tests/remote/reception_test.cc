// Anybody who can connect can be a newcomer. However many there are, and whatever they do, clients have their places.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <deque>
#include <filesystem>

#include "remote/remote_stage.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using net::after;

class Reception : public RemoteStage {
 protected:
  // From an address of the loopback of our choice: another host, as far as the server can tell.
  static Descriptor connect_from(const char* host, const std::string& address) {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in from{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
    inet_pton(AF_INET, host, &from.sin_addr);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from), 0);
    sockaddr_in server_at{from};
    server_at.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    inet_pton(AF_INET, "127.0.0.1", &server_at.sin_addr);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&server_at), sizeof server_at), 0);
    return socket;
  }
  // The server has welcomed all that connected before, since it accepts them in order.
  void settle() { EXPECT_FALSE(remote_checkout_stats(to).value().empty()); }
};

TEST_F(Reception, NewcomersTakeNoClientsRoom) {
  for (const std::string listen : {"", "tcp:127.0.0.1:0"}) {
    serve({.listen = listen, .connections_max = 2, .newcomers_max = 4});
    std::deque<Raw> silent;
    for (int i = 0; i < 100; ++i) silent.emplace_back(server->address());
    settle();
    EXPECT_TRUE(soon([this] { return server->connections() == 0; }));  // the one that settled it, too
    EXPECT_TRUE(soon([&] { return silent[90].closed(); }));
    auto worker = checkout().value();
    EXPECT_EQ(worker.call("hello").value(), "hello");
    EXPECT_EQ(server->connections(), 1U);
    Raw second(server->address());
    second.greet();
    EXPECT_EQ(checkout().error().code, Errc::busy);  // the limit on clients is reached
    worker.checkin();
    ASSERT_TRUE(soon([this] { return server->connections() == 1; }));
    EXPECT_EQ(checkout().value().call("hello").value(), "hello");
    server.reset();
  }
}

TEST_F(Reception, TheHostThatHasTheMostGivesWay) {
  serve({.listen = "tcp:127.0.0.1:0", .newcomers_max = 4});
  Raw slow(connect_from("127.0.0.7", server->address()));
  std::deque<Raw> flood;
  for (int i = 0; i < 50; ++i) flood.emplace_back(connect_from("127.0.0.8", server->address()));
  settle();
  EXPECT_TRUE(soon([&] { return flood[40].closed(); }));
  EXPECT_FALSE(slow.closed());
  slow.greet();  // and is a client, in its own time
  EXPECT_FALSE(slow.closed());
}

// One that says a byte now and then, and one that begins a handshake, have no longer than one that is silent.
TEST_F(Reception, ANewcomerHasOneDeadline) {
  serve({.hello_timeout = 300ms});
  const auto closes_in_time = [](Raw& raw, BytesView bytes) {
    const auto begun = std::chrono::steady_clock::now();
    for (std::size_t i = 0; !raw.closed() && std::chrono::steady_clock::now() - begun < kLong; ++i) {
      if (i < bytes.size()) (void)raw.wire.send_some(bytes.substr(i, 1));
      std::this_thread::sleep_for(20ms);
    }
    return std::chrono::steady_clock::now() - begun < 5s;
  };
  const Bytes hello = Bytes("\0\0\1\0H", 5) + Bytes(remote::kGreeting) + "\n" + Bytes(200, 'x');
  {
    Raw drips(server->address());
    EXPECT_TRUE(closes_in_time(drips, hello));
  }
  server.reset();
#ifdef TENURE_WITH_TLS
  make_certificate("server");
  serve({.listen = "tcp:127.0.0.1:0",
         .tls_certificate = file("server.pem"),
         .tls_key = file("server.key"),
         .hello_timeout = 300ms});
  Raw stalls(server->address());
  EXPECT_TRUE(closes_in_time(stalls, Bytes("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + Bytes(400, 'x')));
#endif
}

// What was closed is forgotten at once, though nobody else comes.
TEST_F(Reception, WhoHasGoneLeavesNothing) {
  serve();
  ASSERT_TRUE(all_free());
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = open_files();
  {
    std::deque<Raw> silent;
    for (int i = 0; i < 20; ++i) silent.emplace_back(server->address());
    EXPECT_TRUE(soon([&] { return open_files() >= before + 40; }));
  }
  EXPECT_TRUE(soon([&] { return open_files() == before; }));
}

// Only clients with a worker may send long frames: others cannot make the server store them.
TEST_F(Reception, LongFramesAreForLeases) {
  serve();
  Raw client(server->address());
  client.greet();
  client.say('C', Bytes(100'000, ' '));
  EXPECT_EQ(client.hear('X').substr(0, 8), "corrupt\n");
}

// A client that takes no answers is not waited for beyond what a lease may last.
TEST_F(Reception, ASlowReaderLosesItsLeaseInTime) {
  serve({.max_hold = 300ms});
  Raw client(server->address());
  client.greet();
  client.say('C', "20000 0");
  client.hear('W');
  const auto begun = std::chrono::steady_clock::now();
  // Not by the channel, which reads while it sends. The answer is as long, and fits into no socket.
  const Bytes request = Bytes("\0\x10\0\1M", 5) + Bytes(1U << 20, 'x');
  for (std::size_t sent = 0; sent < request.size();) {
    ASSERT_NE(client.wire.wait(net::Wire::kWritable, after(kLong)), 0U);
    sent += static_cast<std::size_t>(std::max<ssize_t>(client.wire.send_some(BytesView(request).substr(sent)), 0));
  }
  EXPECT_TRUE(all_free());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 15s);
}

// A worker and a client that never stop sending do not outlast it either. A caller has its own timeout.
TEST_F(Reception, EndlessAnswersEndWithTheLease) {
  serve({.max_hold = 300ms});
  auto worker = checkout().value();
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(worker.call("babble", kLong).error().code, Errc::timed_out);
  EXPECT_TRUE(all_free());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 15s);
  server.reset();
  serve();
  worker = checkout().value();
  EXPECT_EQ(worker.call("babble", 300ms).error().code, Errc::timed_out);
  EXPECT_TRUE(all_free());
}

TEST_F(Reception, ALongRequestMayComeInParts) {
  serve();
  auto worker = checkout().value();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(worker.send(Bytes(50'000, 'x'), true));
  ASSERT_TRUE(worker.send("end"));
  EXPECT_EQ(worker.receive().value().bytes.size(), 1'000'003U);
}

}  // namespace
}  // namespace tenure
