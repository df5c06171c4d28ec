// Lends the shared broker to a test that is not written in C++. Prints HOST:PORT, and then obeys a line each:
//
//   make TOPIC PARTITIONS              by an administrator
//   write TOPIC PARTITION KEY VALUE    by another program's producer; KEY - is none; the rest of the line is the value
//
//   read TOPIC PARTITION               by another program's consumer: a line for each record that is there: key, value
//                                      and headers as NAME=VALUE, in hexadecimal digits; "-" for none
//
// Each is answered with "ok". At the end of its input the topics that begin with the name that it was given go away.

#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "kafka/admin.h"
#include "kafka/consumer.h"
#include "kafka/producer.h"
#include "kafka/shared_broker.h"

namespace {

using tenure::conformance::KafkaAdmin;
using tenure::conformance::PlainProducer;

std::string hex(const std::optional<std::string>& text) {
  if (!text) return "-";
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (const char byte : *text) {
    const auto value = static_cast<unsigned char>(byte);
    digits += {kDigits[value >> 4], kDigits[value & 15]};
  }
  return digits;
}

void show_records(const std::string& brokers, const std::string& topic, int partition) {
  for (const auto& record : tenure::conformance::read_partition(brokers, topic, partition)) {
    std::cout << hex(record.key) << " " << hex(record.value);
    for (const auto& [name, value] : record.headers) std::cout << " " << hex(name) << "=" << hex(value);
    std::cout << "\n";
  }
}

bool obey(const std::string& line, const std::string& brokers, const KafkaAdmin& admin, const PlainProducer& producer) {
  std::istringstream words(line);
  std::string verb;
  std::string topic;
  int number = 0;
  words >> verb >> topic >> number;
  if (verb == "make") {
    admin.make_topic(topic, number, {});
    return true;
  }
  if (verb == "read") {
    show_records(brokers, topic, number);
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
  while (std::getline(std::cin, line))
    std::cout << (obey(line, brokers, admin, producer) ? "ok" : "what?") << std::endl;
  admin.delete_topics(admin.topics(words[1]));
  return 0;
}
