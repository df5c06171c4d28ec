#include "demo/worker_command.h"

#include <charconv>

namespace tenure::demo {
namespace {

template <class Number>
bool read(const std::string& text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size() && into > 0;
}

}  // namespace

std::vector<std::string> to_arguments(const WorkerCommand& command) {
  return {command.url,
          command.pool,
          command.ledger,
          command.id,
          command.replaces,
          std::to_string(command.lease.count()),
          std::to_string(command.parent)};
}

std::optional<WorkerCommand> worker_command(const std::vector<std::string>& arguments) {
  if (arguments.size() != 7) return std::nullopt;
  WorkerCommand command{arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], {}, 0};
  std::int64_t lease_ms = 0;
  if (!read(arguments[5], lease_ms) || !read(arguments[6], command.parent)) return std::nullopt;
  command.lease = std::chrono::milliseconds(lease_ms);
  return command;
}

}  // namespace tenure::demo
