#pragma once

// Reads the log: a consumer of the partition, and a thread that hands its entries over.
//
// A read behind the last one takes what the consumer has fetched meanwhile. Any other read first finds the entry of its
// cursor and compares the content.
//
// The fetched records are trusted as long as the connection is. Before entries of another connection are handed over,
// the tail reads the entry before them again: a failover may have replaced the end of the log. It hands over an own
// beat only after a proof, because the beat renews a lease. It also proves the history once a second, because a topic
// that was deleted and made again may serve the consumer without an error.

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "log/kafka/client.h"
#include "log/kafka/find_cursor.h"
#include "log/kafka/history.h"
#include "log/log.h"

namespace tenure::kafka {

// Thread-safe. Callbacks run on the tail's thread.
class Tail {
 public:
  // `birth` is the offset of the log's first record, or less than the partition's first offset if it was trimmed.
  Tail(const KafkaSettings& settings, History& history, Prober& prober, Mark birth, Client::Warn warn);
  ~Tail() { close(); }
  Tail(const Tail&) = delete;
  Tail& operator=(const Tail&) = delete;

  void read(Cursor after, Log::ReadDone done);
  // The time of the snapshot's entry, for a reader that starts there.
  void know(KnownTime time);
  // The time of the entry at this cursor, if this handle has read it.
  std::int64_t time_at(Cursor cursor);
  // Where to trim at most, so that no entry behind this offset loses its first pieces.
  std::int64_t whole_before(std::int64_t offset);
  // The history was lost: answers the outstanding read.
  void lose();
  // Answers the outstanding read, for a handle that continues in another log, and ends the thread.
  void end();
  // Destroys the outstanding read and waits for a running callback. Idempotent.
  void close();

 private:
  void serve();
  Result<std::vector<Entry>> next_run(Cursor after);
  Status locate(Cursor after);
  Status find_cursor(Cursor after);
  Status begin_at(std::int64_t offset);
  void stop_fetching();
  Result<std::vector<Entry>> wait_for_run();
  Status take(const rd_kafka_message_t& message, std::vector<Entry>& run);
  Status take_record(const rd_kafka_message_t& message, std::vector<Entry>& run);
  Status check_source(const rd_kafka_message_t& message);
  Status prove_beat(std::uint64_t link);
  Status prove_if_due();
  Status take_giant(Stored& stored);
  void remember(Position position, std::int64_t broker_ms, std::int64_t time_ms);
  bool stopping() const { return closing_.load() || ending_.load(); }
  void wake();

  const KafkaSettings& settings_;
  History& history_;
  Prober& prober_;
  const Mark birth_;
  const Client::Warn warn_;
  std::atomic<bool> closing_ = false;
  std::atomic<bool> ending_ = false;
  std::once_flag closed_;

  // Of the thread.
  bool fetching_ = false;
  Cursor at_;  // what was handed over last
  Mark last_;  // its record; the birth before the first entry
  Clamp clamp_;
  std::uint64_t connections_ = 0;
  std::int32_t broker_ = -1;
  std::int64_t proved_at_ms_ = 0;
  bool suspect_ = false;
  bool overtaken_ = false;  // the records that come next were trimmed

  std::mutex mutex_;
  std::condition_variable changed_;
  // All below is guarded by mutex_.
  std::unique_ptr<Client> client_;  // made once; used without the lock by the thread
  Cursor after_;
  Log::ReadDone done_;    // set while a read is outstanding
  bool reading_ = false;  // the thread has taken it
  KnownTime known_;
  std::vector<KnownTime> raised_;  // the last entries whose time is not the broker's
  std::vector<std::pair<std::int64_t, std::int64_t>>
      giants_;  // the first and the last record of the last large entries
  std::thread thread_;
};

}  // namespace tenure::kafka
