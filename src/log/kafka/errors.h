#pragma once

// Translates librdkafka's error codes into errors of the log port.

#include <librdkafka/rdkafka.h>

#include <string>

#include "base/result.h"

namespace tenure::kafka {

// `place` is the URL for messages; `detail` is what librdkafka or the broker said beyond the code.
Error error_of(rd_kafka_resp_err_t code, const std::string& operation, const std::string& place,
               const std::string& detail = {});

// The same for an append: whether it may have taken effect decides between unknown and unavailable.
Error append_error_of(rd_kafka_resp_err_t code, rd_kafka_msg_status_t status, const std::string& place);

// The topic, or the partition, does not exist, or librdkafka believes so.
bool names_no_topic(rd_kafka_resp_err_t code);

}  // namespace tenure::kafka
