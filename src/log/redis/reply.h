#pragma once

// Answers of a server. The protocol is hiredis' matter; the values are ours: it would allocate two pieces of memory for
// each, which an entry's answer has nine of, and all of one answer fits into one.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

struct redisReader;  // NOLINT(readability-identifier-naming): hiredis'

namespace tenure::redis {

struct ReplyNode;   // a value
class ReplyMemory;  // where those of a reply lie

// A part of a Reply; valid as long as that is. A value of another kind reads as empty, zero or none, so that a server
// that answers nonsense is met with a failed check and not with a crash.
class Value {
 public:
  explicit Value(const ReplyNode* value) : value_(value) {}

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
  const ReplyNode* value_;
};

class Reply {
 public:
  Reply(std::unique_ptr<ReplyMemory> memory, const ReplyNode* root);
  Reply(Reply&&) noexcept;
  Reply& operator=(Reply&&) noexcept;
  ~Reply();

  Value value() const { return Value(root_); }

 private:
  std::unique_ptr<ReplyMemory> memory_;
  const ReplyNode* root_;
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
  std::unique_ptr<ReplyMemory> memory_;  // of the reply that is being read
  std::size_t unfinished_ = 0;           // bytes fed since the last whole reply
};

}  // namespace tenure::redis
