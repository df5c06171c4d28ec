#pragma once

// A map from ids to values, for hundreds of thousands of short-lived entries. Ids come from a counter: ids that are
// given out one after the other tend to be looked up and erased one after the other. So the values of a run of ids are
// together in a block, and a lookup has to find only the block, which usually is the one found last. Values do not move
// when the map grows. A single id far from all others takes a whole block.

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "base/id_cells.h"

namespace tenure {

// Zero is not a valid id and is never found. A pointer to a value is valid until the value is erased. A lookup
// remembers its block, so two threads must not even look up at the same time.
template <class Value>
class IdMap {
 public:
  IdMap() = default;
  IdMap(IdMap&& other) noexcept { swap(other); }
  IdMap& operator=(IdMap&& other) noexcept {
    IdMap old(std::move(other));
    swap(old);
    return *this;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  Value* find(std::uint64_t id) {
    if (id == 0 || empty()) return nullptr;
    Block* const block = block_of(id);
    return block != nullptr && block->has(id) ? &block->values[id % kRun] : nullptr;
  }
  const Value* find(std::uint64_t id) const { return const_cast<IdMap*>(this)->find(id); }
  bool contains(std::uint64_t id) const { return find(id) != nullptr; }

  // The value of the id. Inserts a new value if there is none.
  Value& operator[](std::uint64_t id) {
    ASSERT(id != 0);
    Block* block = block_of(id);
    if (block == nullptr) {
      blocks_[name_of(id)] = std::make_unique<Block>();
      block = block_of(id);
    }
    if (!block->has(id)) {
      block->present ^= bit_of(id);
      ++size_;
    }
    return block->values[id % kRun];
  }

  bool erase(std::uint64_t id) {
    Value* const value = find(id);
    if (value == nullptr) return false;
    *value = Value{};
    Block* const block = block_of(id);
    block->present ^= bit_of(id);
    --size_;
    if (block->present == 0) {
      last_ = nullptr;
      last_name_ = 0;
      blocks_.erase(name_of(id));
    }
    return true;
  }

  // Calls visit(id, value) for each id, in no particular order. The map must not change meanwhile.
  template <class Visit>
  void each(Visit visit) {
    blocks_.each([&](std::uint64_t name, std::unique_ptr<Block>& block) {
      for (std::uint64_t i = 0; i < kRun; ++i) {
        if (block->has(i)) visit((name - 1) * kRun + i, block->values[i]);
      }
    });
  }
  template <class Visit>
  void each(Visit visit) const {
    const_cast<IdMap*>(this)->each([&](std::uint64_t id, const Value& value) { visit(id, value); });
  }

 private:
  static constexpr std::uint64_t kRun = 32;

  struct Block {
    std::uint32_t present = 0;  // a bit for each value
    std::array<Value, kRun> values{};

    bool has(std::uint64_t id) const { return (present & bit_of(id)) != 0; }
  };

  static std::uint32_t bit_of(std::uint64_t id) { return std::uint32_t{1} << id % kRun; }
  // The name of the id's block. Never zero.
  static std::uint64_t name_of(std::uint64_t id) { return id / kRun + 1; }

  // Null if there is none.
  Block* block_of(std::uint64_t id) {
    if (name_of(id) == last_name_) return last_;
    const std::unique_ptr<Block>* const found = blocks_.find(name_of(id));
    if (found == nullptr) return nullptr;
    last_name_ = name_of(id);
    last_ = found->get();
    return last_;
  }

  void swap(IdMap& other) {
    std::swap(blocks_, other.blocks_);
    std::swap(size_, other.size_);
    std::swap(last_name_, other.last_name_);
    std::swap(last_, other.last_);
  }

  IdCells<std::unique_ptr<Block>> blocks_;  // by name
  std::size_t size_ = 0;
  std::uint64_t last_name_ = 0;  // the block found last
  Block* last_ = nullptr;
};

}  // namespace tenure
