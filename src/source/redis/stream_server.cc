#include "source/redis/stream_server.h"

#include <array>
#include <future>

#include "log/redis/command.h"
#include "source/redis/stream_scripts.h"

namespace tenure::source::redis {

using tenure::redis::Connection;
using tenure::redis::RedisSettings;
using tenure::redis::Reply;

Result<std::unique_ptr<StreamServer>> StreamServer::open(std::string_view url) {
  Result<StreamUrl> parts = split_stream_url(url);
  if (!parts) return Failure(parts.error());
  Result<RedisSettings> settings = tenure::redis::parse_settings(parts->engine);
  if (!settings) return Failure(settings.error());
  auto reactor = net::Reactor::start(settings->tls);
  if (!reactor) return Failure(reactor.error());
  return std::unique_ptr<StreamServer>(
      new StreamServer(*std::move(settings), std::move(parts->stream), *std::move(reactor)));
}

StreamServer::StreamServer(RedisSettings settings, Bytes key, std::unique_ptr<net::Reactor> reactor)
    : settings_(std::move(settings)),
      key_(std::move(key)),
      limits_(limits_key(key_)),
      reactor_(std::move(reactor)),
      connection_(std::make_unique<Connection>(
          world(), settings_,
          [this] {
            const StreamScripts& scripts = StreamScripts::get();
            return tenure::redis::Greeting(
                settings_, {&scripts.look, &scripts.fetch, &scripts.create, &scripts.add, &scripts.set_limits},
                tenure::redis::command({"EXISTS", key_}));
          },
          [](const Error& /*error*/) {})) {}

StreamServer::~StreamServer() { reactor_->close(); }

Result<Reply> StreamServer::ask(std::string_view operation, Bytes command, Nanos patience) {
  auto answer = std::make_shared<std::promise<Result<Reply>>>();
  std::future<Result<Reply>> answered = answer->get_future();
  reactor_->run_or_post([this, operation, command = std::move(command), answer, patience]() mutable {
    connection_->send(
        operation, std::move(command), [answer](Result<Reply> reply) { answer->set_value(std::move(reply)); },
        patience);
  });
  return answered.get();  // a connection always answers
}

Result<Reply> StreamServer::run(std::string_view operation, const tenure::redis::Script& script,
                                std::span<const std::string_view> arguments) {
  const std::array<std::string_view, 2> keys = {key_, limits_};
  return ask(operation, call(script, keys, arguments));
}

}  // namespace tenure::source::redis
