#pragma once

// Writes the history of a run, and knows the meaning of users' bytes: payloads and messages contain a number from the
// simulator, so that the handler's and the client's side of a request can be matched without asking the pool.

#include <cstdint>
#include <cstring>
#include <functional>
#include <unordered_map>

#include "base/bytes.h"
#include "sim/checker/history.h"
#include "sim/world/process.h"

namespace tenure::sim {

class Recorder {
 public:
  explicit Recorder(World& world) : world_(world) {}

  void add(What what) {
    world_.trace(what.index());
    if (on_event) on_event(world_.now(), what);
    history_.push_back({world_.now(), std::move(what)});
  }
  // Of a process: one that is dead says nothing any more.
  void add(const Process& process, What what) {
    if (process.alive()) add(std::move(what));
  }
  const History& history() const { return history_; }

  // A number for a request that is about to be made, and later the ticket it got.
  std::uint64_t new_number() { return ++numbers_; }
  void number_is(std::uint64_t number, std::uint64_t ticket) { tickets_[number] = ticket; }
  std::uint64_t ticket_of(BytesView bytes) const {
    const auto found = tickets_.find(number_in(bytes));
    return found == tickets_.end() ? 0 : found->second;
  }

  static Bytes bytes_with(std::uint64_t number, std::size_t size) {
    Bytes bytes(size < sizeof number ? sizeof number : size, 'x');
    std::memcpy(bytes.data(), &number, sizeof number);
    return bytes;
  }
  static std::uint64_t number_in(BytesView bytes) {
    std::uint64_t number = 0;
    if (bytes.size() >= sizeof number) std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }

  // For a person who watches; no part of the history.
  template <class Text>
  void note(Text text) const {
    if (on_note) on_note(world_.now(), text());
  }
  std::function<void(Time, const What&)> on_event;
  std::function<void(Time, const std::string&)> on_note;

 private:
  World& world_;
  History history_;
  std::uint64_t numbers_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> tickets_;
};

// A user's own database with the guard that the documentation recommends.
class Store {
 public:
  bool write(const Bytes& key, std::uint64_t epoch) {
    std::uint64_t& largest = largest_[key];
    if (epoch < largest) return false;
    largest = epoch;
    return true;
  }

 private:
  std::unordered_map<Bytes, std::uint64_t> largest_;
};

}  // namespace tenure::sim
