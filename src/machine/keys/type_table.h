#pragma once

// The types of the jobs in a pool. A job names its type by a small number, so that a million jobs of one type hold its
// text once. Numbers that no job uses are given again, the lowest first: all nodes agree on them.

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "machine/limits.h"
#include "machine/own_names.h"

namespace tenure {

using TypeId = std::uint16_t;
constexpr TypeId kNoType = 0;  // the empty type; every table has it

class TypeTable {
 public:
  // A type that is new needs a free number.
  bool has_room_for(BytesView name) const { return numbers_.size() < kTypesMax || knows(name); }
  bool knows(BytesView name) const { return name.empty() || numbers_.find(name) != numbers_.end(); }
  // How many new ones have a free number.
  std::size_t room() const { return kTypesMax - std::min(numbers_.size(), kTypesMax); }
  // For one more job of this type. To be called only if there is room.
  TypeId add(BytesView name) {
    if (name.empty()) return kNoType;
    auto found = numbers_.find(name);
    if (found == numbers_.end()) found = numbers_.emplace(Bytes(name), give_number(name)).first;
    ++entries_[found->second].jobs;
    return found->second;
  }
  // A job of this type is gone. True if it was the last one: the number may come to mean another type.
  bool remove(TypeId type) {
    if (type == kNoType) return false;
    Entry& entry = entries_[type];
    ASSERT(entry.jobs != 0);
    if (--entry.jobs != 0) return false;
    numbers_.erase(entry.name);
    own_ -= is_own_type(entry.name) ? 1 : 0;
    entry.name.clear();
    return true;
  }

  const Bytes& name(TypeId type) const { return entries_[type].name; }
  // Whether it is a type of the library itself, and whether any job has one.
  bool is_own(TypeId type) const { return own_ != 0 && is_own_type(entries_[type].name); }
  bool has_own() const { return own_ != 0; }
  bool empty() const { return numbers_.empty(); }
  void clear() { *this = TypeTable(); }

  // By name. For saving.
  const std::map<Bytes, TypeId, std::less<>>& numbers() const { return numbers_; }
  // For restoring: first the names, then each job. False if it cannot have come about.
  bool restore_name(std::uint32_t number, const Bytes& name) {
    if (number == kNoType || number > kTypesMax || name.empty() || name.size() > kTypeBytesMax) return false;
    if (entries_.size() <= number) entries_.resize(number + 1);
    if (!entries_[number].name.empty() || !numbers_.emplace(name, static_cast<TypeId>(number)).second) return false;
    entries_[number].name = name;
    own_ += is_own_type(name) ? 1 : 0;
    return true;
  }
  bool restore_job(std::uint32_t number, TypeId& into) {
    if (number >= entries_.size() || (number != kNoType && entries_[number].name.empty())) return false;
    into = static_cast<TypeId>(number);
    ++entries_[number].jobs;
    return true;
  }
  // Every type has a job.
  bool is_sound() const {
    for (const auto& [name, number] : numbers_) {
      if (entries_[number].jobs == 0) return false;
    }
    return true;
  }

 private:
  struct Entry {
    Bytes name;
    std::uint32_t jobs = 0;  // not counted for the empty type
  };

  TypeId give_number(BytesView name) {
    std::size_t number = 1;
    while (number < entries_.size() && !entries_[number].name.empty()) ++number;
    if (number == entries_.size()) entries_.emplace_back();
    entries_[number].name = name;
    own_ += is_own_type(name) ? 1 : 0;
    return static_cast<TypeId>(number);
  }

  std::vector<Entry> entries_ = std::vector<Entry>(1);  // by TypeId
  std::map<Bytes, TypeId, std::less<>> numbers_;        // without the empty type
  std::size_t own_ = 0;                                 // types of the library itself
};

static_assert(kTypesMax <= UINT16_MAX);

}  // namespace tenure
