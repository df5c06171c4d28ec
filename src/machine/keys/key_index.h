#pragma once

// Maps a key's hash to its slot. Open addressing in 64 parts, chosen by the hash's top bits. A part that grows is
// rehashed alone, so no insertion into a table of a million keys takes longer than a fraction of a millisecond.

#include <array>
#include <cstdint>
#include <vector>

#include "machine/slab.h"

namespace tenure {

class KeyIndex {
 public:
  // `matches(slot)` tells whether the slot has the wanted key.
  template <class Matches>
  std::uint32_t find(std::uint64_t hash, Matches matches) const {
    const Part& part = parts_[hash >> kShift];
    if (part.cells.empty()) return kNone;
    const std::uint32_t mask = part.mask();
    const auto tag = static_cast<std::uint32_t>(hash);
    for (std::uint32_t at = tag & mask; part.cells[at].slot != kNone; at = (at + 1) & mask) {
      if (part.cells[at].tag == tag && matches(part.cells[at].slot)) return part.cells[at].slot;
    }
    return kNone;
  }

  void insert(std::uint64_t hash, std::uint32_t slot) {
    Part& part = parts_[hash >> kShift];
    if ((part.used + 1) * 4 > part.cells.size() * 3) part.grow();
    part.put({static_cast<std::uint32_t>(hash), slot});
    ++part.used;
  }

  void erase(std::uint64_t hash, std::uint32_t slot) {
    Part& part = parts_[hash >> kShift];
    const std::uint32_t mask = part.mask();
    std::uint32_t hole = static_cast<std::uint32_t>(hash) & mask;
    while (part.cells[hole].slot != slot) {
      ASSERT(part.cells[hole].slot != kNone);
      hole = (hole + 1) & mask;
    }
    // Later cells of the run move back, so that no tombstones are needed.
    for (std::uint32_t at = (hole + 1) & mask; part.cells[at].slot != kNone; at = (at + 1) & mask) {
      const std::uint32_t home = part.cells[at].tag & mask;
      if (((at - home) & mask) >= ((at - hole) & mask)) {
        part.cells[hole] = part.cells[at];
        hole = at;
      }
    }
    part.cells[hole] = Cell{};
    --part.used;
  }

  void clear() { parts_ = {}; }

 private:
  static constexpr int kShift = 58;

  struct Cell {
    std::uint32_t tag = 0;
    std::uint32_t slot = kNone;
  };
  struct Part {
    std::vector<Cell> cells;
    std::size_t used = 0;

    std::uint32_t mask() const { return static_cast<std::uint32_t>(cells.size() - 1); }
    void put(Cell cell) {
      std::uint32_t at = cell.tag & mask();
      while (cells[at].slot != kNone) at = (at + 1) & mask();
      cells[at] = cell;
    }
    void grow() {
      std::vector<Cell> old(cells.empty() ? 16 : cells.size() * 2);
      old.swap(cells);
      for (const Cell& cell : old) {
        if (cell.slot != kNone) put(cell);
      }
    }
  };

  std::array<Part, 64> parts_;
};

}  // namespace tenure
