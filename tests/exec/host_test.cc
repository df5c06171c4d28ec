// The contract of programs as handlers (docs/handlers.md), row by row, with real programs.

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "exec/host_stage.h"
#include "guard/process.h"
#include "machine/limits.h"

namespace tenure::exec {
namespace {

using namespace std::chrono_literals;
using Heard = HostStage::Heard;
using Next = HoldReports::Next;

TEST(Plain, TaskHasItsPayloadOnStandardInputAndItsOutputIsTheResult) {
  HostStage stage(HostStage::shell("tr a-z A-Z"));
  const Heard end = stage.end_of(stage.start(JobKind::task, "some words\n"));
  EXPECT_EQ(end.end, "finished") << end.text;
  EXPECT_EQ(end.text, "SOME WORDS\n");
  EXPECT_TRUE(end.started);
}

// Not from a pipe, of which a program reads the rest as nothing if its worker dies meanwhile.
TEST(Plain, TaskHasItsWholePayloadFromTheStart) {
  HostStage stage(HostStage::shell("test -f /dev/stdin && stat -L -c %s /dev/stdin"));
  const Heard end = stage.end_of(stage.start(JobKind::task, Bytes(kPayloadBytesMax, 'p')));
  EXPECT_EQ(end.text, std::to_string(kPayloadBytesMax) + "\n");
}

TEST(Plain, EnvironmentSaysWhatIsHeld) {
  HostStage stage(
      HostStage::shell("echo $TENURE_POOL,$TENURE_KEY,$TENURE_EPOCH,$TENURE_WORKER,$TENURE_ATTEMPT,$TENURE_KIND; cat "
                       "$TENURE_DIR/payload; "
                       "cat $TENURE_DIR/checkpoint; ls -ld $TENURE_DIR | cut -c1-10"));
  HeldJob job;
  job.hold.key = "tenant 17";
  job.kind = JobKind::task;
  job.attempt = 3;
  job.payload = "P\n";
  job.checkpoint = "C\n";
  const Heard end = stage.end_of(stage.start(job));
  EXPECT_EQ(end.text, "default,tenant 17,101,w1,3,task\nP\nC\ndrwx------\n");
}

TEST(Plain, ResidentIsStartedWhenItRunsAndGetsMessagesAsLines) {
  HostStage stage(HostStage::shell("while read line; do echo got $line; done"));
  const std::uint64_t epoch = stage.start(JobKind::resident);
  ASSERT_TRUE(stage.started(epoch));
  stage.message(epoch, 5, "hello");
  EXPECT_EQ(stage.logged(epoch, "got"), "hello");
  EXPECT_TRUE(stage.wait(epoch, [](const Heard& heard) { return heard.handled == 5; }));
  stage.stop(epoch);
  EXPECT_EQ(stage.end_of(epoch).end, "released");
}

TEST(Plain, ResidentThatEndsByItselfIsFinished) {
  HostStage stage(HostStage::shell("exit 0"));
  const Heard end = stage.end_of(stage.start(JobKind::resident));
  EXPECT_EQ(end.end, "finished");
  EXPECT_TRUE(end.started);
}

TEST(Plain, ExitCodesSayWhatIsNext) {
  HostStage stage(HostStage::shell("echo because of $TENURE_KEY >&2; exit $TENURE_KEY"));
  for (const auto& [code, next] : {std::pair("1", Next::retry), {"3", Next::retry}, {"65", Next::bury}}) {
    const Heard end = stage.end_of(stage.start(JobKind::task, "", code));
    EXPECT_EQ(end.end, "failed");
    EXPECT_EQ(end.next, next) << code;
    EXPECT_EQ(end.text, std::string("the program ended with exit code ") + code + ": because of " + code);
  }
  const Heard later = stage.end_of(stage.start(JobKind::task, "", "75"));
  EXPECT_EQ(later.next, Next::requeue);
  EXPECT_GT(later.delay, 0ns);
}

TEST(Plain, SignalIsAFailure) {
  HostStage stage(HostStage::shell("kill -SEGV $$"));
  const Heard end = stage.end_of(stage.start(JobKind::resident));
  EXPECT_EQ(end.end, "failed");
  EXPECT_EQ(end.next, Next::retry);
  EXPECT_EQ(end.text, "the program was killed by signal 11 (SIGSEGV)");
}

TEST(Plain, ProgramThatDoesNotExist) {
  HostStage stage({"/nowhere/at/all", "word"});
  const Heard end = stage.end_of(stage.start(JobKind::task));
  EXPECT_EQ(end.end, "failed");
  EXPECT_EQ(end.text, "cannot run '/nowhere/at/all': No such file or directory");
  EXPECT_FALSE(end.started);
}

TEST(Plain, FolderThatDoesNotExist) {
  ProgramOptions options;
  options.folder = "/nowhere";
  HostStage stage({"true"}, Protocol::plain, options);
  const Heard end = stage.end_of(stage.start(JobKind::task));
  EXPECT_EQ(end.text, "cannot run programs in '/nowhere': No such file or directory");
}

TEST(Plain, RenamedCheckpointIsTakenWhileTheProgramRuns) {
  HostStage stage(
      HostStage::shell("for i in 1 2; do printf state$i > $TENURE_DIR/next; mv $TENURE_DIR/next "
                       "$TENURE_DIR/checkpoint; read line; done"));
  const std::uint64_t epoch = stage.start(JobKind::resident);
  ASSERT_TRUE(stage.wait(epoch, [](const Heard& heard) { return heard.checkpoints == std::vector<Bytes>{"state1"}; }));
  stage.message(epoch, 1, "go on");
  ASSERT_TRUE(stage.wait(epoch, [](const Heard& heard) { return heard.checkpoints.size() == 2; }));
  EXPECT_TRUE(stage.wait(epoch, [](const Heard& heard) { return heard.checkpoints[1] == "state2"; }));
}

TEST(Plain, LastCheckpointIsTakenBeforeTheRelease) {
  HostStage stage(HostStage::shell(
      "trap 'printf last > $TENURE_DIR/n; mv $TENURE_DIR/n $TENURE_DIR/checkpoint; exit 0' TERM; echo up now; "
      "while :; do read line; done"));
  const std::uint64_t epoch = stage.start(JobKind::resident);
  ASSERT_EQ(stage.logged(epoch, "up"), "now");
  stage.stop(epoch);
  const Heard end = stage.end_of(epoch);
  EXPECT_EQ(end.end, "released");
  EXPECT_EQ(end.checkpoints, std::vector<Bytes>{"last"});
}

TEST(Plain, CheckpointOverTheBoundIsLeft) {
  HostStage stage(
      HostStage::shell("head -c 2000000 /dev/zero > $TENURE_DIR/n; mv $TENURE_DIR/n $TENURE_DIR/checkpoint"));
  const Heard end = stage.end_of(stage.start(JobKind::task));
  EXPECT_EQ(end.end, "finished");
  EXPECT_TRUE(end.checkpoints.empty());
  ASSERT_FALSE(end.log.empty());
  EXPECT_NE(end.log[0].find("2000000 bytes"), Bytes::npos);
}

TEST(Stop, ProgramThatIgnoresSigtermIsKilledAtTheDeadline) {
  HostStage stage(HostStage::shell("trap '' TERM; echo pid $$; exec sleep 1000"));
  const std::uint64_t epoch = stage.start(JobKind::resident);
  const guard::Watched program(std::stoi(stage.logged(epoch, "pid")));
  const Instant asked = BootClock().now();
  stage.stop(epoch, 200ms);
  EXPECT_EQ(stage.end_of(epoch).end, "released");
  EXPECT_GE(BootClock().now() - asked, 200ms);
  EXPECT_TRUE(program.dies_within(0s));
}

TEST(Stop, DeadlineInThePastKillsAtOnce) {
  HostStage stage(HostStage::shell("trap '' TERM; echo pid $$; exec sleep 1000"));
  const std::uint64_t epoch = stage.start(JobKind::resident);
  ASSERT_FALSE(stage.logged(epoch, "pid").empty());
  stage.stop(epoch, -1s);
  EXPECT_EQ(stage.end_of(epoch).end, "released");
}

// A stop may come while the program is not yet executed; it must not get lost on the way.
TEST(Stop, ReachesAProgramThatIsJustStarting) {
  HostStage stage({"sleep", "1000"});
  const Instant begun = BootClock().now();
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t epoch = stage.start(JobKind::resident);
    stage.stop(epoch, 1h);
    EXPECT_EQ(stage.end_of(epoch).end, "released");
  }
  EXPECT_LT(BootClock().now() - begun, guard::kDeadline);
}

TEST(Stop, TaskThatStopsHalfWayIsReleased) {
  HostStage stage(HostStage::shell("echo pid $$ >&2; sleep 1000"));
  const std::uint64_t epoch = stage.start(JobKind::task);
  ASSERT_FALSE(stage.logged(epoch, "pid").empty());
  stage.stop(epoch);
  EXPECT_EQ(stage.end_of(epoch).end, "released");
}

// A process that leaves its parent, its group and its session, and forgets its environment, ends with the program.
TEST(Tree, ProcessesThatHideEndWithTheProgram) {
  HostStage stage(
      HostStage::shell("(setsid env -i sh -c 'echo hidden $$; exec sleep 1000' &); echo pid $$; read line"));
  const std::uint64_t epoch = stage.start(JobKind::resident);
  const guard::Watched hidden(std::stoi(stage.logged(epoch, "hidden")));
  const guard::Watched program(std::stoi(stage.logged(epoch, "pid")));
  EXPECT_FALSE(hidden.dies_within(0s));
  stage.stop(epoch);
  EXPECT_EQ(stage.end_of(epoch).end, "released");
  EXPECT_TRUE(program.dies_within(0s));
  EXPECT_TRUE(hidden.dies_within(0s));
}

TEST(Tree, WhatAProgramLeavesRunningEndsWithIt) {
  HostStage stage(HostStage::shell("setsid sh -c 'echo left $$ >&2; exec sleep 1000' & read -r line; exit 0"));
  const std::uint64_t epoch = stage.start(JobKind::resident);
  const guard::Watched left(std::stoi(stage.logged(epoch, "left")));
  stage.message(epoch, 1, "");
  EXPECT_EQ(stage.end_of(epoch).end, "finished");
  EXPECT_TRUE(left.dies_within(0s));
}

TEST(Tree, ProcessesThatKeepForkingAreCaughtUpWith) {
  HostStage stage(HostStage::shell("grow() { (setsid sh -c 'sleep 0.01' &); }; echo up now; while :; do grow; done"));
  const std::uint64_t epoch = stage.start(JobKind::resident);
  ASSERT_EQ(stage.logged(epoch, "up"), "now");
  stage.stop(epoch, 0s);
  EXPECT_EQ(stage.end_of(epoch).end, "released");
  EXPECT_EQ(guard::children(stage.guard().process()), 0U);
}

TEST(Lease, ProgramsEndWhenItPassesUnrenewed) {
  HostStage stage(HostStage::shell("trap '' TERM; echo pid $$; exec sleep 1000"));
  const std::uint64_t epoch = stage.start(JobKind::resident);
  const guard::Watched program(std::stoi(stage.logged(epoch, "pid")));
  const Instant until = BootClock().now() + 400ms;
  // The stage's lease is ten seconds: the guard acts a fortieth of it earlier.
  stage.host().lease_until(HostStage::kSession, until);
  const std::uint64_t late = stage.start(JobKind::resident);  // also what makes the guard look at the page
  EXPECT_EQ(stage.end_of(epoch).ends, 1);
  EXPECT_LT(BootClock().now(), until);
  EXPECT_TRUE(program.dies_within(0s));
  EXPECT_EQ(stage.end_of(late).ends, 1);
  // Nothing is started any more.
  EXPECT_EQ(stage.end_of(stage.start(JobKind::task)).end, "released");
}

TEST(Lease, FenceAsksAndKillEnds) {
  HostStage stage(HostStage::shell("trap 'echo asked nicely' TERM; echo pid $$; while :; do sleep 1000 & wait; done"));
  const std::uint64_t epoch = stage.start(JobKind::resident);
  const guard::Watched program(std::stoi(stage.logged(epoch, "pid")));
  stage.host().fence(HostStage::kSession);
  EXPECT_EQ(stage.logged(epoch, "asked"), "nicely");
  EXPECT_EQ(stage.end_of(stage.start(JobKind::task)).end, "released");  // handed over too late
  stage.host().kill(HostStage::kSession);
  EXPECT_TRUE(program.dies_within(0s));
  EXPECT_EQ(stage.end_of(epoch).end, "released");
}

// A resident that exits normally because its lease ends has not finished: the next holder continues it. The heart's
// fence reaches the program before it reaches the thread that learns of its end.
TEST(Lease, WhoIsEndedByAFenceHasNotFinished) {
  for (int i = 0; i < 10; ++i) {
    HostStage stage(HostStage::shell("trap 'exit 0' TERM; echo pid $$; while :; do sleep 1000 & wait; done"));
    const std::uint64_t epoch = stage.start(JobKind::resident);
    stage.logged(epoch, "pid");
    stage.host().fence(HostStage::kSession);
    EXPECT_EQ(stage.end_of(epoch).end, "released");
  }
}

TEST(Lease, WhoIsEndedByTheGuardHasNeitherFinishedNorFailed) {
  HostStage stage(HostStage::shell("trap 'exit 0' TERM; echo pid $$; while :; do sleep 1000 & wait; done"));
  const std::uint64_t epoch = stage.start(JobKind::resident);
  stage.logged(epoch, "pid");
  stage.host().lease_until(HostStage::kSession, BootClock().now() + 400ms);
  stage.end_of(stage.start(JobKind::resident));  // which makes the guard look at the page
  EXPECT_EQ(stage.end_of(epoch).end, "released");
}

// A stopped guard ignores its orders; the keepers act instead.
TEST(Lease, KillWorksAlsoWithoutTheGuard) {
  ProgramOptions options;
  options.lease = 1s;
  HostStage stage(HostStage::shell("trap '' TERM; echo pid $$; exec sleep 1000"), Protocol::plain, options);
  const std::uint64_t epoch = stage.start(JobKind::resident);
  const guard::Watched program(std::stoi(stage.logged(epoch, "pid")));
  ::kill(stage.guard().process(), SIGSTOP);
  stage.host().kill(HostStage::kSession);
  EXPECT_TRUE(program.dies_within(0s));
  EXPECT_EQ(stage.end_of(epoch).end, "released");
}

TEST(Bounds, FloodOfOutputIsCut) {
  HostStage stage(HostStage::shell("yes out | head -c 2500000; yes err | head -c 2500000 >&2; echo the end >&2"));
  const Heard end = stage.end_of(stage.start(JobKind::task));
  EXPECT_EQ(end.end, "finished");
  EXPECT_EQ(end.text.size(), kResultBytesMax);
}

TEST(Bounds, ErrorIsTheTailOfTheErrorOutput) {
  HostStage stage(HostStage::shell("yes err | head -c 2500000 >&2; echo the end >&2; exit 9"));
  const Heard end = stage.end_of(stage.start(JobKind::task));
  EXPECT_EQ(end.end, "failed");
  EXPECT_LE(end.text.size(), kErrorBytesMax);
  EXPECT_TRUE(end.text.ends_with("err\nthe end")) << end.text.substr(end.text.size() - 40);
}

TEST(Bounds, ProgramThatReadsNothing) {
  HostStage stage(HostStage::shell("exec 0<&-; echo closed it; sleep 1000"));
  const std::uint64_t epoch = stage.start(JobKind::resident);
  ASSERT_EQ(stage.logged(epoch, "closed"), "it");
  stage.message(epoch, 1, Bytes(50'000, 'x'));
  stage.message(epoch, 2, Bytes(50'000, 'x'));
  EXPECT_TRUE(stage.wait(epoch, [](const Heard& heard) { return heard.handled == 2; }));
}

TEST(Bounds, PayloadThatNobodyReads) {
  HostStage stage(HostStage::shell("exit 0"));
  EXPECT_EQ(stage.end_of(stage.start(JobKind::task, Bytes(kPayloadBytesMax, 'p'))).end, "finished");
}

TEST(Bounds, FurtherTasksWait) {
  ProgramOptions options;
  options.tasks_max = 1;
  HostStage stage(HostStage::shell("echo up now >&2; cat"), Protocol::json, options);
  const std::uint64_t first = stage.start(JobKind::task);
  ASSERT_EQ(stage.logged(first, "up"), "now");
  const std::uint64_t second = stage.start(JobKind::task);
  const std::uint64_t third = stage.start(JobKind::task);
  stage.stop(third);
  EXPECT_EQ(stage.end_of(third).end, "released");
  stage.stop(first);
  ASSERT_EQ(stage.logged(second, "up"), "now");
  const std::uint64_t fourth = stage.start(JobKind::task);
  stage.host().give_back_waiting(HostStage::kSession);
  EXPECT_EQ(stage.end_of(fourth).end, "released");
}

TEST(Bounds, TwoHundredAtOnceLeaveNothingBehind) {
  HostStage stage(HostStage::shell("exec sleep 1000"));
  const std::uint64_t warm = stage.start(JobKind::resident);
  ASSERT_TRUE(stage.started(warm));
  stage.stop(warm);
  stage.end_of(warm);
  const std::size_t descriptors = guard::open_descriptors();
  std::vector<std::uint64_t> epochs;
  for (int i = 0; i < 200; ++i) epochs.push_back(stage.start(JobKind::resident, "", "key" + std::to_string(i)));
  for (const std::uint64_t epoch : epochs) ASSERT_TRUE(stage.started(epoch));
  EXPECT_EQ(guard::children(stage.guard().process()), 200U);
  for (const std::uint64_t epoch : epochs) stage.stop(epoch);
  for (const std::uint64_t epoch : epochs) EXPECT_EQ(stage.end_of(epoch).end, "released");
  // A start comes back after everything before it was cleared away.
  const std::uint64_t last = stage.start(JobKind::task, "", "a");
  stage.stop(last);
  stage.end_of(last);
  const std::uint64_t very_last = stage.start(JobKind::resident);
  ASSERT_TRUE(stage.started(very_last));
  EXPECT_EQ(guard::children(stage.guard().process()), 1U);
  // Their folders are removed by and by.
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (stage.folders() > 1 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(stage.folders(), 1U);
  EXPECT_LE(guard::open_descriptors(), descriptors + 6);
}

TEST(Json, ResidentSpeaks) {
  HostStage stage(HostStage::shell(R"(
      read -r start; printf 'got %s\n' "$start" >&2; echo '{"type":"ready"}'
      read -r message; printf 'then %s\n' "$message" >&2
      trap '' TERM; echo '{"type":"checkpoint","data_base64":"AAH/"}'
      read -r stop; echo "last $stop" >&2)"),
                  Protocol::json);
  HeldJob job;
  job.hold.key = "k\xff";
  job.payload = "pay \"load\"";
  job.checkpoint = "before";
  const std::uint64_t epoch = stage.start(job);
  EXPECT_EQ(stage.logged(epoch, "got"),
            R"({"type":"start","key_base64":"a/8=","epoch":101,"payload":"pay \"load\"","checkpoint":"before"})");
  ASSERT_TRUE(stage.started(epoch));
  stage.message(epoch, 1, "two\nlines");
  EXPECT_EQ(stage.logged(epoch, "then"), R"({"type":"notify","message":"two\nlines"})");
  ASSERT_TRUE(stage.wait(epoch, [](const Heard& heard) { return heard.checkpoints.size() == 1; }));
  stage.stop(epoch, 10s);
  const std::string stop = stage.logged(epoch, "last");
  EXPECT_TRUE(stop.starts_with(R"({"type":"stop","deadline_ms":)")) << stop;
  const Heard end = stage.end_of(epoch);
  EXPECT_EQ(end.end, "released");
  EXPECT_EQ(end.checkpoints[0], Bytes("\x00\x01\xff", 3));
}

TEST(Json, TaskGivesAResult) {
  HostStage stage(HostStage::shell(R"(read start; echo 'stray words'; echo '{"type":"result","data":"fine"}')"),
                  Protocol::json);
  const Heard end = stage.end_of(stage.start(JobKind::task));
  EXPECT_EQ(end.end, "finished");
  EXPECT_EQ(end.text, "fine");
  EXPECT_EQ(end.log, std::vector<Bytes>{"stray words"});
}

// tests/e2e/emit_test.py has residents that emit into a pool.
TEST(Json, ATaskHearsThatOnlyResidentsEmit) {
  HostStage stage(HostStage::shell(R"(
      read start; echo '{"type":"emit","position":1,"source":"s","tasks":[{"key":"k"}]}'
      read -r answer; printf 'got %s\n' "$answer" >&2; echo '{"type":"result","data":"fine"}')"),
                  Protocol::json);
  const std::uint64_t epoch = stage.start(JobKind::task);
  const std::string answer = stage.logged(epoch, "got");
  EXPECT_TRUE(answer.starts_with(R"({"type":"emitted","source":"s","accepted":false,"error":{"code":"invalid")"))
      << answer;
  EXPECT_EQ(stage.end_of(epoch).text, "fine");
}

TEST(Json, AProgramThatReadsNoAnswersToItsEmitsFails) {
  HostStage stage(HostStage::shell(R"(yes '{"type":"emitted"}')"), Protocol::json);
  const Heard end = stage.end_of(stage.start(JobKind::task));
  EXPECT_EQ(end.end, "failed");
  EXPECT_NE(end.text.find("does not read"), Bytes::npos) << end.text;
}

TEST(Json, FailSaysWhetherToRetry) {
  HostStage stage(HostStage::shell(R"(echo '{"type":"fail","error":"no such tenant","retry":false}'; exit 1)"),
                  Protocol::json);
  const Heard end = stage.end_of(stage.start(JobKind::task));
  EXPECT_EQ(end.end, "failed");
  EXPECT_EQ(end.text, "no such tenant");
  EXPECT_EQ(end.next, Next::bury);
}

TEST(Json, ResidentThatIsNotReadyIsNotStarted) {
  HostStage stage(HostStage::shell("exit 4"), Protocol::json);
  const Heard end = stage.end_of(stage.start(JobKind::resident));
  EXPECT_EQ(end.end, "failed");
  EXPECT_FALSE(end.started);
}

TEST(Names, ZeroByteCannotBeGiven) {
  HostStage stage({"true"});
  const Heard end = stage.end_of(stage.start(JobKind::task, "", Bytes("a\0b", 3)));
  EXPECT_EQ(end.end, "failed");
  EXPECT_EQ(end.next, Next::bury);
}

}  // namespace
}  // namespace tenure::exec
