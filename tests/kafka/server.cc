#include "kafka/server.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/assert.h"
#include "log_conformance/free_port.h"

namespace tenure::conformance {
namespace {

// setpriv, so that no broker outlives a test that is killed. Small, and compiled only as far as starting fast needs.
const std::vector<std::string> kCommand = {"--pdeathsig",
                                           "KILL",
                                           "/usr/bin/java",
                                           "-Xmx256m",
                                           "-XX:TieredStopAtLevel=1",
                                           "-XX:+UseSerialGC",
                                           "-Dorg.slf4j.simpleLogger.logFile=System.out",
                                           "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                                           "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info",
                                           "-cp",
                                           TENURE_KAFKA_FILES "/jars/*",
                                           "kafka.Kafka"};

bool is_ready(Child& server) {
  while (const auto line = server.line()) {
    if (line->find("Kafka Server started") != std::string::npos) return true;
  }
  return false;
}

void copy_folder(const std::string& from, const std::string& to) {
  std::filesystem::remove_all(to);
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
}

}  // namespace

KafkaServer::KafkaServer(std::vector<std::string> settings) : settings_(std::move(settings)) {
  std::filesystem::copy(TENURE_KAFKA_FILES "/formatted", directory() + "/data",
                        std::filesystem::copy_options::recursive);
  constexpr int kTries = 5;  // somebody may take a port in between
  for (int i = 0; i < kTries; ++i) {
    port_ = free_port();
    controller_port_ = free_port();
    if (start()) return;
  }
  const bool started = false;
  ASSERT(started);
}

bool KafkaServer::start() {
  const std::string controller = "127.0.0.1:" + std::to_string(controller_port_);
  const std::string path = directory() + "/server.properties";
  std::ofstream properties(path);
  properties << "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@" << controller
             << "\nlisteners=PLAINTEXT://" << brokers() << ",CONTROLLER://" << controller
             << "\ncontroller.listener.names=CONTROLLER\nlog.dirs=" << directory() << "/data\n"
             << "num.network.threads=2\nnum.io.threads=4\nbroker.session.timeout.ms=3000\n"
             << "broker.heartbeat.interval.ms=500\nlog.segment.delete.delay.ms=1000\noffsets.topic.num.partitions=1\n"
             << "offsets.topic.replication.factor=1\n";
  for (const std::string& setting : settings_) properties << setting << "\n";
  properties.close();
  std::vector<std::string> words = kCommand;
  words.push_back(path);
  server_ = std::make_unique<Child>("/usr/bin/setpriv", words);
  return is_ready(*server_);
}

void KafkaServer::kill() {
  signal(SIGKILL);
  server_->wait();
}

void KafkaServer::restart() {
  const bool started = start();
  ASSERT(started);
}

void KafkaServer::forget() { copy_folder(TENURE_KAFKA_FILES "/formatted", directory() + "/data"); }

void KafkaServer::save() { copy_folder(directory() + "/data", directory() + "/saved"); }

void KafkaServer::bring_back() { copy_folder(directory() + "/saved", directory() + "/data"); }

}  // namespace tenure::conformance
