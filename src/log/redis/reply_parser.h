#pragma once

// Cuts the bytes of a connection into replies (RESP2). The server is not trusted. The parser refuses a size above the
// limits as soon as it is announced. An incomplete reply takes a small multiple of the bytes that have arrived, plus at
// most 2 MiB. The work for a byte does not depend on the number of bytes before it.
//
// The parser of hiredis lacks both properties: it reserves memory for every announced element, and it scans a line
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

// After an error neither the connection nor its parser can be used.
class ReplyParser {
 public:
  // Far above the largest entry, and above the largest chunk of a snapshot.
  static constexpr std::size_t kReplyBytesMax = 64U << 20;
  // For all arrays of a reply together. The largest reply that a pool needs has 1,024 entries of six values each.
  static constexpr std::size_t kValuesMax = 1U << 16;
  static constexpr std::size_t kDepthMax = 8;
  // For a status, an error, a number, or the head of a text or an array.
  static constexpr std::size_t kLineBytesMax = 64U << 10;

  explicit ReplyParser(std::size_t reply_bytes_max = kReplyBytesMax);
  ~ReplyParser();
  ReplyParser(const ReplyParser&) = delete;
  ReplyParser& operator=(const ReplyParser&) = delete;

  // The bytes must stay in place until next() returns nothing.
  void feed(BytesView bytes);
  // The next complete reply, or nothing if more bytes are needed.
  Result<std::optional<Reply>> next();

 private:
  // An array whose elements have not all arrived.
  struct Open {
    ReplyNode* next;
    std::size_t left;
  };
  // A text whose bytes have not all arrived.
  struct Text {
    ReplyNode* node = nullptr;
    char* into = nullptr;
    std::size_t room = 0;
    std::size_t filled = 0;  // beyond `size`: bytes of its line end
    std::size_t size = 0;
  };

  // taken: a value or the head of an array. more: a value is incomplete. broken: not a reply, see why_.
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
  std::unique_ptr<ReplyMemory> memory_;  // of the reply being read
  ReplyNode* root_ = nullptr;            // of that, once there is memory
  std::array<Open, kDepthMax> open_{};
  std::size_t depth_ = 0;
  std::size_t values_ = 0;  // announced in this reply
  std::size_t bytes_ = 0;   // of this reply; texts count from their announcement
  std::string line_;        // a line that began in an earlier piece
  Text text_;               // its node is null if no text is being read
  std::string why_;
};

}  // namespace tenure::redis
