#pragma once

// Weighted rendezvous hashing: computes which of several places a key belongs to.
//
// Every place draws a number for the key, and the best draw wins. A place's draw depends only on the key and the place.
// So a join can only move keys to the newcomer, a leave only the keys of the place that left, and neither needs any
// history. With weights, a place costs -log2(draw / 2^64) / weight, and the smallest cost wins. Every place gets a
// share proportional to its weight, and a changed weight moves as few keys as possible.
//
// The holder of a key is a function of the log, so these results are part of the log's meaning. They are computed with
// integers, are the same on every platform, and must never change. All functions are pure and allocate nothing.

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenure {

inline constexpr std::uint32_t kWeightDefault = 100;
inline constexpr std::uint32_t kWeightMax = 10'000;

// A worker as a target of hashing. Two places of one pool have different seeds.
struct Place {
  std::uint64_t seed;
  std::uint32_t weight;  // 1..kWeightMax; a place of weight 0 gets a key only if no other place has a weight.
};

// A bijection of 64-bit words in which every input bit reaches every output bit (the "moremur" constants).
constexpr std::uint64_t rendezvous_mix(std::uint64_t word) {
  word ^= word >> 27;
  word *= 0x3C79AC492BA7B653ULL;
  word ^= word >> 33;
  word *= 0x1C69B3F74AC4AE35ULL;
  word ^= word >> 27;
  return word;
}

// The draw of a place for a key: uniform over 64 bits; larger is better. For a given key it is a bijection of the seed,
// so two places never draw the same number. For a given seed it is a bijection of the key, so draws are exactly
// uniform. The key is mixed before it is combined with the seed: with key ^ seed alone, two keys could swap the draws
// of two places. That first mix is the same for all places, and a loop computes it once.
constexpr std::uint64_t rendezvous_draw(std::uint64_t key_hash, std::uint64_t seed) {
  return rendezvous_mix(rendezvous_mix(key_hash ^ 0x9E3779B97F4A7C15ULL) ^ seed);
}

// -log2(draw / 2^64) with 48 fractional bits: in (0, 64], never rising with the draw. A draw of 0 costs the same as 1.
std::uint64_t rendezvous_cost(std::uint64_t draw);

// True if draw_a at weight_a beats draw_b at weight_b. Equal costs are decided by the draw, then by the weight.
bool rendezvous_beats(std::uint64_t draw_a, std::uint32_t weight_a, std::uint64_t draw_b, std::uint32_t weight_b);

// True if the key belongs to `a` rather than to `b`: a strict order, total over places with different seeds. Costs
// never rise with the draw, so among equal weights the draws alone give the same order.
inline bool rendezvous_prefers(std::uint64_t key_hash, const Place& a, const Place& b) {
  const std::uint64_t draw_a = rendezvous_draw(key_hash, a.seed);
  const std::uint64_t draw_b = rendezvous_draw(key_hash, b.seed);
  if (a.weight == b.weight) return draw_a > draw_b;
  return rendezvous_beats(draw_a, a.weight, draw_b, b.weight);
}

// The index of the place the key belongs to, or places.size() if there is none. The order of places does not matter.
std::size_t rendezvous_choose(std::uint64_t key_hash, std::span<const Place> places);

}  // namespace tenure
