#include "demo/worker_command.h"

#include <charconv>
#include <cstdlib>

namespace tenure::demo {
namespace {

constexpr const char* kEngineVariable = "TENURE_ENGINE";
constexpr const char* kGoodVersion = "good";
constexpr const char* kBadVersion = "bad";

template <class Number>
bool read(const std::string& text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size() && into > 0;
}

}  // namespace

std::vector<std::string> to_arguments(const WorkerCommand& command) {
  return {command.pool,
          command.ledger,
          command.id,
          command.replaces,
          std::to_string(command.lease.count()),
          std::to_string(command.parent),
          command.bad ? kBadVersion : kGoodVersion};
}

std::vector<std::string> to_environment(const WorkerCommand& command) {
  return {std::string(kEngineVariable) + "=" + command.url};
}

std::optional<WorkerCommand> worker_command(const std::vector<std::string>& arguments) {
  const char* const url = std::getenv(kEngineVariable);
  if (arguments.size() != 7 || url == nullptr) return std::nullopt;
  WorkerCommand command{
      url, arguments[0], arguments[1], arguments[2], arguments[3], {}, 0, arguments[6] == kBadVersion};
  std::int64_t lease_ms = 0;
  if (!read(arguments[4], lease_ms) || !read(arguments[5], command.parent)) return std::nullopt;
  command.lease = std::chrono::milliseconds(lease_ms);
  return command;
}

}  // namespace tenure::demo
