// Properties that hold in every history, tested with random ones of mostly meaningful records. A failing run prints its
// seed; RC_PARAMS="seed=…" repeats it.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>

#include "machine/auditor.h"
#include "machine/historian.h"
#include "machine/pool.h"

namespace tenure::test {
namespace {

// A seed and a length: a shorter prefix of the same history is what a failure shrinks to.
struct Plan {
  std::uint64_t seed;
  std::size_t length;
};

Plan draw_plan(std::size_t length_max) {
  const auto seed = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
  return {seed, *rc::gen::inRange<std::size_t>(1, length_max)};
}

std::vector<LoggedEntry> write_history(const Plan& plan) {
  Historian historian(plan.seed);
  Machine machine;
  Recorder ignored;
  std::vector<LoggedEntry> log;
  for (std::size_t i = 0; i < plan.length; ++i) {
    log.push_back(historian.entry(machine));
    machine.apply(log.back().view(), ignored);
  }
  return log;
}

RC_GTEST_PROP(MachineProperty, EveryPromiseHoldsAfterEveryEntry, ()) {
  const Plan plan = draw_plan(400);
  Historian historian(plan.seed);
  Machine machine;
  Auditor auditor;
  for (std::size_t i = 0; i < plan.length; ++i) {
    const LoggedEntry entry = historian.entry(machine);
    // Delayed jobs join the queue when their delay is over, full or not.
    const std::uint32_t bound = std::max(machine.config().max_queued_jobs, machine.queued()) + machine.delayed();
    machine.apply(entry.view(), auditor);
    auditor.after_entry(machine);
    if (!auditor.faults().empty()) RC_FAIL("entry " + std::to_string(i) + ": " + auditor.faults().front());
    RC_ASSERT(machine.queued() <= std::max(bound, machine.config().max_queued_jobs));
  }
}

RC_GTEST_PROP(MachineProperty, TwoMachinesAgreeAtEveryPosition, ()) {
  Machine first;
  Machine second;
  for (const LoggedEntry& entry : write_history(draw_plan(300))) {
    Recorder said;
    Recorder heard;
    first.apply(entry.view(), said);
    second.apply(entry.view(), heard);
    RC_ASSERT(first.digest() == second.digest());
    RC_ASSERT(first.state_digest() == second.state_digest());
    RC_ASSERT(said.lines == heard.lines);
  }
}

// A node that starts from a snapshot at any position continues like those that applied everything.
RC_GTEST_PROP(MachineProperty, ARestoredMachineIsTheSameAtEveryPositionAndEverAfter, ()) {
  Machine machine;
  std::deque<Machine> restored;
  for (const LoggedEntry& entry : write_history(draw_plan(120))) {
    Recorder said;
    machine.apply(entry.view(), said);
    for (Machine& other : restored) {
      Recorder heard;
      other.apply(entry.view(), heard);
      RC_ASSERT(heard.lines == said.lines);
      RC_ASSERT(other.digest() == machine.digest());
      RC_ASSERT(other.state_bytes() == machine.state_bytes());
    }
    if (!restored.empty()) RC_ASSERT(restored.back().state_digest() == machine.state_digest());
    const Status status = restored.emplace_back().restore(save(machine));
    if (!status) RC_FAIL(status.error().message());
    RC_ASSERT(restored.back().digest() == machine.digest());
    RC_ASSERT(restored.back().state_digest() == machine.state_digest());
    RC_ASSERT(restored.back().state_bytes() == machine.state_bytes());
    RC_ASSERT(restored.back().position() == machine.position());
  }
}

// A snapshot is of the position where it began, whatever is applied while its chunks are taken.
RC_GTEST_PROP(MachineProperty, ASnapshotTakenInSlicesIsOfThePositionWhereItBegan, ()) {
  const Plan plan = draw_plan(300);
  Historian pace(plan.seed + 1);
  Machine machine;
  std::unique_ptr<SnapshotSource> source;
  std::vector<Bytes> chunks;
  std::uint64_t state_digest = 0;
  for (const LoggedEntry& entry : write_history(plan)) {
    Recorder ignored;
    machine.apply(entry.view(), ignored);
    if (!source && pace.chance(30)) {
      state_digest = machine.state_digest();
      source = machine.begin_snapshot();
      RC_ASSERT(source->position() == machine.position());
    } else if (source && pace.chance(15)) {
      if (auto chunk = source->next()) {
        chunks.push_back(std::move(*chunk));
        continue;
      }
      Machine other;
      const Status status = other.restore(chunks);
      if (!status) RC_FAIL(status.error().message());
      RC_ASSERT(other.state_digest() == state_digest);
      RC_ASSERT(other.position() == source->position());
      source.reset();
      chunks.clear();
    }
  }
}

// How records are grouped into batches is a matter of load, and decides nothing: records at one time, each an entry of
// its own or all in one, say the same in the same order. (A claim of death names a position, and positions differ; so
// there are none in here. Nor are there delays of nothing, which come due with the next entry, not the next record.)
RC_GTEST_PROP(MachineProperty, HowRecordsAreBatchedDecidesNothing, ()) {
  const Plan plan = draw_plan(150);
  Historian historian(plan.seed);
  Machine single;
  Machine grouped;
  Recorder of_single;
  Recorder of_grouped;
  std::uint64_t singles = 0;
  std::uint64_t groups = 0;
  std::int64_t now_ms = 1'700'000'000'000;
  for (std::size_t i = 0; i < plan.length; ++i) {
    now_ms += historian.span();
    std::vector<v1::Record> records;
    for (std::size_t left = 1 + historian.below(6); left > 0; --left) {
      records.push_back(historian.record(single));
      if (records.back().has_expire()) records.back() = rec::tick();
      const Bytes data = batch_bytes(1, ++singles, {records.back()});
      single.apply({singles, now_ms, data}, of_single);
    }
    const Bytes data = batch_bytes(1, ++groups, records);
    grouped.apply({groups, now_ms, data}, of_grouped);
    RC_ASSERT(of_single.lines == of_grouped.lines);
    RC_ASSERT(single.queued() == grouped.queued());
    RC_ASSERT(single.epoch_last() == grouped.epoch_last());
    RC_ASSERT(single.next_due_ms() == grouped.next_due_ms());
  }
}

// Workers come, go and drain; between any two changes everything settles. What moves is what must.
RC_GTEST_PROP(MachineProperty, MovesAreTheFewestThereCanBe, ()) {
  TestPool pool;
  const auto steps = *rc::gen::inRange(1, 12);
  const int keys = 60;
  for (int i = 0; i < keys; ++i) pool.resident("key" + std::to_string(i));
  int names = 0;
  for (int step = 0; step < steps; ++step) {
    const Image before = image_of(pool.machine());
    const std::uint64_t moves = pool.machine().stats().moves;
    const auto& by_age = pool.machine().workers().by_age;
    const auto what = *rc::gen::inRange(0, 4);
    if (by_age.empty() || what < 2) {
      const auto weight = *rc::gen::element<std::uint32_t>(100, 100, 50, 400);
      pool.node("worker" + std::to_string(++names), {.weight = weight});
    } else {
      const Bytes worker = pool.machine().workers()[by_age[*rc::gen::inRange<std::size_t>(0, by_age.size())]].id;
      what == 2 ? pool.crash(pool.session_of(worker)) : static_cast<void>(pool.append(rec::drain(worker)));
    }
    pool.settle();
    const Image after = image_of(pool.machine());
    std::uint64_t must_move = 0;
    for (const auto& [key, state] : before.keys) {
      const v1::WorkerState* was = before.holder(state);
      const v1::WorkerState* is = after.holder(after.keys.at(key));
      const bool lives = was != nullptr && pool.session_of(was->id()) != 0;
      must_move += lives && (is == nullptr || is->id() != was->id()) ? 1 : 0;
    }
    RC_ASSERT(pool.machine().stats().moves - moves == must_move);
  }
}

// Enough keys that the snapshot has many chunks, and changes to all of them while it is taken.
TEST(Snapshot, OfManyKeysInSlicesWhileAllOfThemChange) {
  TestPool pool;
  v1::Configure options;
  options.set_max_queued_jobs(1'000'000);
  pool.append(rec::configure(options));
  TestPool::Records dispatches;
  const int keys = 20'000;
  for (int i = 0; i < keys; ++i) {
    const std::uint64_t ticket = pool.new_ticket();
    dispatches.push_back(rec::dispatch(ticket, i % 3 == 0 ? v1::RESIDENT : v1::TASK, "key" + std::to_string(i),
                                       {.payload = Bytes(60, 'p'), .delay_ms = i % 7 == 0 ? 5'000U : 0U}));
  }
  pool.append(dispatches);
  pool.node("a", {.window = 100});
  const std::uint64_t digest = pool.machine().state_digest();

  const auto source = pool.machine().begin_snapshot();
  std::vector<Bytes> chunks;
  for (int round = 0; auto chunk = source->next(); ++round) {
    chunks.push_back(std::move(*chunk));
    if (round == 1) pool.node("b");
    if (round == 2) pool.crash(pool.session_of("a"));
    if (round == 3) pool.append(rec::shutdown());
    for (int i = 0; i < 50; ++i) pool.stop("key" + std::to_string(keys - 1 - round * 50 - i));
    pool.resident("new" + std::to_string(round));
  }
  EXPECT_GT(chunks.size(), 4U);
  Machine other;
  ASSERT_TRUE(other.restore(chunks));
  EXPECT_EQ(other.state_digest(), digest);
  EXPECT_EQ(other.position(), source->position());
}

TEST(Snapshot, OfAnEmptyMachineRestores) {
  Machine machine;
  Machine other;
  ASSERT_TRUE(other.restore(save(machine)));
  EXPECT_EQ(other.state_digest(), machine.state_digest());
}

// Wherever one byte differs, the snapshot is refused and the machine stays as it was.
TEST(Snapshot, DamagedAnywhereIsRefusedAndChangesNothing) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  pool.task("t", {.delay_ms = 1'000});
  const std::vector<Bytes> chunks = save(pool.machine());
  const std::uint64_t digest = pool.machine().state_digest();
  for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    for (std::size_t at = 0; at < chunks[chunk].size(); ++at) {
      std::vector<Bytes> damaged = chunks;
      damaged[chunk][at] = static_cast<char>(damaged[chunk][at] ^ 1);
      EXPECT_FALSE(pool.machine().restore(damaged)) << chunk << ":" << at;
    }
    std::vector<Bytes> shortened = chunks;
    shortened.erase(shortened.begin() + static_cast<std::ptrdiff_t>(chunk));
    EXPECT_FALSE(pool.machine().restore(shortened));
  }
  EXPECT_FALSE(pool.machine().restore({}));
  EXPECT_EQ(pool.machine().state_digest(), digest);
}

}  // namespace
}  // namespace tenure::test
