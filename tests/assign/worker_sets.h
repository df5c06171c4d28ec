#pragma once

// Random sets of workers and keys, for the tests of assignment.

#include <rapidcheck.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "assign/rendezvous.h"
#include "base/bytes.h"

namespace tenure::test {

inline constexpr std::size_t kWorkersMax = 64;

// Keys and worker ids are hashed as the pool hashes them.
inline std::uint64_t key_hash(std::uint64_t number) { return hash_bytes("tenant-" + std::to_string(number)); }
inline std::uint64_t worker_seed(std::uint64_t number) { return hash_bytes("worker-" + std::to_string(number)); }

inline rc::Gen<std::uint32_t> weights() { return rc::gen::inRange<std::uint32_t>(1, kWeightMax + 1); }

// Between `least` and kWorkersMax places with different seeds, of equal or of random weights.
inline std::vector<Place> draw_places(std::size_t least) {
  const auto count = *rc::gen::inRange<std::size_t>(least, kWorkersMax + 1);
  const auto first = *rc::gen::inRange<std::uint64_t>(0, 1'000'000'000);
  const bool equal = *rc::gen::arbitrary<bool>();
  std::vector<Place> places;
  places.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    places.push_back({worker_seed(first + i), equal ? kWeightDefault : *weights()});
  }
  return places;
}

// The seeds of the holders of keys first .. first + count.
inline std::vector<std::uint64_t> holders(const std::vector<Place>& places, std::uint64_t first, std::size_t count) {
  std::vector<std::uint64_t> seeds;
  seeds.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    seeds.push_back(places[rendezvous_choose(key_hash(first + i), places)].seed);
  }
  return seeds;
}

}  // namespace tenure::test
