#include "kafka/server.h"

#include <filesystem>
#include <fstream>
#include <iterator>

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

void copy_folder(const std::string& from, const std::string& to) {
  std::filesystem::remove_all(to);
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
}

}  // namespace

KafkaServer::KafkaServer(std::vector<std::string> settings) : settings_(std::move(settings)) {
  format();
  constexpr int kTries = 5;  // somebody may take a port in between
  for (int i = 0; i < kTries; ++i) {
    port_ = free_port();
    seat_.controller_port = free_port();
    seat_.voters = "1@127.0.0.1:" + std::to_string(seat_.controller_port);
    start();
    if (wait_until_ready()) return;
  }
  const bool started = false;
  ASSERT(started);
}

KafkaServer::KafkaServer(Seat seat, std::vector<std::string> settings)
    : settings_(std::move(settings)), seat_(std::move(seat)), port_(free_port()) {
  format();
  start();
}

// A new broker's data. Each of a cluster has its own number, and names its folder with an id of its own.
void KafkaServer::format() const {
  copy_folder(TENURE_KAFKA_FILES "/formatted", directory() + "/data");
  const std::string path = directory() + "/data/meta.properties";
  std::ifstream properties(path);
  std::string text;
  for (std::string line; std::getline(properties, line);) {
    if (line.starts_with("node.id=")) line = "node.id=" + std::to_string(seat_.node);
    if (line.starts_with("directory.id=") && seat_.node != 1) {
      line = "directory.id=AAAAAAAAAAAAAAAAAAA" + std::to_string(seat_.node) + "QQ";
    }
    text += line + "\n";
  }
  properties.close();
  std::ofstream(path) << text;
}

void KafkaServer::start() {
  const std::string path = directory() + "/server.properties";
  std::ofstream properties(path);
  properties << "process.roles=broker,controller\nnode.id=" << seat_.node
             << "\ncontroller.quorum.voters=" << seat_.voters << "\nlisteners=PLAINTEXT://" << brokers()
             << ",CONTROLLER://127.0.0.1:" << std::to_string(seat_.controller_port)
             << "\ncontroller.listener.names=CONTROLLER\nlog.dirs=" << directory() << "/data\n"
             << "num.network.threads=2\nnum.io.threads=4\nbroker.session.timeout.ms=3000\n"
             << "broker.heartbeat.interval.ms=500\nlog.segment.delete.delay.ms=1000\noffsets.topic.num.partitions=1\n"
             << "offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n"
             << "transaction.state.log.min.isr=1\ntransaction.state.log.num.partitions=1\n";
  for (const std::string& setting : settings_) properties << setting << "\n";
  properties.close();
  std::vector<std::string> words = kCommand;
  words.push_back(path);
  server_ = std::make_unique<Child>("/usr/bin/setpriv", words);
}

bool KafkaServer::wait_until_ready() {
  while (const auto line = server_->line()) {
    if (line->find("Kafka Server started") != std::string::npos) return true;
  }
  return false;
}

// Its threads stop one after the other.
void KafkaServer::freeze() const {
  signal(SIGSTOP);
  const std::string tasks = "/proc/" + std::to_string(server_->pid()) + "/task";
  for (bool all = false; !all;) {
    all = true;
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
      std::ifstream file(task.path() / "stat");
      const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
      const std::size_t name_end = text.rfind(')');
      all = all && name_end != std::string::npos && text.substr(name_end + 1, 3) == " T ";
    }
  }
}

void KafkaServer::kill() {
  signal(SIGKILL);
  server_->wait();
}

void KafkaServer::restart() {
  start();
  ASSERT(wait_until_ready());
}

void KafkaServer::run_tool(const std::vector<std::string>& words) {
  std::vector<std::string> command = {
      "-Xmx128m", "-XX:TieredStopAtLevel=1",   "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
      "-cp",      TENURE_KAFKA_FILES "/jars/*"};
  command.insert(command.end(), words.begin(), words.end());
  Child tool("/usr/bin/java", command);
  ASSERT(tool.wait() == 0);
}

void KafkaServer::forget() { format(); }

void KafkaServer::save() { copy_folder(directory() + "/data", directory() + "/saved"); }

void KafkaServer::bring_back() { copy_folder(directory() + "/saved", directory() + "/data"); }

}  // namespace tenure::conformance
