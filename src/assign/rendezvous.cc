#include "assign/rendezvous.h"

#include <algorithm>
#include <array>
#include <bit>

namespace tenure {
namespace {

using Wide = unsigned __int128;

constexpr int kCostBits = 48;    // The fraction of a cost.
constexpr int kSegmentBits = 8;  // An octave of draws is cut into 2^8 segments.
constexpr int kOffsetBits = 40;  // Where a draw lies in its segment; the bits below only break ties.
constexpr std::uint64_t kSegments = 1ULL << kSegmentBits;
constexpr std::uint64_t kOffsets = 1ULL << kOffsetBits;

// log2(mantissa / 2^63) for a mantissa in [2^63, 2^64), by squaring: each square that passes 2 is a one bit. It runs
// at compile time only; the truncated squares are off by less than 2^-56 in all, far below the last bit kept.
constexpr std::uint64_t log2_by_squaring(std::uint64_t mantissa) {
  std::uint64_t log = 0;
  for (int bit = 0; bit < kCostBits; ++bit) {
    const Wide square = static_cast<Wide>(mantissa) * mantissa;
    const bool passes_two = (square >> 127) != 0;
    mantissa = static_cast<std::uint64_t>(square >> (passes_two ? 64 : 63));
    log = log << 1 | (passes_two ? 1 : 0);
  }
  return log;
}

// Over a segment the logarithm is the parabola through its two ends and its middle:
// start + (rise * t + bend * t * (1 - t)) with t in [0, 1].
struct Segment {
  std::uint64_t start;
  std::uint64_t rise;
  std::uint64_t bend;
};

constexpr std::array<Segment, kSegments> make_segments() {
  const auto half_steps = [](std::uint64_t n) -> std::uint64_t {  // log2(1 + n / (2 * kSegments))
    if (n == 2 * kSegments) return 1ULL << kCostBits;
    return log2_by_squaring((1ULL << 63) + (n << (63 - kSegmentBits - 1)));
  };
  std::array<Segment, kSegments> segments{};
  for (std::uint64_t i = 0; i < kSegments; ++i) {
    const std::uint64_t start = half_steps(2 * i);
    const std::uint64_t middle = half_steps(2 * i + 1);
    const std::uint64_t end = half_steps(2 * i + 2);
    segments[i] = {start, end - start, 4 * middle - 2 * (start + end)};
  }
  return segments;
}

constexpr std::array<Segment, kSegments> kLog2 = make_segments();

// A parabola rises all along its segment if it bends by no more than it rises, and each ends where the next starts.
// The sum below is exact and rounded once, so the rounded logarithm never falls either: order by cost is order by draw.
constexpr bool rises_everywhere() {
  std::uint64_t end = 0;
  for (const Segment& segment : kLog2) {
    if (segment.start != end || segment.bend > segment.rise) return false;
    end = segment.start + segment.rise;
  }
  return end == 1ULL << kCostBits;
}
static_assert(rises_everywhere());

// log2(draw) with kCostBits of fraction, below 64; draw is not 0.
std::uint64_t log2_of(std::uint64_t draw) {
  const int zeros = std::countl_zero(draw);
  const std::uint64_t fraction = draw << zeros << 1;  // What follows the leading one.
  const Segment& segment = kLog2[fraction >> (64 - kSegmentBits)];
  const std::uint64_t t = fraction << kSegmentBits >> (64 - kOffsetBits);
  const Wide slope =
      (static_cast<Wide>(segment.rise) << kOffsetBits) + static_cast<Wide>(segment.bend) * (kOffsets - t);
  const auto rise = static_cast<std::uint64_t>(slope * t >> (2 * kOffsetBits));
  return (static_cast<std::uint64_t>(63 - zeros) << kCostBits) + segment.start + rise;
}

// A bound below a cost, without its logarithm: -log2(u) is more than 1 - u, by 44 % and more. Few places pass it.
std::uint64_t cost_at_least(std::uint64_t draw) { return ~draw >> (64 - kCostBits); }

bool costs_less(std::uint64_t cost_a, std::uint64_t draw_a, std::uint32_t weight_a, std::uint64_t cost_b,
                std::uint64_t draw_b, std::uint32_t weight_b) {
  const Wide a = static_cast<Wide>(cost_a) * weight_b;
  const Wide b = static_cast<Wide>(cost_b) * weight_a;
  if (a != b) return a < b;
  if (draw_a != draw_b) return draw_a > draw_b;
  return weight_a > weight_b;
}

// The place with the best draw, if all weights are equal; otherwise places.size(). No branch depends on a draw, because
// the processor would guess most of them wrong.
std::size_t choose_by_draw(std::uint64_t key_hash, std::span<const Place> places) {
  std::size_t best = 0;
  std::uint64_t best_draw = rendezvous_draw(key_hash, places[0].seed);
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].weight != places[0].weight) return places.size();
    const std::uint64_t draw = rendezvous_draw(key_hash, places[i].seed);
    best = draw > best_draw ? i : best;
    best_draw = std::max(draw, best_draw);
  }
  return best;
}

std::size_t choose_by_cost(std::uint64_t key_hash, std::span<const Place> places) {
  std::size_t best = 0;
  std::uint64_t best_draw = rendezvous_draw(key_hash, places[0].seed);
  std::uint32_t best_weight = places[0].weight;
  std::uint64_t best_cost = 0;  // 0: not computed yet. Where all weights are equal it never is.
  for (std::size_t i = 1; i < places.size(); ++i) {
    const std::uint64_t draw = rendezvous_draw(key_hash, places[i].seed);
    const std::uint32_t weight = places[i].weight;
    std::uint64_t cost = 0;
    if (weight == best_weight) {
      if (draw <= best_draw) continue;
    } else {
      if (best_cost == 0) best_cost = rendezvous_cost(best_draw);
      const Wide enough = static_cast<Wide>(best_cost) * weight;
      if (static_cast<Wide>(cost_at_least(draw)) * best_weight > enough) continue;
      cost = rendezvous_cost(draw);
      if (!costs_less(cost, draw, weight, best_cost, best_draw, best_weight)) continue;
    }
    best = i;
    best_draw = draw;
    best_weight = weight;
    best_cost = cost;
  }
  return best;
}

}  // namespace

std::uint64_t rendezvous_cost(std::uint64_t draw) {
  return (64ULL << kCostBits) - log2_of(std::max<std::uint64_t>(draw, 1));
}

bool rendezvous_beats(std::uint64_t draw_a, std::uint32_t weight_a, std::uint64_t draw_b, std::uint32_t weight_b) {
  if (weight_a == weight_b) return draw_a > draw_b;
  return costs_less(rendezvous_cost(draw_a), draw_a, weight_a, rendezvous_cost(draw_b), draw_b, weight_b);
}

std::size_t rendezvous_choose(std::uint64_t key_hash, std::span<const Place> places) {
  if (places.empty()) return 0;
  const std::size_t best = choose_by_draw(key_hash, places);
  return best < places.size() ? best : choose_by_cost(key_hash, places);
}

}  // namespace tenure
