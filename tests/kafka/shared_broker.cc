#include "kafka/shared_broker.h"

#include <fcntl.h>
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
#include "kafka/admin.h"

namespace tenure::conformance {
namespace {

constexpr std::chrono::seconds kStartPatience{50};
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

std::vector<std::string> TopicSpace::topics() const { return KafkaAdmin(brokers_).topics(prefix_ + "."); }

TopicSpace::~TopicSpace() {
  const KafkaAdmin admin(brokers_);
  admin.delete_topics(admin.topics(prefix_ + "."));
}

}  // namespace tenure::conformance
