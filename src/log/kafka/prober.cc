#include "log/kafka/prober.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "log/kafka/errors.h"

namespace tenure::kafka {
namespace {

using SteadyClock = std::chrono::steady_clock;

// How long one poll may last: close() has to get through.
constexpr int kProbePollMs = 50;
// After this many polls without a record, the prober asks for the end of the partition.
constexpr int kSilentPolls = 2;
constexpr std::chrono::milliseconds kProbePause{10};
constexpr int kFirstAskMs = 400;

// A partition that is being read.
class Reading {
 public:
  Reading(Client& client, const std::string& topic, std::int32_t partition, std::int64_t from)
      : topic_(client.topic(topic)), partition_(partition) {
    client.drain();  // what is left of the reading before
    begun_ = rd_kafka_consume_start_queue(topic_, partition, from, client.queue()) == 0;
  }
  ~Reading() {
    if (begun_) rd_kafka_consume_stop(topic_, partition_);
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  bool begun() const { return begun_; }
  bool is_mine(const rd_kafka_message_t& message) const {
    return message.rkt == topic_ && message.partition == partition_;
  }

 private:
  rd_kafka_topic_t* const topic_;
  const std::int32_t partition_;
  bool begun_ = false;
};

bool is_missing(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR__PARTITION_EOF || code == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
         code == RD_KAFKA_RESP_ERR__NO_OFFSET || code == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
}

// A topic that was made a moment ago, or whose leader is changing.
bool is_passing(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION || code == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
         code == RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE || code == RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE ||
         names_no_topic(code);
}

}  // namespace

Failure Prober::broken(const std::string& topic, rd_kafka_resp_err_t code) {
  if (names_no_topic(code)) {
    const Result<int> count = partitions(topic);
    if (count && *count == 0) {
      return fail(Errc::lost_history, "kafka log", settings_.shown + ": the topic " + topic + " is gone");
    }
  }
  return Failure(client_->explain(code, "read"));
}

Status Prober::scan(const std::string& topic, std::int32_t partition, std::int64_t from, std::int64_t end,
                    const std::function<bool(const Stored&)>& take) {
  return scan_messages(topic, partition, from, end,
                       [&](const rd_kafka_message_t& message) { return take(stored_of(message)); });
}

Status Prober::scan_messages(const std::string& topic, std::int32_t partition, std::int64_t from, std::int64_t end,
                             const std::function<bool(const rd_kafka_message_t&)>& take) {
  rd_kafka_resp_err_t why = RD_KAFKA_RESP_ERR__TIMED_OUT;
  {
    const std::lock_guard lock(reading_);
    const Reading reading(*client_, topic, partition, from);
    read_topic_ = client_->topic(topic);
    read_partition_ = partition;
    if (!reading.begun()) return Failure(client_->explain(rd_kafka_last_error(), "read"));
    std::int64_t next = from;
    int silent = 0;
    auto deadline = SteadyClock::now() + std::chrono::milliseconds(settings_.timeout_ms);
    while (!closing_ && SteadyClock::now() < deadline) {
      const Message message = client_->poll_message(kProbePollMs);
      if (client_->take_topic_error(topic)) {
        why = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
        break;
      }
      if (!message && ++silent % kSilentPolls == 0 && is_at_end(topic, partition, next)) return {};
      if (!message || !reading.is_mine(*message)) continue;
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR && message->offset < next) continue;
      if (is_missing(message->err)) return {};
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        why = message->err;
        break;
      }
      if (message->offset >= end || !take(*message) || message->offset + 1 == end) return {};
      next = message->offset + 1;
      deadline = SteadyClock::now() + std::chrono::milliseconds(settings_.timeout_ms);
    }
  }
  return broken(topic, why);
}

bool Prober::is_at_end(const std::string& topic, std::int32_t partition, std::int64_t offset) {
  std::int64_t end = RD_KAFKA_OFFSET_END;
  return ask_offset(topic, partition, end) == RD_KAFKA_RESP_ERR_NO_ERROR && offset >= end;
}

Result<std::optional<Stored>> Prober::record_at(const std::string& topic, std::int32_t partition, std::int64_t offset) {
  std::optional<Stored> found;
  const Status read = scan(topic, partition, offset, offset + 1, [&](const Stored& stored) {
    found = stored;
    return false;
  });
  if (!read) return Failure(read.error());
  return found;
}

Result<std::optional<Stored>> Prober::entry_at(const std::string& topic, std::int64_t offset) {
  auto found = record_at(topic, 0, offset);
  if (!found || !*found || !(*found)->key || (*found)->key->kind != Kind::last) return found;
  Stored& last = **found;
  Bytes whole;
  std::uint32_t next = 0;
  const Status read = scan(topic, 0, last.key->first, offset, [&](const Stored& stored) {
    const bool mine = stored.key && stored.key->kind == Kind::piece && stored.key->link == last.key->link;
    if (mine && stored.key->index == next) {
      whole += stored.value;
      ++next;
    }
    return whole.size() <= kEntryBytesMax;
  });
  if (!read) return Failure(read.error());
  if (next != last.key->index || whole.size() + last.value.size() > kEntryBytesMax) return std::optional<Stored>();
  last.value.insert(0, whole);
  return found;
}

// The client's own question for the first and the last offset does not heed its timeout in librdkafka 2.0.2.
rd_kafka_resp_err_t Prober::ask_offset(const std::string& topic, std::int32_t partition, std::int64_t& offset) {
  rd_kafka_topic_partition_list_t* const list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, topic.c_str(), partition)->offset = offset;
  rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(client_->get(), list, static_cast<int>(settings_.timeout_ms));
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) code = list->elems[0].err;
  offset = list->elems[0].offset;
  rd_kafka_topic_partition_list_destroy(list);
  return code;
}

Result<std::int64_t> Prober::list_offset(const std::string& topic, std::int32_t partition, std::int64_t which) {
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(settings_.timeout_ms);
  for (;;) {
    std::int64_t offset = which;
    const rd_kafka_resp_err_t code = ask_offset(topic, partition, offset);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return offset;
    Failure why = broken(topic, code);
    if (!is_passing(code) || why.error().code != Errc::unavailable || closing_ || SteadyClock::now() > deadline)
      return why;
    std::this_thread::sleep_for(kProbePause);
  }
}

Result<std::int64_t> Prober::end(const std::string& topic, std::int32_t partition) {
  return list_offset(topic, partition, RD_KAFKA_OFFSET_END);
}

Result<std::int64_t> Prober::offset_at_time(const std::string& topic, std::int32_t partition, std::int64_t time_ms) {
  const auto found = list_offset(topic, partition, std::max<std::int64_t>(time_ms, 0));
  // Less than zero: all records are older.
  return !found || *found >= 0 ? found : end(topic, partition);
}

Result<Range> Prober::range(const std::string& topic, std::int32_t partition) {
  const auto first = list_offset(topic, partition, RD_KAFKA_OFFSET_BEGINNING);
  if (!first) return Failure(first.error());
  const auto end = list_offset(topic, partition, RD_KAFKA_OFFSET_END);
  if (!end) return Failure(end.error());
  return Range{*first, *end};
}

// A refused login shows after a moment, long before librdkafka gives up.
rd_kafka_resp_err_t Prober::ask_metadata(rd_kafka_topic_t* topic, const rd_kafka_metadata_t*& found) {
  const int all_ms = static_cast<int>(settings_.timeout_ms);
  rd_kafka_resp_err_t code = rd_kafka_metadata(client_->get(), 0, topic, &found, std::min(kFirstAskMs, all_ms));
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR || all_ms <= kFirstAskMs || closing_) return code;
  {
    const std::lock_guard lock(reading_);
    client_->drain();  // the reason is among the errors
  }
  if (client_->explain(code, "open").code == Errc::refused) return code;
  return rd_kafka_metadata(client_->get(), 0, topic, &found, all_ms - kFirstAskMs);
}

// A late answer stays in the partition's queue. If librdkafka 2.0.2 then finds that the topic was deleted, it forgets
// the partition, and waits for it for ever when the instance ends. So the queue is emptied first.
void Prober::settle() {
  const std::lock_guard lock(reading_);
  if (read_topic_ == nullptr) return;
  const Message late(rd_kafka_consume(read_topic_, read_partition_, 0));
}

Result<int> Prober::count_partitions(const std::string& topic, bool with_leaders) {
  settle();
  const rd_kafka_metadata_t* found = nullptr;
  const rd_kafka_resp_err_t code = ask_metadata(client_->topic(topic), found);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    const std::lock_guard lock(reading_);
    client_->drain();
    return Failure(client_->explain(code, "open"));
  }
  Result<int> count = 0;
  for (int i = 0; i < found->topic_cnt; ++i) {
    const rd_kafka_metadata_topic_t& one = found->topics[i];
    if (one.topic != topic) continue;
    count = one.partition_cnt;
    if (one.err != RD_KAFKA_RESP_ERR_NO_ERROR && !names_no_topic(one.err)) {
      count = Failure(error_of(one.err, "open", settings_.shown));
    }
    for (int j = 0; with_leaders && count && j < one.partition_cnt; ++j) {
      if (one.partitions[j].leader < 0) {
        count = fail(Errc::unavailable, "kafka open", settings_.shown + ": " + topic + " has no leader");
      }
    }
  }
  rd_kafka_metadata_destroy(found);
  return count;
}

}  // namespace tenure::kafka
