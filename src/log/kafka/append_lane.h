#pragma once

// Appends of one lane: a producer, and the thread that answers for it. Data and beats have a lane each, so a beat never
// waits behind data.
//
// A beat is answered after a proof (history.h), which looks at the log after the beat was appended.
//
// An entry above kPieceBytes is sent in pieces. The last one names the offset of the first, so it is sent when the
// others have been acknowledged. Appends behind it wait, and the lane stays in order.

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/entropy.h"
#include "log/kafka/client.h"
#include "log/kafka/history.h"
#include "log/log.h"

namespace tenure::kafka {

// Thread-safe. Callbacks run on the lane's thread.
class AppendLane {
 public:
  AppendLane(const KafkaSettings& settings, Lane lane, History& history, Client::Warn warn);
  ~AppendLane() { close(); }
  AppendLane(const AppendLane&) = delete;
  AppendLane& operator=(const AppendLane&) = delete;

  // An error means that `done` will not be called, and nothing was sent.
  Status append(Bytes data, Log::AppendDone& done);
  // Answers everything that is outstanding, for a handle that continues in another log. Nothing is sent from then on.
  void end();
  // Drops all waiting appends, and waits for a running callback. Idempotent.
  void close();

 private:
  struct Giant;
  // A message in librdkafka's queues.
  struct Sent {
    Log::AppendDone done;
    std::uint64_t link = 0;
    std::size_t bytes = 0;
    std::shared_ptr<Giant> giant;  // set for a piece that is not the last
  };
  struct Waiting {
    Bytes data;
    Log::AppendDone done;
  };
  struct Outcome {
    std::unique_ptr<Sent> sent;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_msg_status_t status = RD_KAFKA_MSG_STATUS_NOT_PERSISTED;
    std::int64_t offset = 0;
  };

  Status start();
  Status send_entry(Bytes data, Log::AppendDone& done);
  void send_giant(Bytes data, Log::AppendDone done);
  rd_kafka_resp_err_t produce(const Key& key, BytesView value, std::unique_ptr<Sent>& sent);
  void send_waiting();
  void serve();
  void take(rd_kafka_event_t& event, std::vector<Outcome>& outcomes);
  void took_piece(const Outcome& outcome);
  void answer(std::vector<Outcome>& outcomes);
  Status prove_patiently();
  Result<Position> result_of(const Outcome& outcome, const Status& proof) const;
  bool stop_now();

  const KafkaSettings& settings_;
  const Lane lane_;
  History& history_;
  const Client::Warn warn_;
  SystemEntropy entropy_;
  std::atomic<bool> closing_ = false;
  std::atomic<bool> ending_ = false;
  std::once_flag closed_;

  std::mutex mutex_;
  // All below is guarded by mutex_.
  std::unique_ptr<Client> client_;
  std::unordered_set<Sent*> sent_;
  std::shared_ptr<Giant> giant_;  // an entry whose pieces are being sent
  std::deque<Waiting> waiting_;   // behind it
  std::vector<Outcome> unsent_;   // refused by librdkafka, to be answered by the thread
  std::size_t bytes_ = 0;
  std::thread thread_;
};

}  // namespace tenure::kafka
