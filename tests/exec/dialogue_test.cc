// What programs send and how they end, without a process.

#include "exec/dialogue.h"

#include <gtest/gtest.h>

#include <csignal>

namespace tenure::exec {
namespace {

using What = Verdict::What;

constexpr int exited(int code) { return code << 8; }

HeldJob job(JobKind kind) {
  HeldJob held;
  held.hold = {"k", 4};
  held.kind = kind;
  held.payload = "P";
  return held;
}

TEST(Dialogue, Openings) {
  EXPECT_EQ(Dialogue(Protocol::plain, job(JobKind::task)).opening(), "");
  EXPECT_TRUE(Dialogue(Protocol::plain, job(JobKind::task)).input_is_payload());
  EXPECT_EQ(Dialogue(Protocol::plain, job(JobKind::resident)).opening(), "");
  EXPECT_FALSE(Dialogue(Protocol::plain, job(JobKind::resident)).input_is_payload());
  EXPECT_FALSE(Dialogue(Protocol::json, job(JobKind::task)).input_is_payload());
}

TEST(Dialogue, StopsAndMessages) {
  const Dialogue plain(Protocol::plain, job(JobKind::resident));
  EXPECT_EQ(plain.notify("m"), "m\n");
  EXPECT_EQ(plain.stop(std::chrono::seconds(1)), "");
  const Dialogue json(Protocol::json, job(JobKind::resident));
  EXPECT_EQ(json.stop(std::chrono::seconds(1)), "{\"type\":\"stop\",\"deadline_ms\":1000}\n");
  EXPECT_EQ(json.stop(-std::chrono::seconds(1)), "{\"type\":\"stop\",\"deadline_ms\":0}\n");
}

TEST(Dialogue, LinesMayComeInPieces) {
  Dialogue json(Protocol::json, job(JobKind::resident));
  EXPECT_TRUE(json.output("{\"type\":").empty());
  const auto said = json.output("\"ready\"}\n{\"type\":\"checkpoint\",\"data\":\"c\"}\nprint\n");
  ASSERT_EQ(said.size(), 3U);
  EXPECT_EQ(said[0].what, Said::What::ready);
  EXPECT_EQ(said[1].data, "c");
  EXPECT_EQ(said[2].what, Said::What::log);
}

TEST(Dialogue, LastLineNeedsNoEnd) {
  Dialogue json(Protocol::json, job(JobKind::task));
  json.output("{\"type\":\"result\",\"data\":\"r\"}");
  EXPECT_FALSE(json.settled());
  json.output_end();
  EXPECT_TRUE(json.settled());
  EXPECT_EQ(json.verdict(exited(0), Cause::itself).result, "r");
}

TEST(Dialogue, ResultNeedsAGoodEnd) {
  Dialogue json(Protocol::json, job(JobKind::task));
  json.output("{\"type\":\"result\",\"data\":\"r\"}\n");
  EXPECT_EQ(json.verdict(exited(0), Cause::itself).what, What::finished);
  EXPECT_EQ(json.verdict(exited(1), Cause::itself).what, What::failed);
  // It was ended by us, after it had said all.
  EXPECT_EQ(json.verdict(SIGTERM, Cause::farewell).what, What::finished);
}

TEST(Dialogue, BrokenLineFails) {
  Dialogue json(Protocol::json, job(JobKind::task));
  json.output("{\"type\":\"result\",\"data_base64\":\"?\"}\n");
  const Verdict verdict = json.verdict(exited(0), Cause::itself);
  EXPECT_EQ(verdict.what, What::failed);
  EXPECT_NE(verdict.error.find("not base64"), Bytes::npos);
}

TEST(Dialogue, LineOverTheBoundFails) {
  Dialogue json(Protocol::json, job(JobKind::task));
  const Bytes flood(1U << 20, 'x');
  for (int i = 0; i < 9; ++i) json.output(flood);
  json.output("\n");
  EXPECT_TRUE(json.settled());
  EXPECT_EQ(json.verdict(exited(0), Cause::itself).what, What::failed);
}

// Of whatever protocol, and on both streams.
TEST(Dialogue, LoggedLinesAreBounded) {
  const Bytes line = Bytes(1'000'000, 'x') + "\n";
  for (const Protocol protocol : {Protocol::plain, Protocol::json}) {
    Dialogue dialogue(protocol, job(JobKind::resident));
    for (const std::deque<Said>& said : {dialogue.output(line), dialogue.error_output(line)}) {
      ASSERT_EQ(said.size(), 1U);
      EXPECT_EQ(said[0].what, Said::What::log);
      EXPECT_EQ(said[0].data.size(), 8U << 10);
    }
  }
}

TEST(Dialogue, StoppedOnes) {
  const Dialogue resident(Protocol::plain, job(JobKind::resident));
  for (const int status : {exited(0), exited(3), SIGTERM, SIGKILL}) {
    EXPECT_EQ(resident.verdict(status, Cause::stop).what, What::released) << status;
  }
  const Dialogue task(Protocol::plain, job(JobKind::task));
  EXPECT_EQ(task.verdict(exited(0), Cause::stop).what, What::finished);
  EXPECT_EQ(task.verdict(SIGTERM, Cause::stop).what, What::released);
}

}  // namespace
}  // namespace tenure::exec
