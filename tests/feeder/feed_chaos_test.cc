// The feeder of a partition against the machine, under every kind of trouble at once, from a seed: answers are lost,
// requests are applied late or never, holders die at any step and their requests arrive after their deaths, the queue
// is full, the source loses events, and the partition is made anew in the middle. Judged at the end: no event was taken
// in twice, and each one was taken in or was gone before it could be read; and the pool has counted what was lost.

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

#include "feeder/feed.h"
#include "feeder/scripted_source.h"
#include "machine/pool.h"

namespace tenure::test {
namespace {

using feeder::Feed;

constexpr const char* kKey = ".source/t/0";

// Records that a holder has sent, in order. Those that are not yet applied when the holder dies may be applied later.
struct Sent {
  std::uint64_t epoch = 0;
  v1::Emit emit{};
  Emitter::Done done{};  // null once it was given up
};

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    v1::Configure options;
    options.set_max_queued_jobs(40);
    pool_.append(rec::configure(options));
    pool_.node("w");
    pool_.running(kKey);
  }

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool chance(unsigned percent) { return below(100) < percent; }

  void send(Sent sent) { sent_.push_back(std::move(sent)); }

  // One request reaches the log, with or without its answer; or it is given up first, and reaches it later, or never.
  void deliver() {
    if (sent_.empty()) return;
    if (chance(10) && sent_.front().done) {
      const Emitter::Done done = std::exchange(sent_.front().done, nullptr);
      return done(fail(Errc::timed_out, "emit", "no answer in time"));
    }
    Sent sent = std::move(sent_.front());
    sent_.pop_front();
    if (!sent.done && chance(30)) return;
    const Result<std::uint64_t> answer = apply(sent.emit);
    if (!sent.done) return;
    if (chance(10)) return sent.done(fail(Errc::unavailable, "emit", "the answer was lost"));
    sent.done(answer);
  }
  void drain() {
    while (!sent_.empty()) deliver();
  }

  // The holder is gone, and another worker has the key. What was sent may still arrive.
  void take_over() {
    for (Sent& sent : sent_) sent.done = nullptr;
    pool_.leave(pool_.session_of("w"));
    pool_.node("w");
    pool_.started(kKey);
  }
  Hold hold() { return {.key = kKey, .epoch = pool_.epoch(kKey)}; }
  std::optional<Bytes> checkpoint() {
    const auto job = pool_.machine().find(kKey);
    return job->has_checkpoint ? std::optional<Bytes>(Bytes(job->checkpoint)) : std::nullopt;
  }
  // Tasks end, and make room.
  void work() {
    for (std::uint64_t i = below(40); i != 0 && !running_.empty(); --i) {
      const Bytes key = running_.front();
      running_.pop_front();
      pool_.done(key);
    }
  }
  void forget(const Bytes& sequence) { pool_.append(rec::forget_source(pool_.new_ticket(), sequence)); }

  const std::map<Bytes, int>& accepted() const { return accepted_; }
  std::uint64_t lost() const {
    std::uint64_t lost = 0;
    for (const auto& [name, source] : pool_.machine().sources()) lost += source.lost;
    return lost;
  }
  std::size_t sequences() const { return pool_.machine().sources().size(); }

 private:
  Result<std::uint64_t> apply(v1::Emit emit) {
    const std::uint64_t ticket = pool_.new_ticket();
    std::map<std::uint64_t, Bytes> payloads;
    emit.set_ticket(ticket);
    for (v1::EmittedTask& task : *emit.mutable_tasks()) {
      task.mutable_task()->set_ticket(pool_.new_ticket());
      payloads[task.task().ticket()] = task.task().payload();
      keys_[task.task().ticket()] = task.task().key();
    }
    v1::Record record;
    *record.mutable_emit() = std::move(emit);
    pool_.append(record);
    Result<std::uint64_t> answer = fail(Errc::unknown, "emit", "no answer");
    for (const Recorder::Settled& settled : pool_.seen().settlements) {
      const auto task = payloads.find(settled.ticket);
      if (task != payloads.end() && settled.state == TicketState::accepted) {
        ++accepted_[task->second];
        running_.push_back(keys_.at(settled.ticket));
      }
      if (settled.ticket != ticket) continue;
      if (settled.state == TicketState::refused) {
        answer = fail(settled.code, "emit", settled.text);
      } else {
        answer = std::stoull(settled.text);
      }
    }
    return answer;
  }
  std::mt19937_64 random_;
  TestPool pool_;
  std::deque<Sent> sent_;
  std::map<Bytes, int> accepted_;
  std::map<std::uint64_t, Bytes> keys_;
  std::deque<Bytes> running_;
};

class ChaosEmitter final : public Emitter {
 public:
  ChaosEmitter(World& world, Hold hold) : world_(world), hold_(std::move(hold)) {}

  void emit(std::shared_ptr<const Emission> emission, Nanos /*timeout*/, Done done) override {
    v1::Emit emit = begun(emission->source, emission->report);
    emit.set_after(known_[emission->source]);
    emit.set_position(emission->position);
    for (const EmitTask& task : emission->tasks) {
      v1::EmittedTask& into = *emit.add_tasks();
      into.set_position(task.position);
      into.set_error(task.error);
      into.mutable_task()->set_kind(v1::TASK);
      into.mutable_task()->set_key(task.key);
      into.mutable_task()->set_payload(task.payload);
    }
    send(std::move(emit), std::move(done));
  }
  void ask(Bytes source, SourceReport report, Nanos /*timeout*/, Done done) override {
    send(begun(source, report), std::move(done));
  }
  void tell(Bytes source, SourceReport report) override { send(begun(source, report), nullptr); }

 private:
  v1::Emit begun(const Bytes& source, const SourceReport& report) const {
    v1::Emit emit;
    emit.set_source(source);
    emit.set_key(hold_.key);
    emit.set_epoch(hold_.epoch);
    if (report.lost) {
      emit.mutable_lost()->set_first(report.lost->first);
      emit.mutable_lost()->set_last(report.lost->last);
      emit.mutable_lost()->set_count(report.lost->count);
    }
    emit.set_end(report.end);
    if (report.trouble) emit.set_trouble(*report.trouble);
    if (report.checkpoint) emit.set_checkpoint(*report.checkpoint);
    return emit;
  }
  void send(v1::Emit emit, Done done) {
    const Bytes source = emit.source();
    Done noting;
    if (done) {
      noting = [this, source, done = std::move(done)](const Result<std::uint64_t>& answer) {
        if (answer) known_[source] = std::max(known_[source], *answer);
        if (!answer && answer.error().code == Errc::lost_history) known_[source] = 0;
        done(answer);
      };
    }
    world_.send({hold_.epoch, std::move(emit), std::move(noting)});
  }

  World& world_;
  const Hold hold_;
  std::map<Bytes, std::uint64_t> known_;
};

class ChaosOutside final : public feeder::Outside {
 public:
  explicit ChaosOutside(World& world) : world_(world) {}

  std::shared_ptr<Emitter> emitter(const Hold& hold) override {
    emitters_.push_back(std::make_shared<ChaosEmitter>(world_, hold));
    return emitters_.back();
  }
  feeder::QueueRoom& room() override { return room_; }
  void log(LogLevel /*level*/, const std::string& /*text*/) override {}
  void dispatch(const Bytes& /*partition*/, std::function<void(Errc)> /*done*/) override {}
  void forget(const Bytes& sequence, std::function<void(bool)> done) override {
    world_.forget(sequence);
    done(!world_.chance(30));
  }
  std::int64_t wall_ms() override { return 0; }
  std::uint64_t random() override { return world_.below(UINT64_MAX); }

 private:
  World& world_;
  feeder::QueueRoom room_;  // knows nothing, so that emits are refused
  std::vector<std::shared_ptr<Emitter>> emitters_;
};

class Chaos {
 public:
  explicit Chaos(std::uint64_t seed)
      : world_(seed), outside_(world_), topic_(std::make_shared<ScriptedTopic>(1)), source_(topic_) {
    spec_.name = "t";
    begin();
  }

  void run() {
    for (int i = 0; i < 600; ++i) step();
    // All trouble is over: everything that is left is read.
    for (int i = 0; i < 400; ++i) {
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
    for (const auto& [payload, fate] : events_) {
      const auto found = world_.accepted().find(payload);
      const int times = found == world_.accepted().end() ? 0 : found->second;
      EXPECT_LE(times, 1) << payload << ", seed " << seed;
      EXPECT_TRUE(times == 1 || fate != Fate::kept) << payload << " was not taken in, seed " << seed;
      if (times == 0 && fate == Fate::dropped) ++gone;
    }
    if (anew_ == 0) {
      EXPECT_EQ(world_.lost(), gone) << "seed " << seed;
    }
    EXPECT_LE(world_.sequences(), 1U) << "old sequences are forgotten, seed " << seed;
  }

 private:
  enum class Fate : std::uint8_t { kept, dropped, of_an_old_one };

  void begin() {
    ++life_;
    feed_ = std::make_unique<Feed>(
        feeder::FeedParts{
            .spec = spec_,
            .source = source_,
            .outside = outside_,
            .post = [this, life = life_](std::function<void()> what) { posted_.emplace_back(life, std::move(what)); },
            .bytes_max = [] { return std::size_t{1} << 20; }},
        "0", world_.hold(), world_.checkpoint());
  }

  void step() {
    const std::uint64_t dice = world_.below(100);
    if (dice < 25) {
      add();
    } else if (dice < 60) {
      world_.deliver();
    } else if (dice < 70) {
      world_.work();
    } else if (dice < 73 && anew_ == 0) {
      drop();
    } else if (dice < 75) {
      take_over();
    } else if (dice < 76 && anew_ < 3 && life_ % 3 == 0) {
      make_anew();
    }
    turn();
  }
  void turn() {
    now_ = now_ + std::chrono::milliseconds(world_.below(400));
    std::deque<std::pair<int, std::function<void()>>> posted;
    posted.swap(posted_);
    for (auto& [life, what] : posted) {
      if (life == life_) what();
    }
    feed_->step(now_);
    if (feed_->over()) take_over();
  }

  void add() {
    for (std::uint64_t i = world_.below(12); i != 0; --i) {
      const Bytes payload = std::to_string(anew_) + ":" + std::to_string(++added_);
      last_ = topic_->add(0, "k" + std::to_string(added_), payload);
      events_[payload] = Fate::kept;
      at_[last_] = payload;
    }
  }
  // Nothing is lost by what goes before it was decided where reading begins.
  void drop() {
    if (!feeder::FeedState(kKey, world_.checkpoint()).begun()) return;
    const std::uint64_t before = last_ + 1 - world_.below(std::min<std::uint64_t>(last_, 30) + 1);
    topic_->drop_before(0, before);
    for (auto at = at_.begin(); at != at_.end() && at->first < before; at = at_.erase(at))
      events_[at->second] = Fate::dropped;
  }
  void make_anew() {
    topic_->make_anew(0);
    for (const auto& [position, payload] : at_) events_[payload] = Fate::of_an_old_one;
    at_.clear();
    last_ = 0;
    ++anew_;
  }
  void take_over() {
    feed_->stop();
    feed_.reset();
    world_.take_over();
    begin();
  }

  World world_;
  ChaosOutside outside_;
  feeder::Spec spec_;
  std::shared_ptr<ScriptedTopic> topic_;
  ScriptedSource source_;
  std::unique_ptr<Feed> feed_;
  int life_ = 0;
  std::deque<std::pair<int, std::function<void()>>> posted_;
  Instant now_{std::chrono::hours(1)};
  std::map<Bytes, Fate> events_;
  std::map<std::uint64_t, Bytes> at_;  // the events that are kept, by position
  std::uint64_t last_ = 0;
  std::uint64_t added_ = 0;
  int anew_ = 0;
};

#ifdef TENURE_SANITIZED
constexpr std::uint64_t kSeeds = 30;  // they take twenty times as long
#else
constexpr std::uint64_t kSeeds = 300;
#endif

TEST(FeedChaos, EveryEventIsTakenInOnceOrWasLost) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) {
    Chaos chaos(seed);
    chaos.run();
    chaos.judge(seed);
  }
}

}  // namespace
}  // namespace tenure::test
