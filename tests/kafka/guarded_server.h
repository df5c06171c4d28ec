#pragma once

// A broker with two users, `worker` and `stranger`, whose password is "hidden". They have only the rights that an
// administrator gives them. A client that connects to `brokers()` is the administrator.

#include <string>
#include <vector>

#include "kafka/server.h"
#include "log_conformance/free_port.h"

namespace tenure::conformance {

class GuardedServer {
 public:
  // HOST:PORT of users.
  std::string place() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string brokers() const { return "127.0.0.1:" + std::to_string(brokers_port_); }

 private:
  std::vector<std::string> settings() const {
    const std::string plain =
        "org.apache.kafka.common.security.plain.PlainLoginModule required user_stranger=\"hidden\" "
        "user_worker=\"hidden\";";
    return {"listeners=SASL_PLAINTEXT://127.0.0.1:" + std::to_string(port_) + ",PLAINTEXT://127.0.0.1:" +
                std::to_string(brokers_port_) + ",CONTROLLER://127.0.0.1:" + std::to_string(controller_port_),
            "controller.quorum.voters=1@127.0.0.1:" + std::to_string(controller_port_),
            "inter.broker.listener.name=PLAINTEXT",
            "sasl.enabled.mechanisms=PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config=" + plain,
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users=User:ANONYMOUS"};
  }

  const std::uint16_t port_ = free_port();
  const std::uint16_t brokers_port_ = free_port();
  const std::uint16_t controller_port_ = free_port();
  const KafkaServer server_{settings()};
};

}  // namespace tenure::conformance
