// Runs a command on the broker that tests share. URL at the end of a word is replaced by a URL of the engine, with a
// prefix that no other test uses.
//
//   kafka_with_broker COMMAND ARGUMENT…

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "kafka/shared_broker.h"

int main(int count, char** words) {
  if (count < 2) return 64;
  const tenure::conformance::TopicSpace space(tenure::conformance::shared_broker());
  std::vector<std::string> command(words + 1, words + count);
  std::vector<char*> pointers;
  for (std::string& word : command) {
    if (word.ends_with("URL")) word.replace(word.size() - 3, 3, space.url());
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, pointers.front(), nullptr, nullptr, pointers.data(), environ) != 0) return 127;
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
