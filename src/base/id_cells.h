#pragma once

// The index below IdMap (base/id_map.h): open addressing in one block, so that a lookup touches one place in memory. A
// table that becomes empty frees the memory that a flood made it allocate.
//
// An id has a home cell, and is stored there or in one of the next cells. Ids in one run of cells are in the order of
// their homes. So a search ends early. Erasing leaves no marker behind: the following ids that are not at home move
// back by one.

#include <cstdint>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace tenure {

// Zero is not a valid id and is never found. Values move when the map grows or an id is erased; pointers to them are
// valid until then.
template <class Value>
class IdCells {
 public:
  bool empty() const { return size_ == 0; }

  Value* find(std::uint64_t id) {
    if (id == 0 || empty()) return nullptr;  // zero marks a free cell
    Cell& cell = cells_[place(id)];
    return cell.id == id ? &cell.value : nullptr;
  }

  // The value of the id. Inserts a new value if there is none.
  Value& operator[](std::uint64_t id) {
    ASSERT(id != 0);
    if ((size_ + 1) * 2 > cells_.size()) grow();
    Cell& cell = cells_[place(id)];
    if (cell.id == id) return cell.value;
    ++size_;
    if (cell.id != 0) return insert({id, Value{}}).value;
    cell.id = id;
    return cell.value;
  }

  bool erase(std::uint64_t id) {
    if (id == 0 || empty()) return false;
    std::size_t hole = place(id);
    if (cells_[hole].id != id) return false;
    for (std::size_t at = next(hole); cells_[at].id != 0 && distance(at) != 0; at = next(at)) {
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

  // Calls visit(id, value) for each id, in no particular order. The map must not change meanwhile.
  template <class Visit>
  void each(Visit visit) {
    for (Cell& cell : cells_) {
      if (cell.id != 0) visit(cell.id, cell.value);
    }
  }

 private:
  static constexpr std::size_t kFirstCells = 16;
  static constexpr std::size_t kKeptCells = 4096;

  struct Cell {
    std::uint64_t id = 0;
    Value value{};
  };

  std::size_t mask() const { return cells_.size() - 1; }
  std::size_t next(std::size_t at) const { return (at + 1) & mask(); }
  std::size_t home(std::uint64_t id) const { return (id * 0x9E3779B97F4A7C15ULL >> 32) & mask(); }

  // The distance of the cell's id from its home.
  std::size_t distance(std::size_t at) const { return (at - home(cells_[at].id)) & mask(); }

  // The cell of the id, or the cell where it belongs.
  std::size_t place(std::uint64_t id) const {
    std::size_t at = home(id);
    for (std::size_t far = 0; cells_[at].id != 0 && cells_[at].id != id && distance(at) >= far; ++far) at = next(at);
    return at;
  }

  Cell& insert(Cell cell) {
    const std::size_t put = place(cell.id);
    // The ids from here on move up by one.
    for (std::size_t at = put; cell.id != 0; at = next(at)) std::swap(cells_[at], cell);
    return cells_[put];
  }

  void grow() {
    std::vector<Cell> old(cells_.empty() ? kFirstCells : cells_.size() * 2);
    old.swap(cells_);
    for (Cell& cell : old) {
      if (cell.id != 0) insert(std::move(cell));
    }
  }

  std::vector<Cell> cells_;  // a power of two of them, or none
  std::size_t size_ = 0;
};

}  // namespace tenure
