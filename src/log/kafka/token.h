#pragma once

// Logs an instance of librdkafka in: user and password, or a token of OAUTHBEARER.

#include <librdkafka/rdkafka.h>

#include "base/result.h"
#include "log/kafka/settings.h"

namespace tenure::kafka {

// Whether the mechanism sends a user and a password.
bool takes_password(const KafkaSettings& settings);
// For a new instance. `login` has the current password.
Status set_login(rd_kafka_conf_t* conf, const KafkaSettings& settings, const Login& login);

bool takes_token(const KafkaSettings& settings);
// Gives the token to the instance. Does nothing for the other mechanisms. librdkafka asks for another one when this one
// is about to expire.
Status give_token(rd_kafka_t* handle, const KafkaSettings& settings);

// When a JSON Web Token says that it expires, in milliseconds; zero if it does not say.
std::int64_t expiry_ms_of(std::string_view token);
// The subject of the token.
std::string subject_of(std::string_view token);

}  // namespace tenure::kafka
