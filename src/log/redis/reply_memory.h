#pragma once

// The parts of a Reply, for the parser: its values and their memory.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace tenure::redis {

struct ReplyNode {
  enum class Kind : std::uint8_t { nil, integer, text, error, array };

  Kind kind;
  std::uint32_t size;  // bytes of a text, elements of an array
  union {
    std::int64_t integer;
    const char* text;
    const ReplyNode* elements;
  };
};

// Memory that is freed together. Large pieces get their own block, others share blocks.
class ReplyMemory {
 public:
  ReplyMemory() = default;
  ~ReplyMemory() {
    while (more_ != nullptr) ::operator delete(std::exchange(more_, more_->next));
  }
  ReplyMemory(const ReplyMemory&) = delete;
  ReplyMemory& operator=(const ReplyMemory&) = delete;

  char* take_text(std::size_t bytes) { return take(bytes, 1); }
  // Not initialised.
  ReplyNode* take_nodes(std::size_t count) {
    return reinterpret_cast<ReplyNode*>(take(count * sizeof(ReplyNode), alignof(ReplyNode)));
  }

  // A separate block, which may be replaced by a larger one until something else is taken.
  char* take_block(std::size_t bytes) {
    void* const memory = ::operator new(kBlockHead + bytes);
    more_ = new (memory) Block{more_};
    return static_cast<char*>(memory) + kBlockHead;
  }
  // Replaces the last block by a larger one, and copies the used bytes.
  char* replace_block(std::size_t used, std::size_t bytes) {
    Block* const old = more_;
    more_ = old->next;
    char* const block = take_block(bytes);
    std::copy_n(reinterpret_cast<const char*>(old) + kBlockHead, used, block);
    ::operator delete(old);
    return block;
  }

  static bool is_large(std::size_t bytes) { return bytes > kBlockBytes / 4; }

 private:
  struct Block {
    Block* next;
  };
  static constexpr std::size_t kFirstBytes = 992;  // with the rest of this 1 KiB: an entry of some hundred bytes
  static constexpr std::size_t kBlockBytes = 32U << 10;
  static constexpr std::size_t kBlockHead = alignof(std::max_align_t);
  static_assert(kBlockHead >= sizeof(Block));

  char* take(std::size_t bytes, std::size_t alignment) {
    const std::size_t skipped = (0 - reinterpret_cast<std::uintptr_t>(free_)) & (alignment - 1);
    if (bytes + skipped > left_) return take_elsewhere(bytes);
    left_ -= bytes + skipped;
    return std::exchange(free_, free_ + skipped + bytes) + skipped;
  }

  // The rest of the last shared block stays in use beside a large one.
  char* take_elsewhere(std::size_t bytes) {
    if (is_large(bytes)) return take_block(bytes);
    char* const block = take_block(kBlockBytes);
    free_ = block + bytes;
    left_ = kBlockBytes - bytes;
    return block;
  }

  alignas(ReplyNode) std::array<char, kFirstBytes> first_;
  Block* more_ = nullptr;
  char* free_ = first_.data();
  std::size_t left_ = kFirstBytes;
};

}  // namespace tenure::redis
