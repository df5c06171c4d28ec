// Lends the shared broker to a test that is not written in C++. Prints HOST:PORT, and then obeys a line each:
//
//   make TOPIC PARTITIONS              by an administrator
//   write TOPIC PARTITION KEY VALUE    by another program's producer; KEY - is none; the rest of the line is the value
//
// Each is answered with "ok". At the end of its input the topics that begin with the name that it was given go away.

#include <iostream>
#include <sstream>
#include <string>

#include "kafka/admin.h"
#include "kafka/producer.h"
#include "kafka/shared_broker.h"

namespace {

using tenure::conformance::KafkaAdmin;
using tenure::conformance::PlainProducer;

bool obey(const std::string& line, const KafkaAdmin& admin, const PlainProducer& producer) {
  std::istringstream words(line);
  std::string verb;
  std::string topic;
  int number = 0;
  words >> verb >> topic >> number;
  if (verb == "make") {
    admin.make_topic(topic, number, {});
    return true;
  }
  std::string key;
  words >> key;
  words.get();
  std::string value;
  std::getline(words, value);
  if (verb == "write")
    producer.write(topic, number, {.key = key == "-" ? std::nullopt : std::optional(key), .value = value});
  return verb == "write";
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  const std::string brokers = tenure::conformance::shared_broker();
  const KafkaAdmin admin(brokers);
  const PlainProducer producer(brokers);
  std::cout << brokers << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) std::cout << (obey(line, admin, producer) ? "ok" : "what?") << std::endl;
  admin.delete_topics(admin.topics(words[1]));
  return 0;
}
