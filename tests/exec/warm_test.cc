// Warm programs run one task after the other, with the same rules for failures, stops and leases as a program that runs
// once.

#include "exec/warm_host.h"

#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "exec/host_stage.h"
#include "guard/process.h"

namespace tenure::exec {
namespace {

using namespace std::chrono_literals;
using Heard = HostStage::Heard;
using Next = HoldReports::Next;

// A program in shell: answers with its process id, or does what the payload says.
std::vector<std::string> warm_shell() {
  return HostStage::shell(R"sh(
say() { echo "{\"type\":\"result\",\"data\":\"$1\"}"; }
while read -r line; do
  case "$line" in
    *'"type":"stop"'*) ;;
    *'"payload":"fail"'*) echo '{"type":"fail","error":"not today"}' ;;
    *'"payload":"never"'*) echo '{"type":"fail","error":"not ever","retry":false}' ;;
    *'"payload":"exit '*) echo "last words" >&2; exit $(echo "$line" | sed 's/.*exit \([0-9]*\).*/\1/') ;;
    *'"payload":"hang"'*) echo "pid $$" >&2; sleep 1000 ;;
    *'"payload":"stubborn"'*) trap '' TERM; (setsid sh -c 'echo "hidden $$" >&2; exec sleep 1000' &)
      echo "pid $$" >&2; sleep 1000; sleep 1000 ;;
    *'"payload":"twice"'*) echo "$(say one; say two)" ;;
    *'"payload":"stale"'*) echo '{"type":"result","epoch":7,"data":"x"}' ;;
    *'"payload":"print"'*) echo "just a print"; say $$ ;;
    *'"payload":"grow"'*) hoard=$(head -c 20000000 /dev/zero | tr '\0' x); say $$ ;;
    *'"payload":"swell"'*) hoard=$(head -c 20000000 /dev/zero | tr '\0' x); echo "pid $$" >&2; sleep 1000 ;;
    *'"payload":"close"'*) exec >&-; sleep 1000 ;;
    *) say $$ ;;
  esac
done)sh");
}

Heard run(HostStage& stage, const Bytes& payload, const Bytes& key = "key") {
  return stage.end_of(stage.start(JobKind::task, payload, key));
}

TEST(Warm, OneProgramServesManyTasks) {
  const auto stage = HostStage::warm(warm_shell(), 1);
  const Heard first = run(*stage, "a");
  EXPECT_EQ(first.end, "finished");
  std::vector<std::uint64_t> epochs;
  for (int i = 0; i < 100; ++i) epochs.push_back(stage->start(JobKind::task, "b"));
  for (const std::uint64_t epoch : epochs) EXPECT_EQ(stage->end_of(epoch).text, first.text);
  EXPECT_EQ(run(*stage, "print").text, first.text);
}

TEST(Warm, FailuresAreThoseOfAnyProgram) {
  const auto stage = HostStage::warm(warm_shell(), 1);
  const Bytes process = run(*stage, "a").text;
  const Heard failed = run(*stage, "fail");
  EXPECT_EQ(failed.text, "not today");
  EXPECT_EQ(failed.next, Next::retry);
  EXPECT_EQ(run(*stage, "never").next, Next::bury);
  EXPECT_EQ(run(*stage, "a").text, process);  // a failed task does not fail the program
  const Heard ended = run(*stage, "exit 3");
  EXPECT_EQ(ended.text, "the program ended with exit code 3: last words");
  EXPECT_EQ(ended.next, Next::retry);
  EXPECT_EQ(run(*stage, "exit 75").next, Next::requeue);
  EXPECT_EQ(run(*stage, "exit 65").next, Next::bury);
  const Heard early = run(*stage, "exit 0");
  EXPECT_EQ(early.end, "failed");
  EXPECT_EQ(early.text, "the program ended before it had answered");
  EXPECT_NE(run(*stage, "a").text, process);
}

// An answer without a task must not count for the next task.
TEST(Warm, AnswersForNobodyEndTheProgram) {
  const auto stage = HostStage::warm(warm_shell(), 1);
  const Bytes process = run(*stage, "a").text;
  EXPECT_EQ(run(*stage, "twice").text, "one");
  const Bytes next = run(*stage, "a").text;
  EXPECT_NE(next, process);
  const Heard stale = run(*stage, "stale");
  EXPECT_EQ(stale.text, "the program answered for epoch 7, which is not its task");
  EXPECT_NE(run(*stage, "a").text, next);
  EXPECT_EQ(run(*stage, "close").end, "failed");
}

TEST(Warm, AStopEndsTheTaskAndItsProgramOnly) {
  const auto stage = HostStage::warm(warm_shell(), 2);
  const Bytes other = run(*stage, "a").text;
  const std::uint64_t hangs = stage->start(JobKind::task, "hang");
  const guard::Watched program(std::stoi(stage->logged(hangs, "pid")));
  ASSERT_TRUE(stage->started(hangs));  // a long task is reported as started
  std::set<Bytes> seen;
  seen.insert(run(*stage, "b").text);
  stage->stop(hangs);
  EXPECT_EQ(stage->end_of(hangs).end, "released");
  EXPECT_TRUE(program.dies_within(guard::kDeadline));
  EXPECT_EQ(run(*stage, "c").end, "finished");
}

TEST(Warm, WhatWaitsIsGivenBack) {
  const auto stage = HostStage::warm(warm_shell(), 1);
  const std::uint64_t hangs = stage->start(JobKind::task, "hang");
  const std::uint64_t waits = stage->start(JobKind::task, "a");
  const std::uint64_t stopped = stage->start(JobKind::task, "a");
  stage->stop(stopped);
  EXPECT_EQ(stage->end_of(stopped).end, "released");
  stage->host().give_back_waiting(HostStage::kSession);
  EXPECT_EQ(stage->end_of(waits).end, "released");
  stage->stop(hangs, 0s);
  EXPECT_EQ(stage->end_of(hangs).end, "released");
  EXPECT_EQ(stage->end_of(hangs).ends, 1);
}

// Worn out by tasks: the program is replaced when it is free, and no task is lost.
TEST(Warm, ProgramsAreReplacedAfterSoManyTasks) {
  guard::WearLimits limits;
  limits.jobs = 5;
  limits.jitter = 0;
  const auto stage = HostStage::warm(warm_shell(), 1, limits);
  std::map<Bytes, int> served;
  std::vector<std::uint64_t> epochs;
  for (int i = 0; i < 20; ++i) epochs.push_back(stage->start(JobKind::task, "a"));
  for (const std::uint64_t epoch : epochs) ++served[stage->end_of(epoch).text];
  EXPECT_EQ(served.size(), 4U);
  for (const auto& [process, count] : served) EXPECT_EQ(count, 5) << process;
}

// By idle time and by age: without a task in between, and without any call.
TEST(Warm, FreeProgramsEndByTime) {
  guard::WearLimits idle;
  idle.idle = 50ms;
  guard::WearLimits age;
  age.age = 50ms;
  for (const guard::WearLimits& limits : {idle, age}) {
    const auto stage = HostStage::warm(warm_shell(), 1, limits);
    const Bytes first = run(*stage, "a").text;
    EXPECT_TRUE(guard::Watched(std::stoi(first)).dies_within(guard::kDeadline));
    EXPECT_EQ(run(*stage, "a").end, "finished");
  }
}

TEST(Warm, AProgramThatHasGrownIsReplacedWhenItIsFree) {
  guard::WearLimits limits;
  limits.memory_bytes = 15'000'000;
  const auto stage = HostStage::warm(warm_shell(), 1, limits);
  const Heard grown = run(*stage, "grow");
  EXPECT_EQ(grown.end, "finished");
  EXPECT_TRUE(guard::Watched(std::stoi(grown.text)).dies_within(guard::kDeadline));
  EXPECT_NE(run(*stage, "a").text, grown.text);
  const std::uint64_t busy = stage->start(JobKind::task, "swell");  // soft limits leave it at its task
  const guard::Watched program(std::stoi(stage->logged(busy, "pid")));
  ASSERT_TRUE(stage->started(busy));
  EXPECT_FALSE(program.dies_within(300ms));
  stage->stop(busy, 0s);
  EXPECT_EQ(stage->end_of(busy).end, "released");
}

// Hard limits kill, whatever the program is at; its task fails with the reason and may be tried again.
TEST(Warm, HardLimitsKillTheProgramAndFailItsTask) {
  struct Case {
    guard::WearLimits limits;
    Bytes payload;
    Bytes error;
  };
  std::vector<Case> cases(3);
  cases[0].limits.job_time = 100ms;
  cases[0].payload = "hang";
  cases[0].error = "the program was killed: a task took longer than 100 ms";
  cases[1].limits.age_hard = 100ms;
  cases[1].payload = "stubborn";
  cases[1].error = "the program was killed: its life took longer than 100 ms";
  cases[2].limits.memory_bytes_hard = 15'000'000;
  cases[2].payload = "swell";
  cases[2].error = "the program was killed: it uses ";
  for (const Case& each : cases) {
    const auto stage = HostStage::warm(warm_shell(), 1, each.limits);
    const std::uint64_t epoch = stage->start(JobKind::task, each.payload);
    const Heard heard = stage->end_of(epoch);
    EXPECT_EQ(heard.end, "failed");
    EXPECT_TRUE(heard.text.starts_with(each.error)) << heard.text;
    EXPECT_EQ(heard.next, Next::retry);
    EXPECT_EQ(heard.ends, 1);
    EXPECT_EQ(run(*stage, "a").end, "finished");
  }
}

// The lease runs out and nobody renews it, as if the worker were frozen: the guard ends program and daemons.
TEST(Warm, NothingOutlivesTheLease) {
  const auto stage = HostStage::warm(warm_shell(), 2);
  stage->renew(4s);
  const Bytes free = run(*stage, "a").text;
  const std::uint64_t epoch = stage->start(JobKind::task, "stubborn");
  const guard::Watched program(std::stoi(stage->logged(epoch, "pid")));
  const guard::Watched hidden(std::stoi(stage->logged(epoch, "hidden")));
  const guard::Watched idle(std::stoi(free));
  EXPECT_TRUE(program.dies_within(guard::kDeadline));
  EXPECT_TRUE(hidden.dies_within(guard::kDeadline));
  EXPECT_TRUE(idle.dies_within(guard::kDeadline));
  EXPECT_EQ(stage->end_of(epoch).ends, 1);
}

TEST(Warm, AFenceAndAKillEndEverythingOfTheSession) {
  const auto stage = HostStage::warm(warm_shell(), 1);
  const std::uint64_t epoch = stage->start(JobKind::task, "stubborn");
  const std::uint64_t waits = stage->start(JobKind::task, "a");
  const guard::Watched program(std::stoi(stage->logged(epoch, "pid")));
  stage->host().fence(HostStage::kSession);
  EXPECT_EQ(stage->end_of(waits).end, "released");
  EXPECT_EQ(stage->end_of(stage->start(JobKind::task, "late")).end, "released");
  EXPECT_FALSE(program.dies_within(0s));
  stage->host().kill(HostStage::kSession);
  EXPECT_TRUE(program.dies_within(0s));
  EXPECT_EQ(stage->end_of(epoch).end, "released");
}

// A task whose program is ended by a fence has not failed, whichever thread learns of it first.
TEST(Warm, WhoIsEndedByAFenceHasNotFailed) {
  for (int i = 0; i < 5; ++i) {
    const auto stage = HostStage::warm(warm_shell(), 1);
    const std::uint64_t epoch = stage->start(JobKind::task, "hang");
    stage->logged(epoch, "pid");
    stage->host().fence(HostStage::kSession);
    EXPECT_EQ(stage->end_of(epoch).end, "released");
  }
}

TEST(Warm, AKilledGuardTakesProgramsWithItAndIsReplaced) {
  const auto stage = HostStage::warm(warm_shell(), 2);
  const std::uint64_t epoch = stage->start(JobKind::task, "hang");
  const guard::Watched program(std::stoi(stage->logged(epoch, "pid")));
  ::kill(stage->guard().process(), SIGKILL);
  EXPECT_TRUE(stage->guard_was_lost());
  EXPECT_EQ(stage->end_of(epoch).end, "released");
  EXPECT_TRUE(program.dies_within(0s));
  EXPECT_EQ(run(*stage, "a").end, "finished");
}

TEST(Warm, BadInputIsSaid) {
  const auto stage = HostStage::warm({"/nowhere/program"}, 1);
  EXPECT_EQ(run(*stage, "a").text, "cannot run '/nowhere/program': No such file or directory");
  const Heard resident = stage->end_of(stage->start(JobKind::resident));
  EXPECT_EQ(resident.end, "failed");
  EXPECT_EQ(resident.next, Next::bury);
  EXPECT_FALSE(WarmHost::create(stage->guard(), {}, 1));
}

TEST(Warm, PythonExample) {
  const auto stage = HostStage::warm({std::string(TENURE_EXAMPLES) + "/warm.py"}, 1);
  EXPECT_EQ(run(*stage, "one two three").text, "3 words for key");
  EXPECT_EQ(run(*stage, "one", "other").text, "1 words for other");
  const Heard failed = run(*stage, "");
  EXPECT_EQ(failed.text, "there are no words to count");
  EXPECT_EQ(failed.next, Next::retry);
  const Bytes large(1U << 20, 'x');
  EXPECT_EQ(run(*stage, large).text, "1 words for key");
}

}  // namespace
}  // namespace tenure::exec
