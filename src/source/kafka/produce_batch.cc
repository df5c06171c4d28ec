#include "source/kafka/produce_batch.h"

#include <array>
#include <chrono>
#include <thread>

#include "log/kafka/admin.h"
#include "log/kafka/errors.h"
#include "source/kafka/record_event.h"

namespace tenure::source {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kReportPollMs = 100;
constexpr std::chrono::milliseconds kSendPause{20};

// A topic that was made a moment ago, or whose leader is changing.
bool may_pass(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION || code == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
         code == RD_KAFKA_RESP_ERR__QUEUE_FULL || kafka::names_no_topic(code);
}

}  // namespace

// The answers are written by the thread that polls, under the mutex.
struct BatchProducer::Batch {
  std::vector<std::uint64_t> positions;
  std::vector<std::int32_t> partitions;
  std::size_t left = 0;
  bool written = false;  // some of it is in the topic, or may be
  rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
};

Result<std::vector<std::uint64_t>> BatchProducer::send(const std::vector<Event>& events,
                                                       std::vector<std::int32_t>* partitions) {
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(settings_.timeout_ms);
  for (;;) {
    Batch batch;
    batch.positions.resize(events.size());
    batch.partitions.resize(events.size());
    std::vector<Slot> slots(events.size());
    for (std::size_t i = 0; i < events.size() && batch.code == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
      slots[i] = {&batch, i};
      {
        const std::lock_guard lock(mutex_);
        ++batch.left;
      }
      const rd_kafka_resp_err_t code = produce(events[i], slots[i]);
      if (code == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
      const std::lock_guard lock(mutex_);
      --batch.left;
      batch.code = code;
    }
    wait_for(batch);
    if (batch.code == RD_KAFKA_RESP_ERR_NO_ERROR) {
      if (partitions != nullptr) *partitions = std::move(batch.partitions);
      return std::move(batch.positions);
    }
    if (batch.written || !may_pass(batch.code) || SteadyClock::now() > deadline) {
      return Failure(error_of(batch.code, batch.written));
    }
    std::this_thread::sleep_for(kSendPause);
  }
}

// rd_kafka_produce takes no headers. The other call is as good once the topic is known.
rd_kafka_resp_err_t BatchProducer::produce(const Event& event, Slot& slot) {
  const void* const key = event.key ? event.key->data() : nullptr;
  const std::size_t key_size = event.key ? event.key->size() : 0;
  void* const payload = const_cast<char*>(event.payload.data());
  rd_kafka_topic_t* const topic = client_.topic(topic_);
  if (event.name.empty() && event.topic.empty() && event.headers.empty()) {
    const int failed = rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, payload,
                                        event.payload.size(), key, key_size, &slot);
    return failed == 0 ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_last_error();
  }
  rd_kafka_headers_t* const headers = rd_kafka_headers_new(event.headers.size() + 2);
  const auto add = [&](const char* name, const Bytes& value) {
    if (value.empty()) return;
    rd_kafka_header_add(headers, name, -1, value.data(), static_cast<ssize_t>(value.size()));
  };
  add(kNameHeader, event.name);
  add(kTopicHeader, event.topic);
  for (const auto& [name, value] : event.headers) add(name.c_str(), value);
  std::array<rd_kafka_vu_t, 6> parts{};
  parts[0].vtype = RD_KAFKA_VTYPE_RKT;
  parts[0].u.rkt = topic;
  parts[1].vtype = RD_KAFKA_VTYPE_VALUE;
  parts[1].u.mem = {payload, event.payload.size()};
  parts[2].vtype = RD_KAFKA_VTYPE_KEY;
  parts[2].u.mem = {const_cast<void*>(key), key_size};
  parts[3].vtype = RD_KAFKA_VTYPE_HEADERS;
  parts[3].u.headers = headers;
  parts[4].vtype = RD_KAFKA_VTYPE_OPAQUE;
  parts[4].u.ptr = &slot;
  parts[5].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  parts[5].u.i = RD_KAFKA_MSG_F_COPY;
  rd_kafka_error_t* const error = rd_kafka_produceva(client_.get(), parts.data(), parts.size());
  if (error == nullptr) return RD_KAFKA_RESP_ERR_NO_ERROR;
  const rd_kafka_resp_err_t code = rd_kafka_error_code(error);
  rd_kafka_error_destroy(error);
  rd_kafka_headers_destroy(headers);
  return code;
}

// Every message is answered, at the latest after message.timeout.ms.
void BatchProducer::wait_for(Batch& batch) {
  std::unique_lock lock(mutex_);
  while (batch.left > 0) {
    if (polling_) {
      changed_.wait_for(lock, std::chrono::milliseconds(kReportPollMs));
      continue;
    }
    polling_ = true;
    lock.unlock();
    const kafka::Event event = client_.poll_reports(kReportPollMs);
    lock.lock();
    polling_ = false;
    if (event) take(*event);
    changed_.notify_all();
  }
}

void BatchProducer::take(rd_kafka_event_t& event) {
  while (const rd_kafka_message_t* const message = rd_kafka_event_message_next(&event)) {
    const Slot& slot = *static_cast<const Slot*>(message->_private);
    Batch& batch = *slot.batch;
    --batch.left;
    const bool good = message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
    batch.written = batch.written || good || rd_kafka_message_status(message) != RD_KAFKA_MSG_STATUS_NOT_PERSISTED;
    if (good) {
      batch.positions[slot.index] = position_of_offset(message->offset);
      batch.partitions[slot.index] = message->partition;
    } else if (batch.code == RD_KAFKA_RESP_ERR_NO_ERROR || may_pass(batch.code)) {
      batch.code = message->err;
    }
  }
}

Error BatchProducer::error_of(rd_kafka_resp_err_t code, bool written) const {
  Error error = client_.explain(code, "add");
  if (code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) {
    error.context = settings_.shown + ": an event is larger than the topic takes: " +
                    kafka::alter_command(settings_.brokers, topic_, "max.message.bytes=N") + " changes that";
  }
  if (kafka::names_no_topic(code)) {
    error.code = Errc::no_such_key;
    error.context = settings_.shown + ": the topic " + topic_ + " does not exist";
  }
  if (written && error.code == Errc::unavailable) error.code = Errc::unknown;
  return error;
}

}  // namespace tenure::source
