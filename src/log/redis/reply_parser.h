#pragma once

// Cuts the bytes of a connection into replies (RESP2). The server is not trusted. The parser refuses what is over a
// bound as soon as it is announced. An unfinished reply takes a small multiple of the bytes that have come, plus 2 MiB
// at most. The work for a byte does not depend on how much came before it.
//
// hiredis' parser can do neither: it reserves memory for every element that an array announces, and it scans a line
// again for each piece that arrives.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "log/redis/reply.h"
#include "log/redis/reply_memory.h"

namespace tenure::redis {

// After an error the connection is of no more use, nor is its parser.
class ReplyParser {
 public:
  // Far above the largest entry, and above the largest chunk of a snapshot.
  static constexpr std::size_t kReplyBytesMax = 64U << 20;
  // In all arrays of a reply together. The largest reply that a pool asks for has 1,024 entries of six values each.
  static constexpr std::size_t kValuesMax = 1U << 16;
  static constexpr std::size_t kDepthMax = 8;
  // Of a status, an error, a number, or the head of something longer.
  static constexpr std::size_t kLineBytesMax = 64U << 10;

  explicit ReplyParser(std::size_t reply_bytes_max = kReplyBytesMax);
  ~ReplyParser();
  ReplyParser(const ReplyParser&) = delete;
  ReplyParser& operator=(const ReplyParser&) = delete;

  // The bytes must stay where they are until next() has nothing more.
  void feed(BytesView bytes);
  // The next whole reply; nothing where more bytes are needed.
  Result<std::optional<Reply>> next();

 private:
  // An array whose elements are still to come.
  struct Open {
    ReplyNode* next;
    std::size_t left;
  };
  // A text whose bytes are still to come.
  struct Text {
    ReplyNode* node = nullptr;
    char* into = nullptr;
    std::size_t room = 0;
    std::size_t filled = 0;  // beyond `size`: of the line end behind it
    std::size_t size = 0;
  };

  // A value or the head of an array was taken; a value is not whole yet; this is no reply, as why_ says.
  enum class Step : std::uint8_t { taken, more, broken };

  Step take_value();
  Step take_line();
  Step take_text();

  Step read_line(BytesView line);
  Step begin_text(std::int64_t size);
  Step begin_array(std::int64_t size);
  bool read_head(std::int64_t& size);
  void make_room(std::size_t bytes);
  Step put_text(ReplyNode::Kind kind, BytesView text);
  Step broken(std::string why);
  ReplyNode& place();
  bool is_whole();

  const std::size_t reply_bytes_max_;
  BytesView input_;
  std::unique_ptr<ReplyMemory> memory_;  // of the reply that is being read
  ReplyNode* root_ = nullptr;            // of that, once there is memory
  std::array<Open, kDepthMax> open_{};
  std::size_t depth_ = 0;
  std::size_t values_ = 0;  // announced in this reply
  std::size_t bytes_ = 0;   // of this reply, with those of texts from when they are announced
  std::string line_;        // one that has begun in an earlier piece
  Text text_;               // its node is null: no text is being read
  std::string why_;
};

}  // namespace tenure::redis
