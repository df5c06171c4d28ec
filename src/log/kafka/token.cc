#include "log/kafka/token.h"

#include <array>
#include <charconv>
#include <optional>

#include "base/clock.h"

namespace tenure::kafka {
namespace {

// How soon a token is read again that does not say when it expires.
constexpr std::int64_t kTokenMs = 300'000;

// base64url without padding.
std::optional<std::string> decode(std::string_view text) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t value = kLetters.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

// The text behind "NAME": in the claims of the token. This is enough for the two claims that Tenure needs. Only the
// broker checks the token.
std::string claim(std::string_view token, std::string_view name) {
  const std::size_t first = token.find('.');
  if (first == std::string_view::npos) return "";
  const std::string_view rest = token.substr(first + 1);
  const auto claims = decode(rest.substr(0, rest.find('.')));
  if (!claims) return "";
  std::size_t at = claims->find("\"" + std::string(name) + "\"");
  if (at == std::string::npos) return "";
  at = claims->find_first_not_of(" :", at + name.size() + 2);
  if (at == std::string::npos) return "";
  if ((*claims)[at] == '"') return claims->substr(at + 1, claims->find('"', at + 1) - at - 1);
  return claims->substr(at, claims->find_first_of(",} ", at) - at);
}

}  // namespace

std::int64_t expiry_ms_of(std::string_view token) {
  const std::string text = claim(token, "exp");
  std::int64_t seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr std::int64_t kSecondsMax = 1LL << 40;
  return seconds > 0 && seconds < kSecondsMax ? seconds * 1000 : 0;
}

std::string subject_of(std::string_view token) { return claim(token, "sub"); }

bool takes_token(const KafkaSettings& settings) { return settings.sasl == "OAUTHBEARER"; }

bool takes_password(const KafkaSettings& settings) { return !settings.sasl.empty() && !takes_token(settings); }

Status set_login(rd_kafka_conf_t* conf, const KafkaSettings& settings, const Login& login) {
  if (settings.sasl.empty()) return {};
  std::array<char, 512> why{};
  const auto set = [&](const char* name, const std::string& value) -> Status {
    if (rd_kafka_conf_set(conf, name, value.c_str(), why.data(), why.size()) == RD_KAFKA_CONF_OK) return {};
    return fail(Errc::invalid, "kafka login", settings.shown + ": librdkafka does not take " + name);
  };
  if (Status done = set("sasl.mechanisms", settings.sasl); !done) return done;
  if (!takes_password(settings)) return {};
  if (Status done = set("sasl.username", login.user); !done) return done;
  return set("sasl.password", login.password);
}

Status give_token(rd_kafka_t* handle, const KafkaSettings& settings) {
  if (!takes_token(settings)) return {};
  const Result<Login> login = current_login(settings.login);
  if (!login) return Failure(login.error());
  const std::string& token = login->password;
  const std::int64_t expiry_ms = expiry_ms_of(token);
  const std::int64_t life_ms = expiry_ms != 0 ? expiry_ms : BootClock().wall_ms() + kTokenMs;
  std::string who = settings.login.user.empty() ? subject_of(token) : settings.login.user;
  if (who.empty()) who = "tenure";
  std::array<char, 512> why{};
  const auto set =
      rd_kafka_oauthbearer_set_token(handle, token.c_str(), life_ms, who.c_str(), nullptr, 0, why.data(), why.size());
  if (set == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  // Not the text of the error: it may repeat the token.
  const std::string what = expiry_ms != 0 && expiry_ms <= BootClock().wall_ms() ? "the token has expired"
                                                                                : "librdkafka does not take the token";
  rd_kafka_oauthbearer_set_token_failure(handle, what.c_str());
  return fail(Errc::refused, "kafka login", settings.shown + ": " + what);
}

}  // namespace tenure::kafka
