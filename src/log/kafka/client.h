#pragma once

// One instance of librdkafka, with its connections, threads and topics, and one queue for all its events. Each of its
// connections reads the password's file again.
//
// A process has several. Beats have their own connection, so that no data delays them. Tail and prober fetch the same
// partition, which one instance can do only once.

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "log/kafka/settings.h"

namespace tenure::kafka {

enum class Role : std::uint8_t {
  producer,
  tail,    // reads on and waits for entries at the broker
  prober,  // reads single records, and does not wait for any
  loader,  // reads long runs, up to the end
  reader,  // reads any number of partitions, and gets an event at their ends
};

// Settings of librdkafka beside those of the role.
using MoreSettings = std::vector<std::pair<const char*, std::string>>;

struct DestroyEvent {
  void operator()(rd_kafka_event_t* event) const { rd_kafka_event_destroy(event); }
};
using Event = std::unique_ptr<rd_kafka_event_t, DestroyEvent>;

struct DestroyMessage {
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
};
using Message = std::unique_ptr<rd_kafka_message_t, DestroyMessage>;

// Thread-safe. The destructor does not wait: librdkafka may take long to end, so a separate thread does that.
class Client {
 public:
  using Warn = std::function<void(const Error&)>;

  static Result<std::unique_ptr<Client>> make(const KafkaSettings& settings, Role role, Warn warn,
                                              const MoreSettings& more = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  rd_kafka_t* get() const;
  // Valid as long as the client.
  rd_kafka_topic_t* topic(const std::string& name);
  // Where a consumer's partitions deliver their messages.
  rd_kafka_queue_t* queue() const;

  // For a producer: the next delivery reports, or null after this time.
  Event poll_reports(int timeout_ms);
  // For a consumer: the next message, or null after this time.
  Message poll_message(int timeout_ms);
  // Drops fetched messages and errors about topics.
  void drain();
  // Whether a poll since the last call returned an error that names this topic.
  bool take_topic_error(const std::string& topic);
  // Ends a poll of another thread.
  void wake() const;

  // Grows with each connection that was begun.
  std::uint64_t connections() const;
  // For a request that failed with `code`. If it timed out, the last error of the connections says why.
  Error explain(rd_kafka_resp_err_t code, const std::string& operation) const;

 private:
  struct Body;
  explicit Client(std::unique_ptr<Body> body);

  std::unique_ptr<Body> body_;
};

}  // namespace tenure::kafka
