#include "kafka/shared_broker.h"

#include <fcntl.h>
#include <librdkafka/rdkafka.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <thread>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/entropy.h"

namespace tenure::conformance {
namespace {

constexpr std::chrono::seconds kStartPatience{50};
constexpr int kAskMs = 10'000;
const std::string kFolder = TENURE_KAFKA_SHARED;

int open_locked(const std::string& name, int how) {
  const int file = ::open((kFolder + "/" + name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT(file >= 0);
  ASSERT(::flock(file, how) == 0);
  return file;
}

// "PID HOST:PORT" of a keeper that lives.
std::optional<std::string> running_broker() {
  std::ifstream file(kFolder + "/broker");
  pid_t keeper = 0;
  std::string brokers;
  if (!(file >> keeper >> brokers) || ::kill(keeper, 0) != 0) return std::nullopt;
  return brokers;
}

void start_keeper() {
  const std::string program = TENURE_KAFKA_KEEPER;
  std::array<char*, 3> words = {const_cast<char*>(program.c_str()), const_cast<char*>(kFolder.c_str()), nullptr};
  pid_t keeper = 0;
  ASSERT(posix_spawn(&keeper, program.c_str(), nullptr, nullptr, words.data(), environ) == 0);
  int status = 0;
  ASSERT(::waitpid(keeper, &status, 0) == keeper);  // it goes on in the background
}

rd_kafka_t* admin(const std::string& brokers) {
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  std::array<char, 256> why{};
  rd_kafka_conf_set(conf, "bootstrap.servers", brokers.c_str(), why.data(), why.size());
  rd_kafka_conf_set(conf, "allow.auto.create.topics", "false", why.data(), why.size());
  rd_kafka_t* const handle = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why.data(), why.size());
  ASSERT(handle != nullptr);
  return handle;
}

std::vector<std::string> topics_of(rd_kafka_t* handle, const std::string& prefix) {
  const struct rd_kafka_metadata* found = nullptr;
  std::vector<std::string> names;
  if (rd_kafka_metadata(handle, 1, nullptr, &found, kAskMs) != RD_KAFKA_RESP_ERR_NO_ERROR) return names;
  for (int i = 0; i < found->topic_cnt; ++i) {
    const std::string name = found->topics[i].topic;
    if (name.starts_with(prefix + ".")) names.push_back(name);
  }
  rd_kafka_metadata_destroy(found);
  return names;
}

}  // namespace

std::string shared_broker() {
  ::mkdir(kFolder.c_str(), 0700);
  // Held until this process ends: the keeper waits for it.
  static const int user = open_locked("users", LOCK_SH);
  static_cast<void>(user);
  const int starting = open_locked("starting", LOCK_EX);
  auto brokers = running_broker();
  if (!brokers) {
    start_keeper();
    const auto deadline = std::chrono::steady_clock::now() + kStartPatience;
    while (!brokers && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      brokers = running_broker();
    }
  }
  ::close(starting);
  ASSERT(brokers.has_value());
  return *brokers;
}

TopicSpace::TopicSpace(std::string brokers)
    : brokers_(std::move(brokers)), prefix_("t" + to_hex(SystemEntropy().id())) {}

std::vector<std::string> TopicSpace::topics() const {
  rd_kafka_t* const handle = admin(brokers_);
  auto names = topics_of(handle, prefix_);
  rd_kafka_destroy(handle);
  return names;
}

TopicSpace::~TopicSpace() {
  rd_kafka_t* const handle = admin(brokers_);
  std::vector<rd_kafka_DeleteTopic_t*> topics;
  for (const std::string& name : topics_of(handle, prefix_)) topics.push_back(rd_kafka_DeleteTopic_new(name.c_str()));
  if (!topics.empty()) {
    rd_kafka_queue_t* const queue = rd_kafka_queue_new(handle);
    rd_kafka_DeleteTopics(handle, topics.data(), topics.size(), nullptr, queue);
    if (rd_kafka_event_t* const event = rd_kafka_queue_poll(queue, kAskMs)) rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_DeleteTopic_destroy_array(topics.data(), topics.size());
  }
  rd_kafka_destroy(handle);
}

}  // namespace tenure::conformance
