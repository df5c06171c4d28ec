// For every promise, a history that breaks it and must be rejected, and one that almost breaks it and must pass. A
// checker that has never rejected anything proves nothing.

#include "sim/checker/checker.h"

#include <gtest/gtest.h>

#include "sim/checker/story.h"

namespace tenure::sim {
namespace {

// Process 1 holds key k under epoch 5 for ticket 50, with a lease to 10 s.
Story held() { return Story().at(0).lease(1, 10).resident("k", 50, 5).at(1).begin(1, "k", 5, 50); }

TEST(Checker, AcceptsAQuietRun) {
  EXPECT_EQ(held().at(9).end(1, "k", 5).ungrant("k", 5).log(50, Step::done).verdict(), "f");
  EXPECT_EQ(held().at(9).end(1, "k", 5).log(50, Step::done).ungrant("k", 5).close().verdict(), "");
}

TEST(Checker, A_TwoHolders) {
  const auto second = [](double ended, double granted) {
    return held().at(0).lease(2, 20).at(ended).end(1, "k", 5).at(granted).ungrant("k", 5).grant("k", 6, 50, false);
  };
  EXPECT_EQ(second(4, 4).at(4).begin(2, "k", 6, 50).at(9).end(2, "k", 6).verdict(), "");
  EXPECT_EQ(Story(held())
                .at(0)
                .lease(2, 20)
                .at(4)
                .ungrant("k", 5)
                .grant("k", 6, 50, false)
                .begin(2, "k", 6, 50)
                .at(5)
                .end(1, "k", 5)
                .at(9)
                .end(2, "k", 6)
                .verdict(),
            "ae");
  // The first one is frozen past its lease: it runs beside the second, but its lease is over.
  EXPECT_EQ(held()
                .at(0)
                .lease(2, 20)
                .at(4)
                .add(ProcessPaused{1})
                .at(10)
                .ungrant("k", 5)
                .grant("k", 6, 50, false)
                .begin(2, "k", 6, 50)
                .at(15)
                .add(ProcessResumed{1})
                .at(15.001)
                .end(1, "k", 5)
                .at(19)
                .end(2, "k", 6)
                .verdict(),
            "");
  // A lease that is taken up again after it had run out makes two.
  EXPECT_EQ(held()
                .at(0)
                .lease(2, 20)
                .at(4)
                .add(ProcessPaused{1})
                .at(10)
                .ungrant("k", 5)
                .grant("k", 6, 50, false)
                .begin(2, "k", 6, 50)
                .at(15)
                .add(ProcessResumed{1})
                .lease(1, 30)
                .at(15.001)
                .end(1, "k", 5)
                .at(19)
                .end(2, "k", 6)
                .verdict(),
            "a");
}

// For a lease after the log lost entries two may believe in their leases, but no longer.
TEST(Checker, A_LossOfTheLogExcusesALease) {
  const auto lost = [](double at) {
    return held()
        .at(0)
        .lease(2, 20)
        .at(at)
        .lose(0)
        .at(4)
        .ungrant("k", 5)
        .grant("k", 6, 50, false)
        .begin(2, "k", 6, 50)
        .at(5)
        .end(1, "k", 5)
        .at(9)
        .end(2, "k", 6);
  };
  EXPECT_EQ(lost(3).verdict({.lease = 2 * kSecond}), "");
  EXPECT_EQ(lost(1).verdict({.lease = 2 * kSecond}), "ae");
}

TEST(Checker, A_LongHoldAgainstLaterOnes) {
  auto story = held().at(0).lease(2, 9);
  story.at(2).ungrant("k", 5).grant("k", 6, 50, false).begin(2, "k", 6, 50).at(3).end(2, "k", 6);
  story.at(4).ungrant("k", 6).grant("k", 7, 50, false).begin(2, "k", 7, 50).at(5).end(2, "k", 7);
  EXPECT_EQ(story.at(6).end(1, "k", 5).verdict(), "ae");
}

TEST(Checker, B_EpochsGrow) {
  const auto again = [](std::uint64_t epoch) {
    return held()
        .at(2)
        .end(1, "k", 5)
        .ungrant("k", 5)
        .at(3)
        .grant("k", epoch, 50, false)
        .begin(1, "k", epoch, 50)
        .at(4)
        .end(1, "k", epoch);
  };
  EXPECT_EQ(again(6).verdict(), "");
  EXPECT_EQ(again(4).verdict(), "b");
  EXPECT_EQ(again(5).verdict(), "b");
  // A loss of the log's tail excuses nothing.
  const auto lost = [](std::uint64_t epoch) {
    return Story()
        .at(0)
        .lease(1, 10)
        .asks(50, Ask::resident, "k")
        .log(50, Step::accepted)
        .grant("k", 5, 50)
        .at(1)
        .begin(1, "k", 5, 50)
        .at(2)
        .end(1, "k", 5)
        .lose(1)
        .at(3)
        .grant("k", epoch, 50)
        .begin(1, "k", epoch, 50)
        .at(4)
        .end(1, "k", epoch);
  };
  EXPECT_EQ(lost(6).verdict(), "");
  EXPECT_EQ(lost(5).verdict(), "b");
}

TEST(Checker, B_EpochsAreTheShards) {
  const Story done = held().at(9).end(1, "k", 5).log(50, Step::done).ungrant("k", 5).close();
  EXPECT_EQ(Story(done).verdict({.shard = {1, 4}}), "");
  EXPECT_EQ(Story(done).verdict({.shard = {2, 4}}), "b");
}

TEST(Checker, B_NoTenureBeginsTwiceOrUngranted) {
  EXPECT_EQ(held().at(2).end(1, "k", 5).at(3).begin(1, "k", 5, 50).at(4).end(1, "k", 5).verdict(), "b");
  EXPECT_EQ(Story().at(0).lease(1, 10).begin(1, "k", 5, 50).at(1).end(1, "k", 5).verdict(), "b");
}

TEST(Checker, C_StaleWrites) {
  const auto writes = [](bool stale_accepted) {
    return held()
        .at(0)
        .lease(2, 20)
        .at(2)
        .write(1, "k", 5, true)
        .add(ProcessPaused{1})
        .at(10)
        .ungrant("k", 5)
        .grant("k", 6, 50, false)
        .begin(2, "k", 6, 50)
        .at(11)
        .write(2, "k", 6, true)
        .at(12)
        .add(ProcessResumed{1})
        .write(1, "k", 5, stale_accepted)
        .end(1, "k", 5)
        .at(19)
        .end(2, "k", 6);
  };
  EXPECT_EQ(writes(false).verdict(), "");
  EXPECT_EQ(writes(true).verdict(), "c");
  EXPECT_EQ(held().at(2).write(1, "k", 5, false).at(3).end(1, "k", 5).verdict(), "c");
}

TEST(Checker, D_HoldsEndByTheirDeadline) {
  EXPECT_EQ(held().at(9.999).end(1, "k", 5).verdict(), "");
  EXPECT_EQ(held().at(10.1).end(1, "k", 5).verdict(), "d");
  EXPECT_EQ(held().at(11).close().verdict(), "d");
  EXPECT_EQ(held().at(9).close().verdict(), "") << "its lease goes on";
  EXPECT_EQ(held().at(8).lease(1, 20).at(10.1).end(1, "k", 5).verdict(), "");
  EXPECT_EQ(held().at(8).lease(1, 9).at(9.5).end(1, "k", 5).verdict(), "d") << "the latest word counts";
  EXPECT_EQ(held().at(9.9).add(ProcessCrashed{1}).verdict(), "");
  EXPECT_EQ(held().at(9).add(ProcessPaused{1}).verdict(), "");
  EXPECT_EQ(held().at(9).add(ProcessPaused{1}).at(12).add(ProcessResumed{1}).at(12.1).end(1, "k", 5).verdict(), "d");
  EXPECT_EQ(held().at(9).add(ProcessPaused{1}).at(9.5).add(ProcessResumed{1}).at(10.1).end(1, "k", 5).verdict(), "d");
  EXPECT_EQ(Story().at(0).lease(1, 1).resident("k", 50, 5).at(2).begin(1, "k", 5, 50).end(1, "k", 5).verdict(), "d");
}

TEST(Checker, E_ReleaseBeforeGrant) {
  // The next holder starts late enough, but the key was given to it too early.
  EXPECT_EQ(held()
                .at(0)
                .lease(2, 20)
                .at(3)
                .ungrant("k", 5)
                .grant("k", 6, 50, false)
                .at(4)
                .end(1, "k", 5)
                .at(5)
                .begin(2, "k", 6, 50)
                .at(9)
                .end(2, "k", 6)
                .verdict(),
            "e");
  EXPECT_EQ(held().at(3).end(1, "k", 5).grant("k", 6, 50, false).verdict(), "e") << "nobody said it had ended";
  EXPECT_EQ(held().at(3).add(ProcessCrashed{1}).at(3.1).ungrant("k", 5).grant("k", 6, 50, false).verdict(), "");
}

TEST(Checker, F_AcceptedIsSettledOnce) {
  const auto task = [] { return Story().at(0).lease(1, 10).asks(7, Ask::task, "t").log(7, Step::accepted); };
  const auto run = [&] { return task().grant("t", 3, 7).at(1).begin(1, "t", 3, 7).at(2).end(1, "t", 3); };
  EXPECT_EQ(run().log(7, Step::done).ungrant("t", 3).close().verdict(), "");
  EXPECT_EQ(run().log(7, Step::failed).ungrant("t", 3).bury(7).close().verdict(), "");
  EXPECT_EQ(task().close().verdict(), "f") << "forgotten";
  EXPECT_EQ(task().close().verdict({.all_settled = false}), "");
  EXPECT_EQ(run().log(7, Step::done).ungrant("t", 3).log(7, Step::done).verdict(), "f") << "done twice";
  EXPECT_EQ(run().ungrant("t", 3).log(7, Step::done).verdict(), "f") << "done by one who no longer held it";
  EXPECT_EQ(task().log(7, Step::accepted).log(7, Step::stopped).verdict(), "f") << "accepted twice";
  EXPECT_EQ(task().log(7, Step::stopped).grant("t", 3, 7).verdict(), "f") << "granted after its end";
}

TEST(Checker, F_ClientsAreToldTheTruth) {
  const auto task = [] { return Story().at(0).asks(7, Ask::task, "t"); };
  EXPECT_EQ(task().log(7, Step::accepted).told(7, Step::accepted).log(7, Step::stopped).verdict(), "");
  EXPECT_EQ(task().told(7, Step::accepted).verdict(), "f");
  EXPECT_EQ(task().told(7, Step::refused, Errc::key_exists).verdict(), "f");
  EXPECT_EQ(task().told(7, Step::refused, Errc::timed_out).verdict(), "") << "a node may say that by itself";
  EXPECT_EQ(task().log(7, Step::accepted).told(7, Step::accepted).lose(1).close().verdict(), "")
      << "acknowledged in a tail that the log lost";
}

TEST(Checker, F_OnlyALostGrantExcusesDone) {
  const auto run = [] {
    return Story()
        .at(0)
        .lease(1, 100)
        .asks(7, Ask::task, "t")
        .log(7, Step::accepted)
        .at(1)
        .grant("t", 3, 7)
        .begin(1, "t", 3, 7);
  };
  const Expectations open{.lease = kSecond, .all_settled = false};
  EXPECT_EQ(run().at(2).lose(1).told(7, Step::done).verdict(open), "") << "its holder had not heard of the loss";
  EXPECT_EQ(run().at(2).told(7, Step::done).verdict(open), "f") << "nothing was lost";
  EXPECT_EQ(
      Story().at(0).asks(7, Ask::task, "t").log(7, Step::accepted).at(2).lose(0).told(7, Step::done).verdict(open), "f")
      << "nobody ever held it";
}

TEST(Checker, F_StopsAreDone) {
  auto stop = held().at(2).asks(8, Ask::stop, "k").log(8, Step::accepted).at(3).end(1, "k", 5);
  EXPECT_EQ(Story(stop).ungrant("k", 5).log(50, Step::stopped).log(8, Step::stopped).close().verdict(), "");
  EXPECT_EQ(Story(stop).ungrant("k", 5).log(50, Step::stopped).close().verdict(), "f");
}

TEST(Checker, G_TasksOfAKeyInOrder) {
  const auto two = [] {
    return Story()
        .at(0)
        .lease(1, 100)
        .asks(7, Ask::task, "t")
        .asks(8, Ask::task, "t")
        .log(7, Step::accepted)
        .log(8, Step::accepted);
  };
  const auto run = [](Story story, std::uint64_t ticket, std::uint64_t epoch) {
    return story.grant("t", epoch, ticket)
        .begin(1, "t", epoch, ticket)
        .at(static_cast<double>(epoch))
        .end(1, "t", epoch)
        .log(ticket, Step::done)
        .ungrant("t", epoch);
  };
  EXPECT_EQ(run(run(two(), 7, 1), 8, 2).close().verdict(), "");
  EXPECT_EQ(run(run(two(), 8, 1), 7, 2).close().verdict(), "g");
  EXPECT_EQ(run(two().log(7, Step::stopped), 8, 1).close().verdict(), "");
  EXPECT_EQ(two().grant("t", 1, 7).grant("t", 2, 8).verdict({.all_settled = false}), "eg") << "both at a time";
  // A delayed task may be overtaken.
  auto delayed = Story()
                     .at(0)
                     .lease(1, 100)
                     .asks(7, Ask::task, "t", true)
                     .asks(8, Ask::task, "t")
                     .log(7, Step::accepted)
                     .log(8, Step::accepted);
  EXPECT_EQ(run(run(delayed, 8, 1), 7, 2).close().verdict(), "");
}

TEST(Checker, H_OneJobForAResidentKey) {
  const auto race = [](Step second, Errc code = {}) {
    return held().asks(51, Ask::resident, "k").at(2).log(51, second, code).at(3).end(1, "k", 5);
  };
  EXPECT_EQ(race(Step::refused, Errc::key_exists).verdict(), "");
  EXPECT_EQ(race(Step::accepted).verdict(), "h");
  // Once the first is over the key is free, and saying otherwise is wrong.
  const auto after = [] {
    return held().asks(51, Ask::resident, "k").at(3).end(1, "k", 5).log(50, Step::done).ungrant("k", 5);
  };
  EXPECT_EQ(after().log(51, Step::accepted).log(51, Step::stopped).verdict(), "");
  EXPECT_EQ(after().log(51, Step::refused, Errc::key_exists).verdict(), "h");
  // A buried resident job keeps its key until it is dropped.
  const auto buried = [] {
    return held()
        .asks(51, Ask::resident, "k")
        .asks(60, Ask::drop_dead, "k", false, 50)
        .at(3)
        .end(1, "k", 5)
        .ungrant("k", 5)
        .log(50, Step::failed)
        .bury(50);
  };
  EXPECT_EQ(buried().log(51, Step::refused, Errc::key_exists).verdict(), "");
  EXPECT_EQ(buried().log(51, Step::accepted).verdict(), "h");
  EXPECT_EQ(buried().log(60, Step::accepted).log(51, Step::accepted).verdict(), "");
}

TEST(Checker, H_NoSuchKeyIsTrue) {
  const auto ask = [](Ask what, Step step, Errc code = {}) {
    return held().asks(52, what, "k").at(2).log(52, step, code).at(3).end(1, "k", 5);
  };
  EXPECT_EQ(ask(Ask::notify, Step::accepted).verdict(), "");
  EXPECT_EQ(ask(Ask::notify, Step::refused, Errc::no_such_key).verdict(), "h");
  EXPECT_EQ(ask(Ask::stop, Step::refused, Errc::no_such_key).verdict(), "h");
  // A job that is being stopped gets no messages any more.
  const auto stopping = [](Step step, Errc code = {}) {
    return held()
        .asks(53, Ask::stop, "k")
        .asks(52, Ask::notify, "k")
        .at(2)
        .log(53, Step::accepted)
        .log(52, step, code)
        .at(3)
        .end(1, "k", 5)
        .ungrant("k", 5)
        .log(50, Step::stopped)
        .log(53, Step::stopped);
  };
  EXPECT_EQ(stopping(Step::refused, Errc::no_such_key).verdict(), "");
  EXPECT_EQ(stopping(Step::accepted).verdict(), "h");
  EXPECT_EQ(Story().asks(52, Ask::stop, "x").log(52, Step::refused, Errc::no_such_key).verdict(), "");
  EXPECT_EQ(Story().asks(52, Ask::notify, "x").log(52, Step::accepted).verdict(), "h");
}

TEST(Checker, I_QueueBoundIsExact) {
  const auto fill = [](int jobs) {
    Story story;
    for (int i = 1; i <= jobs; ++i) {
      const auto ticket = static_cast<std::uint64_t>(i);
      story.asks(ticket, Ask::task, std::string("t").append(std::to_string(i))).log(ticket, Step::accepted);
    }
    return story.asks(99, Ask::task, "t");
  };
  const Expectations three{.queue_bound = 3, .all_settled = false};
  EXPECT_EQ(fill(3).verdict(three), "");
  EXPECT_EQ(fill(4).verdict(three), "i");
  EXPECT_EQ(fill(3).log(99, Step::refused, Errc::pool_full).verdict(three), "");
  EXPECT_EQ(fill(2).log(99, Step::refused, Errc::pool_full).verdict(three), "i");
  EXPECT_EQ(fill(3).grant("t1", 1, 1).log(99, Step::accepted).verdict(three), "i") << "nobody has begun it";
  EXPECT_EQ(fill(3).grant("t1", 1, 1).log(1, Step::started).log(99, Step::accepted).verdict(three), "");
  EXPECT_EQ(fill(3).grant("t1", 1, 1).ungrant("t1", 1, HowEnded::failed).log(99, Step::accepted).verdict(three), "");
  EXPECT_EQ(fill(3).grant("t1", 1, 1).ungrant("t1", 1, HowEnded::lost).log(99, Step::accepted).verdict(three), "i");
  EXPECT_EQ(fill(3).grant("t1", 1, 1, false).verdict(three), "i");
  EXPECT_EQ(fill(3).log(2, Step::stopped).log(99, Step::accepted).verdict(three), "");
}

TEST(Checker, I_DelayedJobsHaveABoundOfTheirOwn) {
  const auto fill = [](int jobs) {
    Story story;
    for (int i = 1; i <= jobs; ++i) {
      const auto ticket = static_cast<std::uint64_t>(i);
      story.asks(ticket, Ask::task, "t", true, 0, 5).log(ticket, Step::accepted);
    }
    return story.asks(98, Ask::task, "t", true, 0, 5).asks(99, Ask::task, "u");
  };
  const Expectations two{.queue_bound = 1, .delayed_bound = 2, .all_settled = false};
  EXPECT_EQ(fill(2).log(99, Step::accepted).verdict(two), "") << "delayed jobs are not queued";
  EXPECT_EQ(fill(3).verdict(two), "i");
  EXPECT_EQ(fill(2).log(98, Step::refused, Errc::pool_full).verdict(two), "");
  EXPECT_EQ(fill(1).log(98, Step::refused, Errc::pool_full).verdict(two), "i");
  EXPECT_EQ(fill(2).at(6).log(98, Step::accepted).verdict(two), "") << "the delays may be over";
  EXPECT_EQ(fill(2).at(6).log(99, Step::refused, Errc::pool_full).verdict(two), "") << "and those jobs queued";
}

TEST(Checker, T_AStartThatTimesOutIsAnAttempt) {
  const auto late = [] { return Story().resident("k", 50, 5).time_out("k", 5); };
  EXPECT_EQ(late().ungrant("k", 5).verdict(), "T");
  EXPECT_EQ(late().ungrant("k", 5, HowEnded::failed).verdict(), "");
  EXPECT_EQ(late().ungrant("k", 5, HowEnded::lost).verdict(), "");
}

TEST(Checker, M_ARefusedMessageIsNotSaidToBeHandled) {
  const auto told = [](bool refused, Step step) {
    return held().asks(52, Ask::notify, "k").log(52, Step::accepted).deliver(1, "k", 5, 52, refused).log(52, step);
  };
  EXPECT_EQ(told(false, Step::done).verdict({.all_settled = false}), "");
  EXPECT_EQ(told(true, Step::failed).verdict({.all_settled = false}), "");
  EXPECT_EQ(told(true, Step::done).verdict({.all_settled = false}), "M");
}

TEST(Checker, J_DigestsAgree) {
  EXPECT_EQ(Story().add(Digest{1, 10, 77}).add(Digest{2, 10, 77}).add(Digest{2, 11, 78}).verdict(), "");
  EXPECT_EQ(Story().add(Digest{1, 10, 77}).add(Digest{2, 10, 76}).verdict(), "j");
}

TEST(Checker, K_RecoversInTime) {
  const Expectations five{.recovery = 5 * kSecond};
  const auto healed = [](double began) {
    return Story().at(0).lease(1, 100).resident("k", 50, 5).at(10).add(Healed{}).at(began).begin(1, "k", 5, 50);
  };
  EXPECT_EQ(healed(14).at(30).close().verdict(five), "");
  EXPECT_EQ(healed(16).at(30).close().verdict(five), "k");
  EXPECT_EQ(healed(14).at(20).end(1, "k", 5).at(30).close().verdict(five), "k") << "and lost again";
  EXPECT_EQ(healed(14).at(20).end(1, "k", 5).log(50, Step::done).ungrant("k", 5).at(30).close().verdict(five), "");
}

TEST(Checker, R_EndsAreToldSoon) {
  const Expectations soon{.calm = true, .telling = kSecond};
  const auto ended = [] { return held().at(0).lease(1, 100).at(5).end(1, "k", 5); };
  EXPECT_EQ(ended().at(6).ungrant("k", 5).at(30).close().verdict(soon), "");
  EXPECT_EQ(ended().at(6.1).ungrant("k", 5).at(30).close().verdict(soon), "r");
  EXPECT_EQ(ended().at(30).close().verdict(soon), "r");
  EXPECT_EQ(ended().at(5.9).close().verdict(soon), "");
  EXPECT_EQ(ended().at(30).close().verdict({}), "") << "where something may go wrong it may take longer";
}

TEST(Checker, L_LogIsBounded) {
  const Expectations small{.bytes_since_snapshot_max = 2000, .log_entries_max = 100};
  EXPECT_EQ(Story().add(Closed{100, 2000, 50}).verdict(small), "");
  EXPECT_EQ(Story().add(Closed{100, 2001, 50}).verdict(small), "l");
  EXPECT_EQ(Story().add(Closed{101, 2000, 50}).verdict(small), "l");
}

TEST(Checker, M_MessagesInOrder) {
  const auto sent = [] {
    auto story = held().at(0).lease(2, 100).lease(1, 100);
    for (const std::uint64_t ticket : {61U, 62U, 63U}) story.asks(ticket, Ask::notify, "k").log(ticket, Step::accepted);
    return story;
  };
  const auto moved = [](Story story) {
    return story.at(5).end(1, "k", 5).ungrant("k", 5).grant("k", 6, 50, false).begin(2, "k", 6, 50);
  };
  EXPECT_EQ(sent().deliver(1, "k", 5, 61).deliver(1, "k", 5, 62).deliver(1, "k", 5, 63).close().verdict(), "");
  EXPECT_EQ(sent().deliver(1, "k", 5, 61).deliver(1, "k", 5, 63).deliver(1, "k", 5, 62).verdict(), "m");
  EXPECT_EQ(sent().deliver(1, "k", 5, 61).close().verdict(), "m") << "the rest never came";
  EXPECT_EQ(moved(sent().deliver(1, "k", 5, 61).deliver(1, "k", 5, 62))
                .deliver(2, "k", 6, 62)
                .deliver(2, "k", 6, 63)
                .close()
                .verdict(),
            "")
      << "at least once";
  EXPECT_EQ(moved(sent().deliver(1, "k", 5, 61)).deliver(2, "k", 6, 63).close().verdict(), "m");
  EXPECT_EQ(sent().deliver(1, "k", 5, 62).close().verdict(), "m") << "the first was left out";
}

TEST(Checker, N_CheckpointsAreHandedOn) {
  const auto moved = [](std::uint64_t given) {
    return held()
        .at(2)
        .blob("k", 5, 111, 1)
        .blob("k", 5, 222, 2)
        .blob("k", 5, 111, 1)
        .at(3)
        .end(1, "k", 5)
        .ungrant("k", 5)
        .blob("k", 5, 333, 3)
        .grant("k", 6, 50, false)
        .begin(1, "k", 6, 50, given)
        .at(4)
        .end(1, "k", 6);
  };
  EXPECT_EQ(moved(222).verdict(), "");
  EXPECT_EQ(moved(0).verdict(), "n");
  EXPECT_EQ(moved(111).verdict(), "n") << "that was a repetition";
  EXPECT_EQ(moved(333).verdict(), "n") << "that came from a tenure that had ended";
  EXPECT_EQ(Story().at(0).lease(1, 9).resident("k", 50, 5).begin(1, "k", 5, 50, 4).at(1).end(1, "k", 5).verdict(), "n");
}

TEST(Checker, Q_WhoAsksHears) {
  const auto task = [] { return Story().at(0).asks(7, Ask::task, "t").log(7, Step::accepted); };
  const auto done = [&] { return task().grant("t", 1, 7).log(7, Step::done).ungrant("t", 1); };
  const Expectations open{.all_settled = false};
  EXPECT_EQ(task().verdict(open, true), "q") << "not even that it was accepted";
  EXPECT_EQ(task().told(7, Step::accepted).verdict(open, true), "") << "it still runs";
  EXPECT_EQ(done().told(7, Step::accepted).verdict(open, true), "q");
  EXPECT_EQ(done().told(7, Step::accepted).told(7, Step::done).verdict(open, true), "");
  EXPECT_EQ(done().add(TicketLost{99, 7}).verdict(open, true), "");
  EXPECT_EQ(done().add(ProcessCrashed{99}).verdict(open, true), "") << "nobody is there to hear";
}

TEST(Checker, P_NoNodeGivesUp) {
  EXPECT_EQ(Story().add(NodeBroke{1, "the log is corrupt"}).verdict(), "p");
  EXPECT_EQ(Story().add(ProcessCrashed{1}).verdict(), "");
}

TEST(Checker, O_NobodyDiesForNothing) {
  const auto fenced = [] { return Story().add(LogFenced{1, 7}); };
  EXPECT_EQ(fenced().verdict(), "");
  EXPECT_EQ(fenced().verdict({.calm = true}), "o");
  EXPECT_EQ(Story().add(ProcessCrashed{3}).verdict({.calm = true}), "o");
  EXPECT_EQ(held().at(9).close().verdict({.calm = true}), "");
}

// A worker is given only jobs that it takes; jobs from before the pool knew types may count as jobs without one.
TEST(Checker, T_WorkersGetWhatTheyTake) {
  const auto pool = [](std::vector<std::string> taken) {
    return Story().lease(1, 20).takes(1, "w", std::move(taken)).asks_typed(50, Ask::task, "k", "x");
  };
  const auto granted = [](Story story) {
    return story.log(50, Step::accepted).grant_to(1, "w", "k", 5, 50).verdict({.all_settled = false});
  };
  EXPECT_EQ(granted(pool({})), "");
  EXPECT_EQ(granted(pool({"task"})), "");
  EXPECT_EQ(granted(pool({"resident", "task:x"})), "");
  EXPECT_EQ(granted(pool({"resident"})), "t");
  EXPECT_EQ(granted(pool({"task:y", "resident:x"})), "t");
  EXPECT_EQ(granted(pool({"task:"})), "t");
  EXPECT_EQ(granted(pool({"resident"}).takes(1, "other", {})), "t");
  const auto untyped = [&](std::vector<std::string> taken) {
    return pool(std::move(taken))
        .add(LogSettled{1, 50, Step::accepted, {}, false})
        .grant_to(1, "w", "k", 5, 50)
        .verdict({.all_settled = false});
  };
  EXPECT_EQ(untyped({"task:"}), "");
  EXPECT_EQ(untyped({"task:x"}), "");
  EXPECT_EQ(untyped({"task:y"}), "t");
}

TEST(Checker, S_AWipedLogIsPutBack) {
  const auto lost = [](const LogLost& how) {
    Story story = Story().at(0).lease(1, 100).add(LogJoined{1, Story::session(1), false});
    return story.at(1).resident("k", 50, 5).at(2).add(how).add(NoticedLoss{1, Story::session(1)});
  };
  const auto wiped = [&] { return lost({.kept = 0, .wiped = true}).at(3).add(LogJoined{10, 9, true}); };
  const auto restoring = [&] { return wiped().add(LogRestoring{11, 0, 99, false}); };
  const auto restored = [&] { return restoring().add(LogRestored{11, "k", 50}); };
  EXPECT_EQ(restored().add(LogRestoreEnded{11}).verdict(), "");
  EXPECT_EQ(restoring().add(LogRestoreEnded{11}).verdict(), "s") << "not all that was known";
  EXPECT_EQ(restored().add(LogRestored{11, "k", 50}).verdict(), "s") << "a job came back twice";
  EXPECT_EQ(restored().add(LogRestoreEnded{11}).add(LogRestoring{12, 0, 99, false}).verdict(), "s") << "twice";
  EXPECT_EQ(wiped().at(99).close().verdict(), "s") << "nobody did it";
  EXPECT_EQ(wiped().add(ProcessCrashed{1}).at(99).close().verdict(), "") << "nobody was left to do it";
  EXPECT_EQ(lost({.kept = 0, .removed = true}).add(LogRestoring{11, 0, 99, false}).verdict(), "s") << "it was removed";
}

TEST(Checker, S_APoolThatWasShutDownIsNotPutBack) {
  const auto shut_down = [] {
    return Story().at(0).lease(1, 100).add(LogJoined{1, Story::session(1), false}).at(1).resident("k", 50, 5);
  };
  const auto noticed = NoticedLoss{1, Story::session(1)};
  const LogLost wiped{.kept = 0, .wiped = true};
  const LogJoined again{10, 9, true};
  const auto ending = [&] { return shut_down().add(LogShutdown{4}).at(2).add(wiped).add(noticed).add(again); };
  EXPECT_EQ(ending().at(99).close().verdict({.all_settled = false}), "");
  EXPECT_EQ(ending().add(LogRestoring{11, 0, 3, false}).verdict(), "") << "its member had not read of that";
  EXPECT_EQ(ending().add(LogRestoring{11, 0, 4, false}).verdict(), "s");
  // Its log was removed, and the next one was lost with the engine's note of that.
  const auto removed = [&] { return shut_down().at(2).add(LogLost{.kept = 0, .removed = true}).add(noticed); };
  EXPECT_EQ(removed().add(again).at(3).add(wiped).add(again).add(LogRestoring{11, 0, 3, false}).verdict(), "s");
}

// A member dies over it, and the next one knows less: what only one of them knew may be there or not.
TEST(Checker, S_AnotherMemberGoesOnWithWhatItKnows) {
  const auto restoring = [] {
    Story story = Story().at(0).lease(1, 100).add(LogJoined{1, Story::session(1), false}).at(1);
    story.asks(50, Ask::task, "a").asks(51, Ask::task, "b");
    story.log(50, Step::accepted).log(51, Step::accepted);
    story.at(2).add(LogLost{.kept = 0, .wiped = true}).add(LogJoined{10, 9, true});
    return story.add(LogRestoring{11, 0, 2, false});
  };
  const auto all = [](Story story) { return story.add(LogRestoreEnded{20}).verdict({.all_settled = false}); };
  const LogRestored a{12, "a", 50};
  const LogRestored b{13, "b", 51};
  EXPECT_EQ(all(restoring().add(a).add(b)), "");
  EXPECT_EQ(all(restoring().add(a)), "s");
  const auto next = [&](std::uint64_t known) { return restoring().add(LogRestoring{12, 0, known, false}); };
  EXPECT_EQ(all(next(2).add(a)), "s");
  EXPECT_EQ(all(next(1).add(a)), "") << "the second member did not know of b";
  EXPECT_EQ(all(next(1)), "s");
  EXPECT_EQ(all(next(1).add(a).add(b)), "s") << "and could not bring it";
}

// One job that crashes its process again and again, beside another one. `deed`: it does; `told`: the log says so.
Story crashes(int count, bool deed, bool told, bool company) {
  Story story;
  story.at(0).asks(50, Ask::resident, "k").log(50, Step::accepted);
  std::uint64_t position = 100;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t epoch = 10 + static_cast<std::uint64_t>(i);
    const std::uint64_t session = 900 + epoch;
    story.add(LogGranted{++position, "k", epoch, 50, i == 0, session});
    if (company) story.add(LogGranted{++position, "other", epoch + 100, 51, i == 0, session});
    if (deed) story.add(HandlerCrashed{1, "k", epoch});
    ++position;
    if (told) story.add(LogCulprits{position, session, {epoch}});
    story.add(LogEnded{position, "k", epoch, HowEnded::lost, true});
    if (company) story.add(LogEnded{position, "other", epoch + 100, HowEnded::lost, true});
  }
  return story;
}

const Expectations kThreeCrashes{.quarantine_after = 3, .all_settled = false};

std::string blamed(Story story, bool quarantined) {
  const std::string all = story.add(LogBuried{999, 50, quarantined}).verdict(kThreeCrashes);
  return all.find('x') == std::string::npos ? "" : "x";
}

TEST(Checker, X_OnlyCulpritsAreQuarantined) {
  EXPECT_EQ(blamed(crashes(3, true, true, true), true), "");
  EXPECT_EQ(blamed(crashes(2, true, true, true), true), "x") << "too early";
  EXPECT_EQ(blamed(crashes(3, false, true, true), true), "x") << "what the log says is not true";
  EXPECT_EQ(blamed(crashes(3, true, false, true), true), "x") << "nobody said so";
  EXPECT_EQ(blamed(crashes(3, false, false, true), true), "x") << "it merely ran there";
  EXPECT_EQ(blamed(crashes(3, false, false, false), true), "") << "it was alone each time";
  EXPECT_EQ(blamed(crashes(2, false, false, false), true), "x");
  EXPECT_EQ(blamed(crashes(0, false, false, false), false), "") << "it was out of attempts";
}

TEST(Checker, Y_CulpritsAreQuarantined) {
  const auto again = [](Story story) {
    const std::string all = story.add(LogGranted{999, "k", 99, 50, false, 7}).verdict(kThreeCrashes);
    return all.find('y') == std::string::npos ? "" : "y";
  };
  EXPECT_EQ(again(crashes(3, true, true, true)), "y");
  EXPECT_EQ(again(crashes(2, true, true, true)), "");
  EXPECT_EQ(again(crashes(3, true, false, true)), "") << "the pool could not know";
  EXPECT_EQ(again(crashes(3, true, true, true).add(LogBuried{500, 50, true})), "") << "somebody has retried it";
}

}  // namespace
}  // namespace tenure::sim
