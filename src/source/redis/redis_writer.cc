// The writer of a Redis stream. Every call is one request.

#include <array>
#include <string>

#include "log/redis/command.h"
#include "source/redis/entry_position.h"
#include "source/redis/redis_source.h"
#include "source/redis/stream_look.h"
#include "source/redis/stream_scripts.h"
#include "source/redis/stream_server.h"

namespace tenure::source::redis {
namespace {

using tenure::redis::command;
using tenure::redis::Reply;
using tenure::redis::Value;

class RedisWriter final : public StreamWriter {
 public:
  explicit RedisWriter(std::unique_ptr<StreamServer> server) : server_(std::move(server)) {}

  Status open(bool create) {
    const StreamScripts& scripts = StreamScripts::get();
    const Result<Reply> reply = server_->run("open stream", create ? scripts.create : scripts.look, {});
    if (!reply) return Failure(reply.error());
    return reply->value().is_nil() ? no_stream() : Status();
  }

  Result<std::vector<std::uint64_t>> add(const std::vector<Event>& events) override {
    if (const Status fits = check_added(events); !fits) return Failure(fits.error());
    if (events.empty()) return std::vector<std::uint64_t>();
    const Result<Reply> reply = send(events);
    if (!reply) return Failure(reply.error());
    const Value said = reply->value();
    if (said.text() == "gone") return Failure(no_stream().error());
    if (said[0].text() == "full") {
      return fail(Errc::pool_full, "add to stream",
                  server_->settings().shown + ": '" + server_->key() + "' is at its bound of " +
                      std::string(said[1].text()) + " events: trim it");
    }
    std::vector<std::uint64_t> positions;
    for (std::size_t i = 0; i < said.size(); ++i) {
      const auto position = position_of(said[i].text());
      if (!position) return fail(Errc::unknown, "redis add to stream", "the server's answer is not an id");
      positions.push_back(*position);
    }
    if (positions.size() != events.size()) {
      return fail(Errc::unknown, "redis add to stream", "the server's answer is too short");
    }
    if (const Status copied = wait_for_replicas(); !copied) return Failure(copied.error());
    return positions;
  }

  Result<std::vector<Bytes>> add_named(const std::vector<Event>& events) override {
    const auto added = add(events);
    if (!added) return Failure(added.error());
    std::vector<Bytes> names;
    for (const std::uint64_t at : *added) names.push_back("0/" + id_at(at));
    return names;
  }

  Result<std::uint64_t> trim(std::uint64_t before) override {
    const Result<StreamInfo> there = info();
    if (!there) return Failure(there.error());
    const std::string id = id_at(before);
    const Result<Reply> reply = server_->ask("trim stream", command({"XTRIM", server_->key(), "MINID", "=", id}));
    if (!reply) return Failure(reply.error());
    return static_cast<std::uint64_t>(reply->value().integer());
  }

  Result<StreamInfo> info() override {
    const Result<Reply> looked = server_->run("look at stream", StreamScripts::get().look, {});
    if (!looked) return Failure(looked.error());
    if (looked->value().is_nil()) return Failure(no_stream().error());
    const Result<Reply> bound =
        server_->ask("look at stream", command({"HMGET", server_->limits(), "events_max", "at_bound"}));
    if (!bound) return Failure(bound.error());
    const StreamLook look = parse_look(looked->value());
    StreamInfo info{.events = look.length, .ends = look.ends()};
    info.limits.events_max = bound->value()[0].number();
    const bool drops = bound->value()[1].text() == "drop";
    info.limits.at_bound = drops ? StreamLimits::AtBound::drop_oldest : StreamLimits::AtBound::refuse;
    // Not every user may ask for it.
    const Result<Reply> bytes = server_->ask("look at stream", command({"MEMORY", "USAGE", server_->key()}));
    if (bytes && bytes->value().integer() > 0) info.bytes = static_cast<std::uint64_t>(bytes->value().integer());
    return info;
  }

  Status set_limits(const StreamLimits& limits) override {
    const std::string max = std::to_string(limits.events_max);
    const std::string_view policy = limits.at_bound == StreamLimits::AtBound::drop_oldest ? "drop" : "refuse";
    const std::array<std::string_view, 2> arguments = {max, policy};
    const Result<Reply> reply = server_->run("bound stream", StreamScripts::get().set_limits, arguments);
    if (!reply) return Failure(reply.error());
    return reply->value().is_nil() ? no_stream() : Status();
  }

  Status remove() override {
    const Result<Reply> reply = server_->ask("remove stream", command({"UNLINK", server_->key(), server_->limits()}));
    return reply ? Status() : Failure(reply.error());
  }

 private:
  // For each event the number of its words, and these.
  Result<Reply> send(const std::vector<Event>& events) {
    std::vector<std::string_view> words;
    const std::string count = std::to_string(events.size());
    words.push_back(count);
    std::vector<std::string> counts(events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      const std::size_t at = words.size();
      words.emplace_back();
      words.insert(words.end(), {"payload", event.payload});
      if (event.key) words.insert(words.end(), {"key", *event.key});
      if (!event.name.empty()) words.insert(words.end(), {"name", event.name});
      if (!event.topic.empty()) words.insert(words.end(), {"topic", event.topic});
      for (const auto& [name, value] : event.headers) words.insert(words.end(), {name, value});
      counts[i] = std::to_string(words.size() - at - 1);
      words[at] = counts[i];
    }
    return server_->run("add to stream", StreamScripts::get().add, words);
  }

  // WAIT speaks for everything that its connection has written before.
  Status wait_for_replicas() {
    const std::uint32_t wanted = server_->settings().wait_replicas;
    if (wanted == 0) return {};
    const std::string count = std::to_string(wanted);
    const Nanos patience = server_->settings().timeout;
    const std::string ms = std::to_string(to_ms(patience));
    const Result<Reply> reply = server_->ask("add to stream", command({"WAIT", count, ms}), patience);
    if (reply && reply->value().integer() >= std::int64_t{wanted}) return {};
    return fail(Errc::unknown, "redis add to stream",
                server_->settings().shown + ": fewer than " + count + " replicas have it (wait_replicas)");
  }

  Status no_stream() const {
    return fail(Errc::no_such_key, "redis stream",
                server_->settings().shown + ": there is no stream '" + server_->key() + "'");
  }

  const std::unique_ptr<StreamServer> server_;
};

}  // namespace

Result<std::unique_ptr<StreamWriter>> open_writer(std::string_view url, bool create) {
  auto server = StreamServer::open(url);
  if (!server) return Failure(server.error());
  auto writer = std::make_unique<RedisWriter>(*std::move(server));
  if (const Status opened = writer->open(create); !opened) return Failure(opened.error());
  return writer;
}

}  // namespace tenure::source::redis
