#pragma once

// Answers of a server. The protocol is hiredis' matter; these give its values an owner and a C++ face.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

struct redisReply;   // NOLINT(readability-identifier-naming): hiredis'
struct redisReader;  // NOLINT(readability-identifier-naming)

namespace tenure::redis {

// A part of a Reply; valid as long as that is. A value of another kind reads as empty, zero or none, so that a server
// that answers nonsense is met with a failed check and not with a crash.
class Value {
 public:
  explicit Value(const redisReply* value) : value_(value) {}

  bool is_error() const;
  bool is_nil() const;
  bool is_integer() const;
  bool is_array() const;
  std::string_view text() const;  // of a string, a status or an error
  std::int64_t integer() const;
  std::size_t size() const;  // elements of an array
  Value operator[](std::size_t index) const;
  // A decimal text; zero where it is none.
  std::uint64_t number() const;

 private:
  const redisReply* value_;
};

class Reply {
 public:
  explicit Reply(redisReply* reply);
  Value value() const { return Value(reply_.get()); }

 private:
  struct Free {
    void operator()(redisReply* reply) const;
  };
  std::unique_ptr<redisReply, Free> reply_;
};

// Cuts the bytes of a connection into replies.
class ReplyParser {
 public:
  // Far above the largest entry or chunk. A reply that outgrows it is refused before it takes the process with it.
  static constexpr std::size_t kReplyBytesMax = 64U << 20;

  ReplyParser();
  ~ReplyParser();
  ReplyParser(const ReplyParser&) = delete;
  ReplyParser& operator=(const ReplyParser&) = delete;

  void feed(BytesView bytes);
  // The next whole reply; nothing where more bytes are needed. After an error the connection is of no more use.
  Result<std::optional<Reply>> next();

 private:
  redisReader* reader_;
  std::size_t unfinished_ = 0;  // bytes fed since the last whole reply
};

}  // namespace tenure::redis
