// What a pool's user may do, as `tenure doctor` finds it out. One broker for all of it: it takes seconds to start.

#include <algorithm>

#include "base/clock.h"
#include "kafka/admin.h"
#include "kafka/guarded_server.h"
#include "log/engines.h"
#include "log/open.h"
#include "log_conformance/waiting.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

const std::string kPrefix = "tenure.";

Result<std::unique_ptr<Log>> try_to_open(const std::string& url) { return open_log(url, {}); }

Finding rights_of(const std::string& url) {
  const auto findings = engine_of("kafka://")->inspect(url, {});
  const auto found =
      std::find_if(findings.begin(), findings.end(), [](const Finding& finding) { return finding.name == "rights"; });
  if (found != findings.end()) return *found;
  ADD_FAILURE() << "nothing is said of rights";
  return {};
}

// A rule reaches the broker a moment after the controller has it.
Finding rights_until(const std::string& url, std::string_view wanted) {
  const BootClock clock;
  const Instant deadline = clock.now() + 20s;
  Finding found = rights_of(url);
  while (found.message.find(wanted) == std::string::npos && clock.now() < deadline) found = rights_of(url);
  EXPECT_NE(found.message.find(wanted), std::string::npos) << found.message;
  return found;
}

TEST(KafkaRights, AreTriedWithoutAChange) {
  const GuardedServer server;
  const KafkaAdmin admin(server.brokers());
  const std::string url = "kafka://worker:hidden@" + server.place() + "?timeout=2000&sasl=plain";
  using Right = KafkaAdmin::Right;
  for (const Right right : {Right::read, Right::write, Right::describe, Right::create}) {
    admin.allow("worker", right, kPrefix);
  }
  const BootClock clock;
  const Instant deadline = clock.now() + 20s;
  auto log = try_to_open(url);
  while (!log && clock.now() < deadline) log = try_to_open(url);
  ASSERT_TRUE(log) << log.error().message();
  const auto first = append(**log, "x");
  ASSERT_TRUE(first) << first.error().message();

  const Finding no_delete = rights_until(url, "may not delete records");
  EXPECT_FALSE(no_delete.ok);
  EXPECT_NE(no_delete.hint.find("--operation Delete"), std::string::npos) << no_delete.hint;
  admin.allow("worker", Right::drop, kPrefix);
  const Finding no_settings = rights_until(url, "may not read the settings");
  EXPECT_FALSE(no_settings.ok);
  admin.allow("worker", Right::read_settings, kPrefix);
  EXPECT_TRUE(rights_until(url, "may trim and create").ok);
  admin.deny("worker", Right::create, kPrefix);
  EXPECT_TRUE(rights_until(url, "but not create them").ok) << "an administrator may do that";

  const auto run = read(**log, {});
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->front().position, *first) << "nothing was dropped";
}

}  // namespace
}  // namespace tenure::conformance
