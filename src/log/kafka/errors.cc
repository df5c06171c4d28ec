#include "log/kafka/errors.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tenure::kafka {
namespace {

struct Meaning {
  rd_kafka_resp_err_t code;
  Errc errc;
  std::string_view advice;
};

constexpr std::string_view kRights = "the user lacks a right; docs/kafka.md lists the rights that a pool needs";

constexpr std::string_view kTls = "check ca_file, cert_file and key_file, and their dates";

// Everything else is worth another try: brokers come back, and partitions get leaders.
constexpr std::array<Meaning, 17> kMeanings = {{
    {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, Errc::refused, kRights},
    {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, Errc::refused, kRights},
    {RD_KAFKA_RESP_ERR__AUTHENTICATION, Errc::refused, "check user, password and sasl="},
    {RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, Errc::refused, "check user, password and sasl="},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM, Errc::refused, "the broker has no such mechanism: check sasl="},
    {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, Errc::refused,
     "the topic's max.message.bytes is too small; `tenure doctor` names the command that changes it"},
    {RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, Errc::refused, "the topic's segment.bytes is too small"},
    {RD_KAFKA_RESP_ERR_POLICY_VIOLATION, Errc::refused, "the cluster's policy forbids it"},
    {RD_KAFKA_RESP_ERR_INVALID_CONFIG, Errc::refused, "the cluster does not take a setting of the topic"},
    {RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR, Errc::refused,
     "there are fewer brokers: add replication=N to the URL"},
    {RD_KAFKA_RESP_ERR_TOPIC_DELETION_DISABLED, Errc::refused, "set delete.topic.enable=true on the brokers"},
    {RD_KAFKA_RESP_ERR_INVALID_RECORD, Errc::refused,
     "the topic is compacted or checks its records; a log needs cleanup.policy=delete"},
    {RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE, Errc::refused,
     "the broker lacks a request that a pool needs: use a newer Kafka"},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION, Errc::refused,
     "the broker lacks a request that a pool needs: use a newer Kafka"},
    {RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, Errc::unavailable, "the broker's disk fails, or is full"},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, Errc::unavailable, "fewer replicas are in sync than min.insync.replicas"},
    {RD_KAFKA_RESP_ERR__SSL, Errc::unavailable, kTls},
}};

}  // namespace

Error error_of(rd_kafka_resp_err_t code, const std::string& operation, const std::string& place,
               const std::string& detail) {
  const auto* const found =
      std::find_if(kMeanings.begin(), kMeanings.end(), [&](const Meaning& meaning) { return meaning.code == code; });
  constexpr std::size_t kDetailBytesMax = 500;
  std::string context = place + ": " + (detail.empty() ? rd_kafka_err2str(code) : detail.substr(0, kDetailBytesMax));
  if (found == kMeanings.end()) {
    // With TLS 1.3 a broker says what is wrong with a certificate only after the connection is there.
    if (context.find("SSL routines") != std::string::npos) context.append("; ").append(kTls);
    return {Errc::unavailable, "kafka " + operation, std::move(context)};
  }
  context.append("; ").append(found->advice);
  return {found->errc, "kafka " + operation, std::move(context)};
}

Error append_error_of(rd_kafka_resp_err_t code, rd_kafka_msg_status_t status, const std::string& place) {
  Error error = error_of(code, "append", place);
  const bool in_doubt = status != RD_KAFKA_MSG_STATUS_NOT_PERSISTED;
  // A refusal by the broker is an answer, even if librdkafka has sent the message more than once.
  if (in_doubt && error.code == Errc::unavailable) error.code = Errc::unknown;
  return error;
}

bool names_no_topic(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART || code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
         code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION || code == RD_KAFKA_RESP_ERR__DESTROY;
}

}  // namespace tenure::kafka
