#include "sim/world/wires.h"

#include <algorithm>
#include <utility>

namespace tenure::sim {

namespace {

constexpr std::size_t kEntriesPerRead = 256;
constexpr std::uint64_t kIndexMask = 0xFFFFFFFF;

}  // namespace

Wires::Wires(World& world, LogServer& server, WireOptions options)
    : world_(world), server_(server), options_(options), dice_(world.fork("wires")) {}

Wires::Id Wires::keep(std::unique_ptr<Call> call) {
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  slots_[index].call = std::move(call);
  return Id{slots_[index].generation} << 32 | index;
}

Call* Wires::find(Id id) {
  const Slot& slot = slots_[id & kIndexMask];
  return slot.generation == id >> 32 ? slot.call.get() : nullptr;
}

void Wires::release(Id id) {
  const auto index = static_cast<std::uint32_t>(id & kIndexMask);
  Slot& slot = slots_[index];
  ++slot.generation;
  if (slot.parked) std::erase(parked_, id);
  slot.parked = false;
  const auto gone = std::move(slot.call);
  free_.push_back(index);
}

Time Wires::latency(const Call& call) {
  Time span = dice_.tailed(options_.latency_min, options_.latency_max);
  if (call.lane == Lane::data && call.kind == Call::Kind::append) span += dice_.tailed(0, options_.data_extra_max);
  return span;
}

void Wires::send(std::unique_ptr<Call> call) {
  Process& process = *call->process;
  if (!process.leaving()) return;
  call->sent = world_.now();
  Time arrival = world_.now() + latency(*call);
  bool lost = dice_.chance(options_.request_lost);
  if (lost) ++faults_;
  if (call->kind == Call::Kind::append && !lost) {
    if (dice_.chance(options_.held)) {
      ++faults_;
      arrival += dice_.magnitude(10 * kMilli, options_.late_max);
    }
    if (dice_.chance(options_.duplicated)) {
      ++faults_;
      send_late(*call, arrival + dice_.magnitude(kMilli, options_.late_max));
    }
    arrival = in_lane_order(*call, arrival);
    if (arrival - world_.now() > options_.timeout) {
      // The caller gives up before it arrives.
      send_late(*call, arrival);
      lost = true;
    }
  }
  const Id id = keep(std::move(call));
  if (lost) {
    give_up(id, dice_.chance(0.5));
  } else {
    world_.at(arrival, [this, id] { arrive(id); });
  }
  process.left();
}

// A lane is one stream of bytes, so its requests arrive in order, until a new connection overtakes the old one.
Time Wires::in_lane_order(const Call& call, Time arrival) {
  auto lane = std::find_if(lane_ends_.begin(), lane_ends_.end(),
                           [&](const LaneEnd& end) { return end.connection == call.connection; });
  if (lane == lane_ends_.end()) lane = lane_ends_.insert(lane_ends_.end(), {call.connection, {}});
  Time& last = lane->last[static_cast<std::size_t>(call.lane)];
  arrival = std::max(arrival, last);
  const bool in_time = arrival - world_.now() <= options_.timeout;
  last = in_time || dice_.chance(0.5) ? arrival : world_.now();
  return arrival;
}

std::unique_ptr<Call> Wires::copy_of(Call& call) {
  auto copy = call.duplicate();
  if (copy) {
    copy->kind = call.kind;
    copy->lane = call.lane;
    copy->link = call.link;
    call.copied = true;
  }
  return copy;
}

void Wires::send_late(Call& call, Time arrival) {
  auto copy = copy_of(call);
  if (!copy) return;
  const Id id = keep(std::move(copy));
  world_.at(arrival, [this, id] { arrive(id); });
}

void Wires::arrive(Id id) {
  Call* call = find(id);
  if (call == nullptr) return;
  if (down()) return give_up(id, call->sent < down_since_ || dice_.chance(0.5));
  if (call->link->to_server_cut) return arrive_at_cut(id);
  call->serve(server_);
  if (call->waits()) {
    parked_.push_back(id);
    slots_[id & kIndexMask].parked = true;
    return;
  }
  const bool concerns_readers = call->kind == Call::Kind::append || call->kind == Call::Kind::other;
  answer(id);
  if (concerns_readers) poke();
}

// The network may keep what it could not carry, and carry it once the cut has healed.
void Wires::arrive_at_cut(Id id) {
  Call* call = find(id);
  if (dice_.chance(0.5)) {
    if (auto copy = copy_of(*call)) stashed_.push_back({call->link, std::move(copy)});
  }
  give_up(id, dice_.chance(0.5));
}

void Wires::answer(Id id) {
  Call* call = find(id);
  call->settled = true;
  if (call->connection == 0) return release(id);
  if (dice_.chance(options_.answer_lost)) {
    ++faults_;
    return give_up(id, true);
  }
  call->answered = true;
  Time span = latency(*call);
  if (call->kind == Call::Kind::read) span += dice_.tailed(0, call->link->read_delay_max);
  world_.after(span, [this, id] {
    const Call* answered = find(id);
    if (answered == nullptr) return;
    if (answered->link->to_host_cut) return give_up(id, true);
    hand_over(id);
  });
}

void Wires::answer_meanwhile(std::uint64_t connection) {
  if (options_.answered_meanwhile == 0) return;
  for (std::size_t index = 0; index < slots_.size(); ++index) {
    const Slot& slot = slots_[index];
    if (!slot.call || slot.call->connection != connection || slot.call->kind != Call::Kind::append) continue;
    if (!slot.call->answered || slot.call->link->to_host_cut || !dice_.chance(options_.answered_meanwhile)) continue;
    deliver(Id{slot.generation} << 32 | index);
  }
}

void Wires::hand_over(Id id) {
  find(id)->engine->post([this, id] {
    if (find(id) != nullptr) deliver(id);
  });
}

void Wires::deliver(Id id) {
  // Out of the table first: the callback may send again, and so move the table.
  const auto call = std::move(slots_[id & kIndexMask].call);
  release(id);
  call->deliver();
}

// The caller gets Errc::unknown, or, if the request cannot have taken effect, that the server was unreachable.
void Wires::give_up(Id id, bool may_have_happened) {
  Call* call = find(id);
  call->settled = true;
  if (call->connection == 0) return release(id);
  const bool unknown = (may_have_happened || call->copied) && call->kind == Call::Kind::append;
  call->fail({unknown ? Errc::unknown : Errc::unavailable, "sim log", {}});
  const Time earliest = std::max(world_.now() + options_.latency_min, call->sent + options_.timeout / 8);
  world_.at(dice_.between(earliest, call->sent + options_.timeout), [this, id] {
    if (find(id) != nullptr) hand_over(id);
  });
}

void Wires::poke() {
  // Every reader that has something to read now leaves the list, in the order of their connections' waiting.
  const auto waiting = std::exchange(parked_, {});
  for (const Id id : waiting) {
    Call* call = find(id);
    if (call == nullptr) continue;
    slots_[id & kIndexMask].parked = false;
    call->serve(server_);
    if (call->waits()) {
      parked_.push_back(id);
      slots_[id & kIndexMask].parked = true;
    } else {
      answer(id);
    }
  }
}

void Wires::replaced() {
  for (Time after = 0; after <= options_.doubt_max + 100 * kMilli; after += 100 * kMilli) {
    world_.after(after, [this] { poke(); });
  }
}

void Wires::outage(Time span) {
  if (!down()) down_since_ = world_.now();
  down_until_ = std::max(down_until_, world_.now() + span);
  for (const Id id : std::exchange(parked_, {})) {
    if (find(id) == nullptr) continue;
    slots_[id & kIndexMask].parked = false;
    give_up(id, false);
  }
}

void Wires::heal(Link& link) {
  link.to_server_cut = false;
  link.to_host_cut = false;
  for (auto& stashed : std::exchange(stashed_, {})) {
    if (stashed.link != &link) {
      stashed_.push_back(std::move(stashed));
      continue;
    }
    const Id id = keep(std::move(stashed.call));
    world_.after(dice_.tailed(options_.latency_min, options_.latency_max), [this, id] { arrive(id); });
  }
}

void Wires::calm() {
  options_.request_lost = options_.answer_lost = options_.held = options_.duplicated = 0;
  options_.split_reads = options_.snapshot_commit_fails = options_.snapshot_load_fails = 0;
  down_until_ = std::min(down_until_, world_.now());
  for (std::size_t index = 0; index < slots_.size(); ++index) {
    const Slot& slot = slots_[index];
    if (slot.call && slot.call->connection == 0) release(Id{slot.generation} << 32 | index);
  }
  stashed_.clear();
  lane_ends_.clear();
}

void Wires::forget(std::uint64_t connection) {
  for (std::size_t index = 0; index < slots_.size(); ++index) {
    Slot& slot = slots_[index];
    if (!slot.call || slot.call->connection != connection) continue;
    // What is on its way to the server may still take effect there: a copy with nobody to tell takes its place.
    auto copy = slot.call->settled ? nullptr : copy_of(*slot.call);
    if (copy) {
      const auto gone = std::exchange(slot.call, std::move(copy));
    } else {
      release(Id{slot.generation} << 32 | index);
    }
  }
  std::erase_if(lane_ends_, [&](const LaneEnd& end) { return end.connection == connection; });
}

std::size_t Wires::entries_per_read() {
  if (!dice_.chance(options_.split_reads)) return kEntriesPerRead;
  ++faults_;
  return 1 + dice_.below(3);
}

bool Wires::snapshot_fails(bool loading) {
  const bool fails = dice_.chance(loading ? options_.snapshot_load_fails : options_.snapshot_commit_fails);
  if (fails) ++faults_;
  return fails;
}

}  // namespace tenure::sim
