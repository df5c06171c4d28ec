#include "log/redis/reply.h"

#include <hiredis/hiredis.h>

#include <charconv>
#include <new>

namespace tenure::redis {

bool Value::is_error() const { return value_ != nullptr && value_->type == REDIS_REPLY_ERROR; }
bool Value::is_nil() const { return value_ == nullptr || value_->type == REDIS_REPLY_NIL; }
bool Value::is_integer() const { return value_ != nullptr && value_->type == REDIS_REPLY_INTEGER; }
bool Value::is_array() const { return value_ != nullptr && value_->type == REDIS_REPLY_ARRAY; }

std::string_view Value::text() const {
  if (value_ == nullptr || value_->str == nullptr) return {};
  const bool text = value_->type == REDIS_REPLY_STRING || value_->type == REDIS_REPLY_STATUS || is_error();
  return text ? std::string_view(value_->str, value_->len) : std::string_view();
}

std::int64_t Value::integer() const { return is_integer() ? value_->integer : 0; }
std::size_t Value::size() const { return is_array() ? value_->elements : 0; }
Value Value::operator[](std::size_t index) const { return Value(index < size() ? value_->element[index] : nullptr); }

std::uint64_t Value::number() const {
  const std::string_view digits = text();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size() ? value : 0;
}

Reply::Reply(redisReply* reply) : reply_(reply) {}

void Reply::Free::operator()(redisReply* reply) const { freeReplyObject(reply); }

ReplyParser::ReplyParser() : reader_(redisReaderCreate()) {
  if (reader_ == nullptr) throw std::bad_alloc();
}

ReplyParser::~ReplyParser() { redisReaderFree(reader_); }

void ReplyParser::feed(BytesView bytes) {
  unfinished_ += bytes.size();
  redisReaderFeed(reader_, bytes.data(), bytes.size());  // an error stays with the reader, and next() reports it
}

Result<std::optional<Reply>> ReplyParser::next() {
  if (unfinished_ > kReplyBytesMax) {
    return fail(Errc::unavailable, "redis reply", "an answer is larger than 64 MiB");
  }
  void* reply = nullptr;
  if (redisReaderGetReply(reader_, &reply) != REDIS_OK) {
    return fail(Errc::unavailable, "redis reply", std::string("no Redis speaks there: ") + reader_->errstr);
  }
  if (reply == nullptr) return std::optional<Reply>();
  unfinished_ = 0;
  return std::optional<Reply>(Reply(static_cast<redisReply*>(reply)));
}

}  // namespace tenure::redis
