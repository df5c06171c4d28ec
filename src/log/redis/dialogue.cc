#include "log/redis/dialogue.h"

#include <charconv>

#include "log/redis/command.h"
#include "log/redis/errors.h"
#include "log/url_text.h"

namespace tenure::redis {
namespace {

Bytes login_command(const Login& login) {
  return command({"AUTH", login.user.empty() ? "default" : login.user, login.password});
}

// A server that does not know AUTH repeats its arguments, with the password. Its words are kept only if the first one
// shows what they are.
Error login_error(Value reply, const std::string& place) {
  const std::string_view text = reply.text();
  for (const std::string_view known : {"WRONGPASS", "NOPERM", "LOADING", "DENIED"}) {
    if (text.starts_with(known)) return judge(text, "login", place).error;
  }
  return {Errc::refused, "redis login", place + ": the server does not accept the login; check user and password"};
}

// MOVED SLOT HOST:PORT
std::optional<net::Address> parse_moved(std::string_view reply) {
  if (!reply.starts_with("MOVED ")) return std::nullopt;
  const std::string_view address = reply.substr(reply.rfind(' ') + 1);
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || (colon != 0 && !is_host(address.substr(0, colon)))) return std::nullopt;
  const std::string_view port_text = address.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (error != std::errc() || end != port_text.data() + port_text.size() || port == 0) return std::nullopt;
  return net::Address{std::string(address.substr(0, colon)), port};
}

}  // namespace

Greeting::Greeting(const RedisSettings& settings, const std::vector<const Script*>& scripts, const Bytes& proof)
    : place_(settings.shown) {
  if (settings.login.given()) steps_.push_back(Step::login);
  if (settings.database != 0) add(Step::select, command({"SELECT", std::to_string(settings.database)}));
  if (!settings.service.empty()) add(Step::role, command({"ROLE"}));
  for (const Script* script : scripts) add(Step::script, load(*script));
  if (!proof.empty()) add(Step::proof, proof);
}

void Greeting::add(Step step, const Bytes& command) {
  steps_.push_back(step);
  commands_ += command;
}

Bytes Greeting::commands(const Login& login) const {
  if (steps_.empty()) return command({"PING"});  // so that every greeting ends with a reply
  return steps_.front() == Step::login ? login_command(login) + commands_ : commands_;
}

Result<bool> Greeting::take(Value reply) {
  if (steps_.empty()) {
    if (reply.is_error()) return Failure(judge(reply.text(), "connect", place_).error);
    return true;
  }
  const Step step = steps_[taken_++];
  if (reply.is_error()) {
    if (step == Step::login) return Failure(login_error(reply, place_));
    moved_to_ = parse_moved(reply.text());
    return Failure(judge(reply.text(), "connect", place_).error);
  }
  if (step == Step::role && reply[0].text() != "master") {
    return fail(Errc::unavailable, "redis connect",
                place_ + ": the server that the sentinels report is not a master (yet)");
  }
  return taken_ == steps_.size();
}

Question::Question(const RedisSettings& settings)
    : place_(settings.shown), service_(settings.service), login_(settings.sentinel_login.given()) {}

Bytes Question::commands(const Login& login) const {
  const Bytes question = command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", service_});
  return login_ ? login_command(login) + question : question;
}

Result<std::optional<net::Address>> Question::take(Value reply) {
  if (login_) {
    login_ = false;
    if (reply.is_error()) return Failure(login_error(reply, place_));
    return std::optional<net::Address>();
  }
  if (reply.is_error()) return Failure(judge(reply.text(), "ask sentinel", place_).error);
  const std::uint64_t port = reply[1].number();
  if (!is_host(reply[0].text()) || port == 0 || port > UINT16_MAX) {
    return fail(Errc::unavailable, "redis ask sentinel", place_ + ": no sentinel knows this service");
  }
  return std::optional<net::Address>(net::Address{std::string(reply[0].text()), static_cast<std::uint16_t>(port)});
}

}  // namespace tenure::redis
