// The feeders of a source and their coordinator against the machine, under every kind of trouble at once, from a seed:
// answers are lost, requests are applied late or never, workers die at any step and their requests arrive after their
// deaths, feeders move, the queue is full, the source gets more partitions, and these lose events, lose their tail and
// repeat its positions, and are made anew. Judged at the end: each event was taken in, or was gone before it could be
// read; none was taken in twice, apart from those of a partition that had lost its tail; and the pool has counted what
// was lost.

#include <gtest/gtest.h>

#include <cstdlib>

#include "feeder/coordinator.h"
#include "feeder/feed.h"
#include "feeder/feed_world.h"
#include "feeder/scripted_source.h"

namespace tenure::test {
namespace {

using feeder::Feed;

constexpr std::size_t kPartitionsMost = 4;

class Chaos {
 public:
  explicit Chaos(std::uint64_t seed) : world_(seed), outside_(world_), topic_(std::make_shared<ScriptedTopic>(1)) {
    spec_.name = kSource;
    partitions_.resize(1);
    world_.dispatch(feeder::coordinator_key(kSource));
    sync();
  }

  void run() {
    for (int i = 0; i < 800; ++i) step();
    // All trouble is over: everything that is left is read.
    for (int i = 0; i < 500; ++i) {
      world_.drain();
      world_.work();
      turn();
    }
    // And names that are not needed any more are forgotten.
    for (int i = 0; i < 100; ++i) {
      now_ = now_ + std::chrono::seconds(30);
      world_.drain();
      turn();
    }
  }
  void judge(std::uint64_t seed) const {
    std::uint64_t gone = 0;
    for (const auto& [payload, event] : events_) {
      const auto found = world_.accepted().find(payload);
      const int times = found == world_.accepted().end() ? 0 : found->second;
      EXPECT_LE(times, event.times_most) << payload << ", seed " << seed;
      EXPECT_TRUE(times != 0 || event.fate != Fate::kept) << payload << " was not taken in, seed " << seed;
      if (times == 0 && event.fate == Fate::dropped) ++gone;
    }
    if (!replaced_) {
      EXPECT_EQ(world_.lost(), gone) << "seed " << seed;
    }
    EXPECT_LE(world_.sequences(), partitions_.size()) << "old sequences are forgotten, seed " << seed;
  }
  bool grown() const { return partitions_.size() == kPartitionsMost; }

 private:
  enum class Fate : std::uint8_t { kept, dropped, of_an_old_one };
  struct Event {
    Fate fate = Fate::kept;
    int times_most = 1;
  };
  struct Partition {
    std::map<std::uint64_t, Bytes> at;  // the events that are there, by position
    std::uint64_t last = 0;
    int replacements = 0;
  };
  // A tenure of a feeder, or of the coordinator, in a process with a source of its own.
  struct Life {
    std::uint64_t number = 0;
    std::uint64_t epoch = 0;
    std::unique_ptr<ScriptedSource> source;
    std::unique_ptr<feeder::Duty> duty;
    Feed* feed = nullptr;
  };

  void step() {
    const std::uint64_t dice = world_.below(200);
    if (dice < 50) {
      add();
    } else if (dice < 120) {
      world_.deliver();
    } else if (dice < 140) {
      world_.work();
    } else if (dice < 146) {
      drop();
    } else if (dice < 150) {
      world_.kill_a_worker();
    } else if (dice < 152) {
      grow();
    } else if (dice < 153) {
      make_anew();
    } else if (dice < 154) {
      cut();
    }
    turn();
  }
  void turn() {
    sync();
    now_ = now_ + std::chrono::milliseconds(world_.below(400));
    std::deque<std::pair<std::uint64_t, std::function<void()>>> posted;
    posted.swap(posted_);
    for (auto& [life, what] : posted) {
      const bool lives = std::any_of(lives_.begin(), lives_.end(),
                                     [&, number = life](const auto& one) { return one.second.number == number; });
      if (lives) what();
    }
    bool over = false;
    for (auto& [key, life] : lives_) {
      life.duty->step(now_);
      over = over || (life.feed != nullptr && life.feed->over());
    }
    if (over) world_.kill_a_worker();
  }

  // Follows the machine: what it has moved is stopped and begun elsewhere, and what was granted begins.
  void sync() {
    for (;;) {
      const std::vector<Bytes> moving = world_.residents(JobState::moving);
      const std::vector<Bytes> starting = world_.residents(JobState::starting);
      for (const Bytes& key : moving) {
        const std::optional<Bytes> blob = end(key);
        blob ? world_.pool().released_with(key, *blob) : world_.pool().released(key);
      }
      for (const Bytes& key : starting) {
        end(key);
        world_.pool().started(key);
      }
      if (moving.empty() && starting.empty()) break;
    }
    for (const Bytes& key : world_.residents(JobState::running)) {
      const auto found = lives_.find(key);
      if (found != lives_.end() && found->second.epoch == world_.hold(key).epoch) continue;
      end(key);
      begin(key);
    }
  }
  std::optional<Bytes> end(const Bytes& key) {
    world_.give_up(key);
    const auto found = lives_.find(key);
    if (found == lives_.end()) return std::nullopt;
    const std::optional<Bytes> blob = found->second.duty->stop();
    lives_.erase(found);
    return blob;
  }
  void begin(const Bytes& key) {
    Life& life = lives_[key];
    life.number = ++numbers_;
    life.epoch = world_.hold(key).epoch;
    life.source = std::make_unique<ScriptedSource>(topic_);
    const auto post = [this, number = life.number](std::function<void()> what) {
      posted_.emplace_back(number, std::move(what));
    };
    const auto own = feeder::read_own_key(key);
    if (own->partition.empty()) {
      life.duty = std::make_unique<feeder::Coordinator>(spec_, world_.hold(key), *life.source, outside_, post);
      return;
    }
    auto feed = std::make_unique<Feed>(feeder::FeedParts{.spec = spec_,
                                                         .source = *life.source,
                                                         .outside = outside_,
                                                         .post = post,
                                                         .bytes_max = [] { return std::size_t{1} << 20; }},
                                       Bytes(own->partition), world_.hold(key), world_.checkpoint(key));
    life.feed = feed.get();
    life.duty = std::move(feed);
  }

  void grow() {
    if (grown()) return;
    topic_->grow();
    partitions_.emplace_back();
  }
  void add() {
    const std::size_t index = world_.below(partitions_.size());
    Partition& partition = partitions_[index];
    for (std::uint64_t i = world_.below(12); i != 0; --i) {
      const Bytes payload = std::to_string(index) + ":" + std::to_string(++added_);
      partition.last = topic_->add(index, "k" + std::to_string(added_), payload);
      events_[payload] = {};
      partition.at[partition.last] = payload;
    }
  }
  // Nothing is lost by what goes before it was decided where reading begins.
  void drop() {
    const std::size_t index = world_.below(partitions_.size());
    Partition& partition = partitions_[index];
    const Bytes key = feeder::feeder_key(kSource, std::to_string(index));
    if (partition.replacements != 0 || !feeder::FeedState(key, world_.checkpoint(key)).begun()) return;
    const std::uint64_t before = partition.last + 1 - world_.below(std::min<std::uint64_t>(partition.last, 30) + 1);
    topic_->drop_before(index, before);
    auto& at = partition.at;
    for (auto i = at.begin(); i != at.end() && i->first < before; i = at.erase(i)) {
      events_[i->second].fate = Fate::dropped;
    }
  }
  void make_anew() {
    const std::size_t index = world_.below(partitions_.size());
    Partition& partition = partitions_[index];
    if (++partition.replacements > 3) return;
    topic_->make_anew(index);
    for (const auto& [position, payload] : partition.at) events_[payload].fate = Fate::of_an_old_one;
    partition.at.clear();
    partition.last = 0;
    replaced_ = true;
  }
  // The last events are gone, and others get their positions. Events before them may come once more.
  void cut() {
    const std::size_t index = world_.below(partitions_.size());
    Partition& partition = partitions_[index];
    if (partition.at.empty() || ++partition.replacements > 3) return;
    const std::uint64_t first = partition.at.begin()->first;
    const std::uint64_t behind =
        partition.last - world_.below(std::min<std::uint64_t>(partition.last - first + 1, 10) + 1);
    topic_->cut_behind(index, behind);
    for (auto i = partition.at.upper_bound(behind); i != partition.at.end(); i = partition.at.erase(i)) {
      events_[i->second].fate = Fate::of_an_old_one;
    }
    for (const auto& [position, payload] : partition.at) ++events_[payload].times_most;
    partition.last = behind;
    replaced_ = true;
  }

  World world_;
  ChaosOutside outside_;
  feeder::Spec spec_;
  std::shared_ptr<ScriptedTopic> topic_;
  std::map<Bytes, Life> lives_;  // by key
  std::uint64_t numbers_ = 0;
  std::deque<std::pair<std::uint64_t, std::function<void()>>> posted_;
  Instant now_{std::chrono::hours(1)};
  std::map<Bytes, Event> events_;
  std::vector<Partition> partitions_;
  std::uint64_t added_ = 0;
  bool replaced_ = false;
};

#ifdef TENURE_SANITIZED
constexpr std::uint64_t kSeeds = 10;  // they take twenty times as long
#else
constexpr std::uint64_t kSeeds = 100;
#endif

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const given = std::getenv(name);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

TEST(FeedChaos, EveryEventIsTakenInOnceOrWasLost) {
  // More of them, or another one: TENURE_FEED_SEEDS=2000, TENURE_FIRST_FEED_SEED=524.
  const std::uint64_t seeds = from_environment("TENURE_FEED_SEEDS", kSeeds);
  const std::uint64_t first = from_environment("TENURE_FIRST_FEED_SEED", 1);
  std::uint64_t grown = 0;
  for (std::uint64_t seed = first; seed < first + seeds && !testing::Test::HasFailure(); ++seed) {
    Chaos chaos(seed);
    chaos.run();
    chaos.judge(seed);
    grown += chaos.grown() ? 1 : 0;
  }
  EXPECT_GT(grown, seeds / 2);
}

}  // namespace
}  // namespace tenure::test
