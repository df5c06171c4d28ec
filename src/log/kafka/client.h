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

#include "base/result.h"
#include "log/kafka/settings.h"

namespace tenure::kafka {

enum class Role : std::uint8_t {
  producer,
  tail,    // reads on and waits for entries at the broker
  prober,  // reads single records, and does not wait for any
  loader,  // reads long runs, up to the end
};

struct DestroyEvent {
  void operator()(rd_kafka_event_t* event) const { rd_kafka_event_destroy(event); }
};
using Event = std::unique_ptr<rd_kafka_event_t, DestroyEvent>;

// Thread-safe. The destructor does not wait: librdkafka may take long to end, so a thread of its own does that.
class Client {
 public:
  using Warn = std::function<void(const Error&)>;

  static Result<std::unique_ptr<Client>> make(const KafkaSettings& settings, Role role, Warn warn);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  rd_kafka_t* get() const;
  // Valid as long as the client.
  rd_kafka_topic_t* topic(const std::string& name);
  // For messages of partitions, and for answers of the broker to the administrator's requests.
  rd_kafka_queue_t* queue() const;

  // The next event, or null after this time. Logs and errors of the connections are taken in here; an error about a
  // topic or a partition is returned.
  Event poll(int timeout_ms);
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
  void note(rd_kafka_resp_err_t code, const std::string& text);

  std::unique_ptr<Body> body_;
  mutable std::mutex mutex_;
  rd_kafka_resp_err_t last_code_ = RD_KAFKA_RESP_ERR_NO_ERROR;  // guarded by mutex_
  std::string last_text_;                                       // guarded by mutex_
};

}  // namespace tenure::kafka
