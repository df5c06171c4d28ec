// Fuzzes a Redis server's replies, in pieces of any size. The first byte of the input is the size.
//
// The parser's memory must not exceed the received bytes by more than a small factor, and the replies must be the same
// as those of hiredis.

#include <hiredis/hiredis.h>

#include <cstdlib>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "log/redis/reply_parser.h"
#include "redis/counted_memory.h"

namespace tenure::redis {
namespace {

constexpr std::size_t kMemoryConstant = 3U << 20;
constexpr std::size_t kMemoryFactor = 20;  // of values of three bytes, of which there are few

bool same(Value ours, const redisReply& theirs) {
  switch (theirs.type) {
    case REDIS_REPLY_NIL: return ours.is_nil();
    case REDIS_REPLY_INTEGER: return ours.is_integer() && ours.integer() == theirs.integer;
    case REDIS_REPLY_ARRAY: break;
    default:
      return ours.is_error() == (theirs.type == REDIS_REPLY_ERROR) &&
             ours.text() == std::string_view(theirs.str, static_cast<std::size_t>(theirs.len));
  }
  if (!ours.is_array() || ours.size() != theirs.elements) return false;
  for (std::size_t i = 0; i < theirs.elements; ++i) {
    if (!same(ours[i], *theirs.element[i])) return false;
  }
  return true;
}

// All whole replies. hiredis reserves what an array announces, so that it is given only what ours has found small.
std::vector<Reply> parse(BytesView bytes, std::size_t piece, bool& refused) {
  ReplyParser parser;
  std::vector<Reply> replies;
  const std::size_t before = test::memory_in_use();
  test::forget_peak();
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    parser.feed(bytes.substr(at, piece));
    for (;;) {
      Result<std::optional<Reply>> next = parser.next();
      refused = !next;
      if (!next) return replies;
      if (!*next) break;
      if (replies.size() < 4) replies.push_back(**std::move(next));
    }
    ASSERT(test::memory_peak() - before < kMemoryConstant + kMemoryFactor * (at + piece));
  }
  return replies;
}

void compare(BytesView bytes, const std::vector<Reply>& ours) {
  redisReader* const reader = redisReaderCreate();
  redisReaderFeed(reader, bytes.data(), bytes.size());
  for (const Reply& reply : ours) {
    void* theirs = nullptr;
    // It is the stricter one about numbers.
    if (redisReaderGetReply(reader, &theirs) != REDIS_OK || theirs == nullptr) break;
    ASSERT(same(reply.value(), *static_cast<redisReply*>(theirs)));
    freeReplyObject(theirs);
  }
  redisReaderFree(reader);
}

}  // namespace
}  // namespace tenure::redis

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] == 0 ? size : data[0];
  const tenure::BytesView bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  bool refused = false;
  const auto replies = tenure::redis::parse(bytes, piece, refused);
  if (!refused) tenure::redis::compare(bytes, replies);
  return 0;
}
