// The promises of rendezvous hashing, for random sets of 1 to 64 workers with weights from 1 to 10000. A failing run
// prints its seed; RC_PARAMS="seed=…" repeats it.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "assign/worker_sets.h"
#include "base/entropy.h"

namespace tenure::test {
namespace {

constexpr std::size_t kKeys = 200;

RC_GTEST_PROP(RendezvousProperty, JoinMovesKeysOnlyToTheJoiner, ()) {
  auto places = draw_places(1);
  const auto first = *rc::gen::arbitrary<std::uint64_t>();
  const auto before = holders(places, first, kKeys);
  const Place joiner{worker_seed(~0ULL), *weights()};
  places.push_back(joiner);
  const auto after = holders(places, first, kKeys);
  for (std::size_t i = 0; i < kKeys; ++i) RC_ASSERT(after[i] == before[i] || after[i] == joiner.seed);
}

RC_GTEST_PROP(RendezvousProperty, LeaveMovesOnlyTheLeaversKeys, ()) {
  auto places = draw_places(2);
  const auto first = *rc::gen::arbitrary<std::uint64_t>();
  const auto before = holders(places, first, kKeys);
  const auto leaver = places.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(places));
  const std::uint64_t left = leaver->seed;
  places.erase(leaver);
  const auto after = holders(places, first, kKeys);
  for (std::size_t i = 0; i < kKeys; ++i) RC_ASSERT((before[i] == left ? after[i] != left : after[i] == before[i]));
}

RC_GTEST_PROP(RendezvousProperty, WeightChangeMovesOnlyToOrFromTheChanged, ()) {
  auto places = draw_places(1);
  const auto first = *rc::gen::arbitrary<std::uint64_t>();
  const auto before = holders(places, first, kKeys);
  Place& changed = places[*rc::gen::inRange<std::size_t>(0, places.size())];
  const std::uint32_t old_weight = changed.weight;
  changed.weight = *weights();
  const auto after = holders(places, first, kKeys);
  for (std::size_t i = 0; i < kKeys; ++i) {
    if (after[i] == before[i]) continue;
    RC_ASSERT((changed.weight > old_weight ? after[i] : before[i]) == changed.seed);
  }
}

RC_GTEST_PROP(RendezvousProperty, OrderOfPlacesDoesNotMatter, ()) {
  auto places = draw_places(1);
  const auto first = *rc::gen::arbitrary<std::uint64_t>();
  const auto before = holders(places, first, kKeys);
  SeededEntropy entropy(first);
  for (std::size_t i = places.size(); i > 1; --i) std::swap(places[i - 1], places[entropy.below(i)]);
  RC_ASSERT(holders(places, first, kKeys) == before);
}

// The holder is the one preferred over every other, so a joiner has to be compared with the present holder only.
RC_GTEST_PROP(RendezvousProperty, ChoiceIsThePreferredOverAllOthers, ()) {
  const auto places = draw_places(1);
  const auto key = *rc::gen::arbitrary<std::uint64_t>();
  const Place& chosen = places[rendezvous_choose(key, places)];
  for (const Place& other : places) {
    if (other.seed == chosen.seed) continue;
    RC_ASSERT(rendezvous_prefers(key, chosen, other));
    RC_ASSERT(!rendezvous_prefers(key, other, chosen));
  }
}

// Draws that lie close together, or on powers of two, are where rounding could break the order.
rc::Gen<std::uint64_t> awkward_draws() {
  return rc::gen::map(rc::gen::tuple(rc::gen::inRange(0, 65), rc::gen::inRange(-3, 4)),
                      [](const auto& choice) -> std::uint64_t {
                        const auto& [bit, step] = choice;
                        return (bit == 64 ? 0 : 1ULL << bit) + static_cast<std::uint64_t>(step);
                      });
}

RC_GTEST_PROP(RendezvousProperty, BeatsIsAStrictTotalOrder, ()) {
  struct Bid {
    std::uint64_t draw;
    std::uint32_t weight;
  };
  constexpr int kBids = 12;
  std::vector<Bid> bids;
  bids.reserve(kBids);
  for (int i = 0; i < kBids; ++i) {
    bids.push_back({*rc::gen::oneOf(awkward_draws(), rc::gen::arbitrary<std::uint64_t>()),
                    *rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(0, 5), weights())});
  }
  const auto beats = [](const Bid& a, const Bid& b) { return rendezvous_beats(a.draw, a.weight, b.draw, b.weight); };
  for (const Bid& a : bids) {
    for (const Bid& b : bids) {
      const bool same = a.draw == b.draw && a.weight == b.weight;
      RC_ASSERT(beats(a, b) + beats(b, a) == (same ? 0 : 1));
      for (const Bid& c : bids) RC_ASSERT(!(beats(a, b) && beats(b, c)) || beats(a, c));
    }
  }
}

RC_GTEST_PROP(RendezvousProperty, CostNeverRisesWithTheDraw, ()) {
  const auto draw = *rc::gen::oneOf(awkward_draws(), rc::gen::arbitrary<std::uint64_t>());
  const auto step = *rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(0, 64);
  const std::uint64_t larger = draw > ~step ? ~0ULL : draw + step;
  RC_ASSERT(rendezvous_cost(larger) <= rendezvous_cost(draw));
}

// How far each worker's keys are from its fair share, in standard deviations. Workers that can expect fewer than
// kExpectedLeast keys are left out: their counts are far from a bell curve.
constexpr double kExpectedLeast = 30;

std::vector<double> imbalances(const std::vector<Place>& places, std::uint64_t first, std::size_t keys) {
  std::unordered_map<std::uint64_t, std::size_t> held;
  for (const std::uint64_t seed : holders(places, first, keys)) ++held[seed];
  const double all = std::accumulate(places.begin(), places.end(), 0.0,
                                     [](double sum, const Place& place) { return sum + place.weight; });
  std::vector<double> deviations;
  for (const Place& place : places) {
    const double share = place.weight / all;
    const double expected = share * static_cast<double>(keys);
    if (expected < kExpectedLeast) continue;
    deviations.push_back((static_cast<double>(held[place.seed]) - expected) / std::sqrt(expected * (1 - share)));
  }
  return deviations;
}

// Seven standard deviations, because every run draws new sets: at four, one run in a few would fail by chance.
RC_GTEST_PROP(RendezvousProperty, SharesFollowTheWeights, ()) {
  const auto places = draw_places(2);
  for (const double off : imbalances(places, *rc::gen::arbitrary<std::uint64_t>(), 5'000)) RC_ASSERT(std::abs(off) < 7);
}

// The same over sets that do not change from run to run, and sharper: of some nine hundred shares none is off by five
// standard deviations and at most one by four, and all together scatter as independent draws do, no more and no less.
TEST(RendezvousBalance, SharesFollowTheWeights) {
  SeededEntropy entropy(2014);
  std::vector<double> all;
  for (std::uint64_t set = 0; set < 30; ++set) {
    std::vector<Place> places;
    const std::size_t count = 2 + entropy.below(kWorkersMax - 1);
    for (std::size_t i = 0; i < count; ++i) {
      const auto weight = static_cast<std::uint32_t>(1 + entropy.below(kWeightMax));
      places.push_back({worker_seed(set * kWorkersMax + i), weight});
    }
    const auto deviations = imbalances(places, set * 1'000'000, 20'000);
    all.insert(all.end(), deviations.begin(), deviations.end());
  }
  double squares = 0;
  for (const double off : all) squares += off * off;
  const auto beyond = [&](double limit) {
    return std::count_if(all.begin(), all.end(), [&](double off) { return std::abs(off) > limit; });
  };
  EXPECT_GT(all.size(), 800U);
  EXPECT_EQ(beyond(5), 0);
  EXPECT_LE(beyond(4), 1);
  EXPECT_NEAR(squares / static_cast<double>(all.size()), 1, 0.15);
}

}  // namespace
}  // namespace tenure::test
