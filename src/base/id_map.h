#pragma once

// From ids to values, where hundreds of thousands come and go: open addressing in one block, so that finding one
// touches one place in memory, and adding one allocates nothing most of the time. A table that has become empty gives
// back what a flood has made it grow to.

#include <cstdint>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace tenure {

// Ids are never zero. Values move when the map grows or something is erased: pointers to them last until then.
template <class Value>
class IdMap {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  Value* find(std::uint64_t id) {
    const std::size_t at = cells_.empty() ? kNowhere : where(id);
    return at == kNowhere || cells_[at].id == 0 ? nullptr : &cells_[at].value;
  }
  const Value* find(std::uint64_t id) const { return const_cast<IdMap*>(this)->find(id); }
  bool contains(std::uint64_t id) const { return find(id) != nullptr; }

  // The value of the id; a new one where there was none.
  Value& operator[](std::uint64_t id) {
    ASSERT(id != 0);
    if ((size_ + 1) * 4 > cells_.size() * 3) grow();
    Cell& cell = cells_[where(id)];
    if (cell.id == 0) {
      cell.id = id;
      ++size_;
    }
    return cell.value;
  }

  bool erase(std::uint64_t id) {
    if (!contains(id)) return false;
    std::size_t hole = where(id);
    // Later cells of the run move back, so that no tombstones are needed.
    for (std::size_t at = next(hole); cells_[at].id != 0; at = next(at)) {
      if (((at - home(cells_[at].id)) & mask()) < ((at - hole) & mask())) continue;
      cells_[hole] = std::move(cells_[at]);
      hole = at;
    }
    cells_[hole] = Cell{};
    --size_;
    if (size_ == 0 && cells_.size() > kKeptCells) clear();
    return true;
  }

  void clear() {
    std::vector<Cell>().swap(cells_);
    size_ = 0;
  }

  // Calls visit(id, value) for each, in no order that means anything. The map must not be changed meanwhile.
  template <class Visit>
  void each(Visit visit) {
    for (Cell& cell : cells_) {
      if (cell.id != 0) visit(cell.id, cell.value);
    }
  }
  template <class Visit>
  void each(Visit visit) const {
    for (const Cell& cell : cells_) {
      if (cell.id != 0) visit(cell.id, cell.value);
    }
  }

 private:
  static constexpr std::size_t kNowhere = SIZE_MAX;
  static constexpr std::size_t kFirstCells = 16;
  static constexpr std::size_t kKeptCells = 4096;

  struct Cell {
    std::uint64_t id = 0;
    Value value{};
  };

  std::size_t mask() const { return cells_.size() - 1; }
  std::size_t next(std::size_t at) const { return (at + 1) & mask(); }
  // Ids may be random, or follow each other: the multiplication spreads both.
  std::size_t home(std::uint64_t id) const { return (id * 0x9E3779B97F4A7C15ULL >> 32) & mask(); }

  // Where the id is, or would be put.
  std::size_t where(std::uint64_t id) const {
    std::size_t at = home(id);
    while (cells_[at].id != 0 && cells_[at].id != id) at = next(at);
    return at;
  }

  void grow() {
    std::vector<Cell> old(cells_.empty() ? kFirstCells : cells_.size() * 2);
    old.swap(cells_);
    for (Cell& cell : old) {
      if (cell.id != 0) cells_[where(cell.id)] = std::move(cell);
    }
  }

  std::vector<Cell> cells_;  // a power of two of them, or none
  std::size_t size_ = 0;
};

}  // namespace tenure
