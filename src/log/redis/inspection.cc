#include "log/redis/inspection.h"

#include <future>
#include <memory>
#include <optional>
#include <string>

#include "base/entropy.h"
#include "log/redis/command.h"
#include "log/redis/connection.h"
#include "log/redis/keys.h"
#include "log/redis/rights.h"
#include "net/reactor.h"

namespace tenure::redis {
namespace {

// A connection for one request after the other, each waiting for its answer.
class Interview {
 public:
  Interview(const RedisSettings& settings, std::unique_ptr<net::Reactor> reactor)
      : reactor_(std::move(reactor)),
        connection_(
            World{*reactor_, *reactor_, entropy_, admission_}, settings,
            [&settings] { return Greeting(settings, {}, {}); }, [](const Error&) {}) {}
  ~Interview() { reactor_->close(); }
  Interview(const Interview&) = delete;
  Interview& operator=(const Interview&) = delete;

  Result<Reply> ask(std::initializer_list<std::string_view> words) {
    auto answer = std::make_shared<std::promise<Result<Reply>>>();
    std::future<Result<Reply>> answered = answer->get_future();
    reactor_->post([this, bytes = command(words), answer] {
      connection_.send("inspect", bytes, [answer](Result<Reply> reply) { answer->set_value(std::move(reply)); });
    });
    return answered.get();  // a connection always answers
  }

 private:
  SystemEntropy entropy_;
  Admission admission_;
  const std::unique_ptr<net::Reactor> reactor_;
  Connection connection_;  // used on the reactor's thread, and after that has ended
};

// The value from the NAME:VALUE lines of INFO.
std::string field(std::string_view info, const std::string& name) {
  const std::size_t at = info.find("\n" + name + ":");
  if (at == std::string_view::npos) return "";
  const std::string_view value = info.substr(at + name.size() + 2);
  return std::string(value.substr(0, value.find_first_of("\r\n")));
}

void take_info(std::string_view info, ServerFacts& facts) {
  facts.version = field(info, "redis_version");
  facts.role = field(info, "role");
  facts.replicas = std::strtoull(field(info, "connected_slaves").c_str(), nullptr, 10);
  facts.used_memory = std::strtoull(field(info, "used_memory").c_str(), nullptr, 10);
  facts.cluster = field(info, "cluster_enabled") == "1";
  facts.writes_fail = field(info, "rdb_last_bgsave_status") == "err" || field(info, "aof_last_write_status") == "err";
}

std::string setting(Interview& interview, std::string_view name) {
  const Result<Reply> reply = interview.ask({"CONFIG", "GET", name});
  return reply ? std::string(reply->value()[1].text()) : "";
}

// ACL DRYRUN only reports. If the user may not run it, there is no finding.
std::optional<Finding> rights(Interview& interview, const Keys& keys) {
  const Result<Reply> name = interview.ask({"ACL", "WHOAMI"});
  if (!name) return std::nullopt;
  const std::string user(name->value().text());
  const std::string key = keys.meta;
  std::string missing;
  for (const std::string_view right : kRights) {
    const std::size_t bar = right.find('|');
    const Result<Reply> verdict =
        bar == std::string_view::npos
            ? interview.ask({"ACL", "DRYRUN", user, right, key, key, key, key})
            : interview.ask({"ACL", "DRYRUN", user, right.substr(0, bar), right.substr(bar + 1), key});
    if (!verdict && verdict.error().code == Errc::refused) {
      // Ignore errors about wrong arguments; a missing right to run it matters.
      if (verdict.error().context.find("NOPERM") != std::string::npos) return std::nullopt;
      continue;
    }
    if (verdict && verdict->value().text().find("permission") != std::string_view::npos) {
      missing += (missing.empty() ? "+" : " +") + std::string(right);
    }
  }
  return Finding{
      "rights", missing.empty(),
      missing.empty() ? "user '" + user + "' has all rights that a pool needs" : "user '" + user + "' lacks " + missing,
      "ACL SETUSER " + user + " " + missing};
}

}  // namespace

std::vector<Finding> inspect(std::string_view url, const LogOptions& options) {
  const auto settings = parse_settings(url);
  if (!settings) return {};
  auto reactor = net::Reactor::start(settings->tls);
  if (!reactor) return {};
  Interview interview(*settings, *std::move(reactor));
  ServerFacts facts;
  const Result<Reply> info = interview.ask({"INFO"});
  if (!info && info.error().context.find("NOPERM") == std::string::npos) return {};
  if (info) take_info(info->value().text(), facts);
  facts.appendonly = setting(interview, "appendonly");
  facts.appendfsync = setting(interview, "appendfsync");
  facts.save = setting(interview, "save");
  facts.maxmemory = setting(interview, "maxmemory");
  facts.policy = setting(interview, "maxmemory-policy");
  facts.min_replicas = setting(interview, "min-replicas-to-write");
  std::vector<Finding> findings = judge_facts(facts, !settings->service.empty(), settings->wait_replicas);
  if (auto found = rights(interview, Keys(options.pool, options.shard.index))) findings.push_back(*std::move(found));
  return findings;
}

}  // namespace tenure::redis
