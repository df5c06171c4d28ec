#pragma once

// One instance of librdkafka: its connections and threads, its topics, and one queue for everything that it has to say.
//
// A process uses several. Beats have their own connection, on which no data is in front of them. The tail and the
// prober both fetch the same partition, which one instance cannot do twice.

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
  reader,  // reads any number of partitions, and hears of their ends
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

// Thread-safe. The destructor does not wait: librdkafka may take long to end, so a thread of its own does that.
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
  // Forgets what was fetched, and what the connections said.
  void drain();
  // An error about a topic came out of a poll since the last call, and names it.
  bool take_topic_error(const std::string& topic);
  // Ends a poll of another thread.
  void wake() const;

  // Grows with each connection that was begun.
  std::uint64_t connections() const;
  // What the connections said last, to explain a request without an answer. The code of an error that a retry cannot
  // help comes first.
  Error explain(rd_kafka_resp_err_t code, const std::string& operation) const;

 private:
  struct Body;
  explicit Client(std::unique_ptr<Body> body);

  std::unique_ptr<Body> body_;
};

}  // namespace tenure::kafka
