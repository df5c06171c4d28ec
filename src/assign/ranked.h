#pragma once

// Placement by rank: computes which of several workers a partition belongs to.
//
// The partitions of a pool are numbered, and so are its workers: a worker's number is its ordinal. Partition p belongs
// to the worker with ordinal p, its primary. While that one is away, it belongs to one of its secondaries, which are
// the next ones on the ring of ordinals. Of these the one with the fewest partitions gets it, and the nearest one of
// several.
//
// With surge each partition is cut into parts, which are placed like partitions. Part s belongs to partition s modulo
// the number of partitions. So the part of a row, its hash modulo the number of parts, belongs to the row's partition.
//
// As with the other assignments, these results are part of the log's meaning and must never change.

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

namespace tenure {

constexpr std::uint32_t kNoOrdinal = UINT32_MAX;

// The partitions of a pool, and who may hold them. None if `partitions` is zero.
struct Ring {
  std::uint32_t partitions = 0;
  std::uint32_t secondaries = 0;  // of each partition; below `partitions`
  std::int64_t settle_ms = 0;     // a worker that has joined waits this long before it takes a partition from another
  bool anyone = false;            // while neither primary nor secondary is there, any other worker may hold it
  std::uint32_t cuts = 1;         // parts of each partition; 1: it is not cut
  std::uint64_t surge = 0;        // the backlog from which a partition's parts may go to idle workers; 0: never

  // Without cuts these are the partitions.
  constexpr std::uint32_t parts() const { return partitions * cuts; }

  friend bool operator==(const Ring&, const Ring&) = default;
};

// The worker's place in the order of those that may hold the partition: 0 for its primary, 1 for a secondary, 2 for
// anyone else, 3 if it may not hold it. A lower rank goes first, whatever the workers' loads.
enum class Rank : std::uint8_t { primary, secondary, other, none };

constexpr std::uint32_t partition_of_part(const Ring& ring, std::uint32_t part) {
  return ring.partitions == 0 ? part : part % ring.partitions;
}

// How far the ordinal lies behind the part's partition on the ring; UINT32_MAX if it is not on the ring.
constexpr std::uint32_t ring_distance(const Ring& ring, std::uint32_t part, std::uint32_t ordinal) {
  if (part >= ring.parts() || ordinal >= ring.partitions) return UINT32_MAX;
  const std::uint32_t partition = partition_of_part(ring, part);
  return ordinal >= partition ? ordinal - partition : ordinal + ring.partitions - partition;
}

constexpr Rank rank_of(const Ring& ring, std::uint32_t part, std::uint32_t ordinal) {
  const std::uint32_t distance = ring_distance(ring, part, ordinal);
  if (distance == 0) return Rank::primary;
  if (distance <= ring.secondaries) return Rank::secondary;
  return ring.anyone && part < ring.parts() ? Rank::other : Rank::none;
}

// A worker that could hold the part.
struct RankedPlace {
  std::uint32_t ordinal;
  std::uint32_t load;  // how many other parts it has
};

// The index of the place that the part belongs to, or places.size() if none may hold it. Where ordinals and loads
// are equal, the first one wins.
constexpr std::size_t ranked_choose(const Ring& ring, std::uint32_t part, std::span<const RankedPlace> places) {
  std::size_t best = places.size();
  const auto order = [&](const RankedPlace& place) {
    const Rank rank = rank_of(ring, part, place.ordinal);
    return std::tuple(rank, rank == Rank::primary ? 0 : place.load, ring_distance(ring, part, place.ordinal));
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (rank_of(ring, part, places[i].ordinal) == Rank::none) continue;
    if (best == places.size() || order(places[i]) < order(places[best])) best = i;
  }
  return best;
}

}  // namespace tenure
