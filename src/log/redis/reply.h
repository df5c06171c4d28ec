#pragma once

// An answer of a server: a tree of values. All memory of one answer is freed together.

#include <cstdint>
#include <memory>
#include <string_view>

namespace tenure::redis {

struct ReplyNode;   // a value
class ReplyMemory;  // the memory of a reply

// A part of a Reply, valid while the reply exists. A value of another kind reads as empty, zero or none, so a server
// that sends nonsense causes a failed check and not a crash.
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
  // A decimal text as a number. Zero if it is not one.
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

}  // namespace tenure::redis
