#pragma once

// One broker for many test processes. The first of them starts a keeper (keeper.cc), which starts the broker and ends
// it some seconds after the last test has ended.

#include <cstdint>
#include <string>
#include <vector>

namespace tenure::conformance {

// HOST:PORT of the broker, which stays until this process ends.
std::string shared_broker();

// A part of a broker that no other test uses: a prefix for the names of topics. Its topics are deleted with the object.
class TopicSpace {
 public:
  explicit TopicSpace(std::string brokers);
  ~TopicSpace();
  TopicSpace(const TopicSpace&) = delete;
  TopicSpace& operator=(const TopicSpace&) = delete;

  const std::string& prefix() const { return prefix_; }
  const std::string& brokers() const { return brokers_; }
  std::string url() const { return "kafka://" + brokers_ + "?prefix=" + prefix_; }
  // The names of the topics in it.
  std::vector<std::string> topics() const;

 private:
  const std::string brokers_;
  const std::string prefix_;
};

}  // namespace tenure::conformance
