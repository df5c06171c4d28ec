#include "log/kafka/writer.h"

#include <algorithm>

#include "log/kafka/errors.h"

namespace tenure::kafka {
namespace {

constexpr std::size_t kOnTheWayBytes = 8U << 20;

}  // namespace

Result<Writer> Writer::make(const KafkaSettings& settings) {
  auto client = Client::make(settings, Role::producer, nullptr);
  if (!client) return Failure(client.error());
  return Writer(settings, *std::move(client));
}

Status Writer::write(const std::string& topic, std::int32_t partition, const Key& key, BytesView value) {
  if (Status room = wait_below(kOnTheWayBytes); !room) return room;
  const std::string name = encode(key);
  const int failed = rd_kafka_produce(client_->topic(topic), partition, RD_KAFKA_MSG_F_COPY,
                                      const_cast<char*>(value.data()), value.size(), name.data(), name.size(), nullptr);
  if (failed != 0) return Failure(error_of(rd_kafka_last_error(), "write", settings_->shown));
  bytes_ += value.size();
  ++records_;
  return {};
}

Status Writer::flush() { return wait_below(0); }

// Every record is answered, at the latest after message.timeout.ms.
Status Writer::wait_below(std::size_t bytes) {
  while (bytes == 0 ? records_ > 0 : bytes_ >= bytes) {
    const Event event = client_->poll_reports(static_cast<int>(settings_->timeout_ms) + 2000);
    if (!event) return Failure(client_->explain(RD_KAFKA_RESP_ERR__TIMED_OUT, "write"));
    while (const rd_kafka_message_t* const message = rd_kafka_event_message_next(event.get())) {
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        Error error = client_->explain(message->err, "write");
        if (names_no_topic(message->err)) error.code = Errc::unavailable;
        return Failure(std::move(error));
      }
      bytes_ -= message->len;
      --records_;
      first_ = std::min(first_, message->offset);
      end_ = std::max(end_, message->offset + 1);
    }
  }
  return {};
}

}  // namespace tenure::kafka
