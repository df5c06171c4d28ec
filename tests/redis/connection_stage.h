#pragma once

// One Connection, and the servers that it connects to.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "log/redis/command.h"
#include "log/redis/connection.h"
#include "redis/scripted_server.h"

namespace tenure::redis {

class ConnectionStage : public testing::Test {
 protected:
  void connect_by(const std::string& url) {
    settings_ = parse_settings(url).value();
    connection_.emplace(
        World{loop_, transport_, entropy_, admission_}, settings_, [this] { return Greeting(settings_, {}, proof_); },
        [this](const Error& error) { lost_.push_back(error.code); });
  }
  Connection& connection() { return *connection_; }
  Peer& server() { return transport_.last(); }

  // Notes the answer: its text, or the code of its error.
  void ask(const std::string& word, Nanos patience = Nanos(0)) {
    connection().send(
        "ask", command({word}),
        [this](const Result<Reply>& reply) {
          answers_.push_back(reply ? std::string(reply->value().text()) : std::string(to_string(reply.error().code)));
        },
        patience);
    loop_.settle();
  }
  void greet() {
    server().accept();
    EXPECT_EQ(server().take(), command({"PING"}));
    server().say("+PONG\r\n");
    loop_.settle();
  }

  using Answers = std::vector<std::string>;

  ManualLoop loop_;
  ScriptedTransport transport_;
  SeededEntropy entropy_{1};
  Admission admission_;
  RedisSettings settings_;
  Bytes proof_;
  Answers answers_;
  std::vector<Errc> lost_;
  std::optional<Connection> connection_;
};

}  // namespace tenure::redis
