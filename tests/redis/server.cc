#include "redis/server.h"

#include <hiredis/hiredis.h>

#include <csignal>

#include "base/assert.h"

namespace tenure::conformance {
namespace {

std::string text_of(const redisReply* reply) {
  if (reply->type == REDIS_REPLY_INTEGER) return std::to_string(reply->integer);
  if (reply->type != REDIS_REPLY_ARRAY) return reply->str == nullptr ? "" : std::string(reply->str, reply->len);
  std::string text;
  for (std::size_t i = 0; i < reply->elements; ++i) text += (i == 0 ? "" : " ") + text_of(reply->element[i]);
  return text;
}

bool ready(Child& server) {
  while (const auto line = server.line()) {
    if (line->find("ready to accept connections at") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

// setpriv, so that no server outlives a test that is killed.
std::unique_ptr<Child> start_redis(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"--pdeathsig", "KILL", program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return std::make_unique<Child>("/usr/bin/setpriv", words);
}

RedisServer::RedisServer(std::vector<std::string> options) : options_(std::move(options)) { start(); }

void RedisServer::start() {
  constexpr int kTries = 5;  // somebody may take the port in between
  for (int i = 0; i < kTries; ++i) {
    if (port_ == 0 || i > 0) port_ = free_port();
    std::vector<std::string> words = {
        "--port", std::to_string(port_), "--bind",       "127.0.0.1", "--save",       "",
        "--dir",  directory(),           "--unixsocket", socket(),    "--appendonly", "no"};
    words.insert(words.end(), options_.begin(), options_.end());
    server_ = start_redis("/usr/bin/redis-server", words);
    if (ready(*server_)) return;
  }
  const bool started = false;
  ASSERT(started);
}

void RedisServer::kill() {
  signal(SIGKILL);
  server_->wait();
}

std::string RedisServer::command(const std::vector<std::string>& words) const {
  redisContext* const context = redisConnectUnix(socket().c_str());
  ASSERT(context != nullptr && context->err == 0);
  std::vector<const char*> starts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    starts.push_back(word.data());
    sizes.push_back(word.size());
  }
  void* const reply = redisCommandArgv(context, static_cast<int>(words.size()), starts.data(), sizes.data());
  ASSERT(reply != nullptr);
  std::string text = text_of(static_cast<redisReply*>(reply));
  freeReplyObject(reply);
  redisFree(context);
  return text;
}

}  // namespace tenure::conformance
