// A broker for a test in another language, and what somebody may do to it. Writes "HOST:PORT" when the broker serves.
// Then it obeys the lines of standard input, and answers each with one line. Ends with its input.
//
//   topics PREFIX                        answers with the names that begin so
//   delete TOPIC…                        deletes these topics
//   drop TOPIC PARTITION                 deletes all records of a partition
//   write TOPIC PARTITION KEY VALUE      as another program would
//   restart                              kills the broker and starts it again
//   save                                 restarts it, and keeps a copy of its data
//   restore                              restarts it with that copy
//   forget                               restarts it with an empty disk

#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "kafka/admin.h"
#include "kafka/server.h"

namespace {

using tenure::conformance::KafkaAdmin;
using tenure::conformance::KafkaServer;

std::string obey(KafkaServer& server, const std::string& line) {
  std::istringstream words(line);
  std::string deed, topic;
  words >> deed;
  if (deed == "restart" || deed == "save" || deed == "restore" || deed == "forget") {
    server.kill();
    if (deed == "save") server.save();
    if (deed == "restore") server.bring_back();
    if (deed == "forget") server.forget();
    server.restart();
    return "done";
  }
  const KafkaAdmin admin(server.brokers());
  int partition = 0;
  if (deed == "topics") {
    words >> topic;
    std::string names;
    for (const std::string& name : admin.topics(topic)) names += (names.empty() ? "" : " ") + name;
    return names;
  }
  if (deed == "delete") {
    std::vector<std::string> names;
    while (words >> topic) names.push_back(topic);
    admin.delete_topics(names);
    return "done";
  }
  words >> topic >> partition;
  if (deed == "drop") {
    constexpr std::int64_t kAll = -1;  // up to the end
    admin.drop_before(topic, partition, kAll);
    return "done";
  }
  std::string key, value;
  words >> key >> value;
  if (deed != "write") return "unknown: " + line;
  admin.write(topic, partition, key, value);
  return "done";
}

}  // namespace

int main() {
  KafkaServer server;
  std::cout << server.brokers() << std::endl;
  for (std::string line; std::getline(std::cin, line);) std::cout << obey(server, line) << std::endl;
  return 0;
}
