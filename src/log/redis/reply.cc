#include "log/redis/reply.h"

#include <charconv>

#include "log/redis/reply_memory.h"

namespace tenure::redis {
namespace {

using Kind = ReplyNode::Kind;

bool has(const ReplyNode* value, Kind kind) { return value != nullptr && value->kind == kind; }

}  // namespace

bool Value::is_error() const { return has(value_, Kind::error); }
bool Value::is_nil() const { return value_ == nullptr || value_->kind == Kind::nil; }
bool Value::is_integer() const { return has(value_, Kind::integer); }
bool Value::is_array() const { return has(value_, Kind::array); }

std::string_view Value::text() const {
  const bool holds = has(value_, Kind::text) || has(value_, Kind::error);
  return holds ? std::string_view(value_->text, value_->size) : std::string_view();
}

std::int64_t Value::integer() const { return is_integer() ? value_->integer : 0; }
std::size_t Value::size() const { return is_array() ? value_->size : 0; }
Value Value::operator[](std::size_t index) const { return Value(index < size() ? &value_->elements[index] : nullptr); }

std::uint64_t Value::number() const {
  const std::string_view digits = text();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size() ? value : 0;
}

Reply::Reply(std::unique_ptr<ReplyMemory> memory, const ReplyNode* root) : memory_(std::move(memory)), root_(root) {}
Reply::Reply(Reply&&) noexcept = default;
Reply& Reply::operator=(Reply&&) noexcept = default;
Reply::~Reply() = default;

}  // namespace tenure::redis
