// Keeps the broker that tests share. Usage: kafka_keeper FOLDER
//
// Goes on in the background and writes "PID HOST:PORT" to FOLDER/broker when the broker serves. Every test that uses it
// holds a shared lock on FOLDER/users. When nobody has held one for a while, it takes the lock alone, so that no test
// can begin with a broker that is about to go, and ends.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "kafka/server.h"

namespace {

constexpr std::chrono::milliseconds kLook{500};
constexpr std::chrono::seconds kIdle{15};

// In a session of its own, without the terminal and the pipes of the test that started it.
bool go_to_background(const std::string& folder) {
  if (::fork() != 0) return false;
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDONLY);
  const int log = ::open((folder + "/keeper.log").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::close(nothing);
  ::close(log);
  return true;
}

void tell(const std::string& folder, const std::string& brokers) {
  {
    std::ofstream file(folder + "/broker.new");
    file << ::getpid() << " " << brokers << "\n";
  }
  std::filesystem::rename(folder + "/broker.new", folder + "/broker");
}

// Returns with the lock.
void wait_for_idleness(int users) {
  auto idle_since = std::chrono::steady_clock::now();
  for (;;) {
    const bool alone = ::flock(users, LOCK_EX | LOCK_NB) == 0;
    if (alone && std::chrono::steady_clock::now() - idle_since > kIdle) return;
    if (alone) ::flock(users, LOCK_UN);
    if (!alone) idle_since = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  const std::string folder = words[1];
  if (!go_to_background(folder)) return 0;
  const int users = ::open((folder + "/users").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (users < 0) return 1;
  const tenure::conformance::KafkaServer server;
  tell(folder, server.brokers());
  wait_for_idleness(users);
  std::filesystem::remove(folder + "/broker");
  return 0;  // the broker ends with the object, its data too
}
