// Remote checkout: the lease is the connection, whatever ends it; and who may connect.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tenure/checkout_remote.hpp>
#include <thread>

#include "guard/process.h"
#include "remote/remote_stage.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using net::after;
using Remote = RemoteStage;

TEST_F(Remote, CallsGoToAWorkerUntilItIsGivenBack) {
  for (const std::string listen : {"", "tcp:127.0.0.1:0"}) {
    serve({.listen = listen});
    {
      auto worker = checkout().value();
      EXPECT_EQ(worker.call("hello").value(), "hello");
      EXPECT_EQ(worker.call("pid").value(), std::to_string(worker.process_id()));
      EXPECT_EQ(worker.call("parts 3").value(), "0 1 2 end");
      EXPECT_EQ(worker.call("error not today").error().context, "not today");
      EXPECT_EQ(worker.call(std::string(3U << 20, 'x')).value().size(), 3U << 20);
      for (int i = 0; i < 500; ++i) ASSERT_TRUE(worker.send(std::to_string(i)));
      for (int i = 0; i < 500; ++i) ASSERT_EQ(worker.receive().value().bytes, std::to_string(i));
      EXPECT_EQ(pool->state().held, 1U);
      EXPECT_NE(remote_checkout_stats(to).value().find("\"held\":1"), std::string::npos);
    }
    EXPECT_TRUE(all_free());
    EXPECT_EQ(pool->metrics().discarded, 0U);  // the same program serves the next
    server.reset();
  }
}

TEST_F(Remote, RefusalsAreThoseOfThePool) {
  serve();
  auto held = checkout().value();
  EXPECT_EQ(checkout(10ms).error().code, Errc::timed_out);
  std::thread waits([this] { EXPECT_TRUE(checkout()); });
  ASSERT_TRUE(soon([this] { return pool->state().waiting == 1; }));
  EXPECT_EQ(checkout(1s).error().code, Errc::overloaded);
  held.checkin();
  waits.join();
  pool->close();
  EXPECT_EQ(checkout().error().code, Errc::pool_down);
  server.reset();
  EXPECT_EQ(checkout().error().code, Errc::unavailable);
}

// The end of a connection, in the queue, with an idle worker, and with one that owes an answer.
TEST_F(Remote, TheLeaseEndsWithTheConnection) {
  serve();
  std::int64_t process = 0;
  {
    Raw client(server->address());
    client.greet();
    client.say('C', "20000 0");
    process = std::stoll(client.hear('W'));
    Raw waits(server->address());
    waits.greet();
    waits.say('C', "20000 0");
    ASSERT_TRUE(soon([this] { return pool->state().waiting == 1; }));
    ::shutdown(waits.socket.get(), SHUT_RDWR);
    EXPECT_TRUE(soon([this] { return pool->state().waiting == 0; }));
  }
  ASSERT_TRUE(all_free());
  {
    Raw client(server->address());
    client.greet();
    client.say('C', "20000 0");
    EXPECT_EQ(std::stoll(client.hear('W')), process);  // it went back
    client.say('M', "hang");
  }
  const guard::Watched killed(static_cast<pid_t>(process));
  EXPECT_TRUE(killed.dies_within(kLong));
  EXPECT_NE(checkout().value().process_id(), process);
}

// A client that goes away while its worker is busy and more is on its way than the sockets hold is noticed all the
// same.
TEST_F(Remote, ABusyWorkerDoesNotHideAClientThatIsGone) {
  serve();
  pid_t process = 0;
  {
    Raw client(server->address());
    client.greet();
    client.say('C', "20000 0");
    process = std::stoi(client.hear('W'));
    client.say('M', "hang");
    const Bytes large(400'000, 'x');
    for (int i = 0; i < 10; ++i) (void)client.channel.send('M', large, after(20ms));
  }
  const guard::Watched killed(process);
  EXPECT_TRUE(killed.dies_within(kLong));
  EXPECT_TRUE(all_free());
}

TEST_F(Remote, AWorkerThatDiesAndOneThatHangs) {
  serve();
  {
    auto worker = checkout().value();
    const auto answer = worker.call("exit 3");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::worker_died);
    EXPECT_EQ(answer.error().context, "the program ended with exit code 3");
    EXPECT_EQ(worker.call("more").error().code, Errc::closed);
  }
  auto worker = checkout().value();
  const guard::Watched hangs(static_cast<pid_t>(worker.process_id()));
  EXPECT_EQ(worker.call("hang", 20ms).error().code, Errc::timed_out);
  EXPECT_TRUE(hangs.dies_within(kLong));
  EXPECT_TRUE(all_free());
}

TEST_F(Remote, TheServersEndEndsLeases) {
  serve({.max_hold = 50ms});
  {
    auto worker = checkout().value();
    EXPECT_TRUE(all_free());  // it was held for too long, and has gone back
    EXPECT_EQ(worker.call("late").error().code, Errc::timed_out);
  }
  server.reset();
  serve();
  auto worker = checkout().value();
  server.reset();
  EXPECT_EQ(worker.call("late").error().code, Errc::unavailable);
  EXPECT_TRUE(all_free());
}

TEST_F(Remote, TokensAndAddresses) {
  serve({.token = "secret"});
  EXPECT_TRUE(checkout());
  for (const std::string wrong : {"", "secre", "secret ", "Secret", "secretsecret"}) {
    to.token = wrong;
    EXPECT_EQ(checkout().error().code, Errc::refused) << wrong;
  }
  struct stat socket{};
  ASSERT_EQ(stat((folder.path() + "/pool.sock").c_str(), &socket), 0);
  EXPECT_EQ(socket.st_mode & 0777, 0600U);  // for its owner alone
  // Off this host TLS and a token are needed, and a socket that is served, or is none, is not taken away.
  const auto open = [this](ServeOptions options) {
    const auto made = CheckoutServer::open(pool->ref(), std::move(options));
    return made ? Errc{} : made.error().code;
  };
  EXPECT_EQ(open({.listen = "tcp:0.0.0.0:0"}), Errc::invalid);
  EXPECT_EQ(open({.listen = "tcp:0.0.0.0:0", .token = "secret"}), Errc::invalid);
  EXPECT_EQ(open({.listen = server->address()}), Errc::unavailable);
  std::ofstream(folder.path() + "/file") << "mine";
  EXPECT_EQ(open({.listen = "unix:" + folder.path() + "/file"}), Errc::refused);
  for (const std::string bad :
       {"", "unix:", "tcp:", "tcp:host", "tcp:127.0.0.1:99999", "tcp::1", "http://x", "tcp:h:x"}) {
    EXPECT_EQ(open({.listen = bad}), Errc::invalid) << bad;
    to.address = bad;
    EXPECT_EQ(checkout().error().code, Errc::invalid) << bad;
  }
  // One that was left behind by a server that is gone is taken over.
  {
    const Descriptor left(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s/left", folder.path().c_str());
    ASSERT_EQ(::bind(left.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  EXPECT_EQ(open({.listen = "unix:" + folder.path() + "/left"}), Errc{});
}

// A peer that is gone without a word is looked for on both ends. What is left of ten seconds depends on how long ago it
// was last heard of; tests/e2e/link_test.py cuts a real link.
TEST_F(Remote, HalfOpenConnectionsAreNoticed) {
  serve({.listen = "tcp:127.0.0.1:0"});
  const auto worker = checkout().value();
  int kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int number = std::atoi(entry.path().filename().c_str());
    int on = 0;
    int timeout = 0;
    socklen_t size = sizeof on;
    if (getsockopt(number, SOL_SOCKET, SO_KEEPALIVE, &on, &size) != 0 || on == 0) continue;
    size = sizeof timeout;
    if (getsockopt(number, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, &size) != 0) continue;
    if (timeout >= 1'000 && timeout <= 10'000) ++kept;
  }
  EXPECT_EQ(kept, 2);
}

// Bytes that are not frames, unexpected frames, and connections beyond the limit: the server continues.
TEST_F(Remote, BadInputIsRefused) {
  serve();
  {
    Raw client(server->address());
    client.say('H', "something else");
    EXPECT_EQ(client.hear('X').substr(0, 8), "version\n");
  }
  {
    Raw client(server->address());
    client.greet();
    client.say('?', "");
    EXPECT_EQ(client.hear('X').substr(0, 8), "invalid\n");
  }
  for (const std::string bad : {"", "x", "-1 0", "10", "10 2", "10 0 "}) {
    Raw client(server->address());
    client.greet();
    client.say('C', bad);
    EXPECT_EQ(client.hear('X').substr(0, 8), "invalid\n") << bad;
  }
  {
    Raw client(server->address());
    EXPECT_EQ(client.wire.send_some("GET / HTTP/1.1\r\n\r\n"), 18);
    EXPECT_EQ(client.hear('-').substr(0, 7), "nothing");
  }
  server.reset();
  serve({.hello_timeout = 50ms});
  {
    Raw silent(server->address());  // one that never says who it is
    EXPECT_EQ(silent.hear('-').substr(0, 7), "nothing");
  }
  server.reset();
  serve({.connections_max = 2});
  {
    Raw client(server->address());
    client.greet();
    client.say('C', "20000 0");
    client.hear('W');
    client.say('M', "hello");
    EXPECT_EQ(client.hear('M'), "hello");
    Raw second(server->address());
    second.greet();
    ASSERT_TRUE(soon([this] { return server->connections() == 2; }));
    EXPECT_EQ(checkout().error().code, Errc::busy);
    client.say('Z', "");
    EXPECT_EQ(client.hear('X').substr(0, 8), "invalid\n");
  }
  ASSERT_TRUE(soon([this] { return server->connections() == 0; }));
  EXPECT_EQ(checkout().value().call("still there").value(), "still there");
}

#ifdef TENURE_WITH_TLS
TEST_F(Remote, TlsVerifiesWhoServes) {
  const std::string base = folder.path();
  const std::string make =
      "cd " + base +
      " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout k.pem "
      "-out c.pem -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1 2>/dev/null && "
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout k2.pem "
      "-out other.pem -days 2 -subj /CN=other 2>/dev/null";
  ASSERT_EQ(std::system(make.c_str()), 0);
  ServeOptions options{.listen = "tcp:0.0.0.0:0", .token = "secret"};
  options.tls_certificate = base + "/c.pem";
  options.tls_key = base + "/k.pem";
  serve(options);
  to.address.replace(to.address.find("0.0.0.0"), 7, "127.0.0.1");
  to.tls = true;
  to.tls_authorities = base + "/c.pem";
  {
    auto worker = checkout().value();
    EXPECT_EQ(worker.call("hello").value(), "hello");
    EXPECT_EQ(worker.call(std::string(3U << 20, 'x')).value().size(), 3U << 20);
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(worker.send(std::to_string(i)));
    for (int i = 0; i < 200; ++i) ASSERT_EQ(worker.receive().value().bytes, std::to_string(i));
  }
  EXPECT_TRUE(all_free());
  to.token = "wrong";
  EXPECT_EQ(checkout().error().code, Errc::refused);
  to.token = "secret";
  to.tls_authorities = base + "/other.pem";
  EXPECT_EQ(checkout().error().code, Errc::refused);
  to.tls_authorities = base + "/c.pem";
  const std::string by_number = to.address;
  to.address.replace(to.address.find("127.0.0.1"), 9, "localhost");  // which the certificate does not name
  EXPECT_EQ(checkout().error().code, Errc::refused);
  to.address = by_number;
  to.tls = false;  // who speaks no TLS is not understood
  to.connect_timeout = 300ms;
  EXPECT_FALSE(checkout());
  options.tls_key = base + "/nowhere.pem";
  EXPECT_EQ(CheckoutServer::open(pool->ref(), options).error().code, Errc::refused);
}
#endif

}  // namespace
}  // namespace tenure
