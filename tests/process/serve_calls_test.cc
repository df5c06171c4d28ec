// Worker programs with the library's loop: tests/process/serving_child.cc.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <tenure/checkout_process.hpp>

namespace tenure {
namespace {

std::unique_ptr<ProcessWorker> serving(bool says_ready = false) {
  setenv("TENURE_GUARD", TENURE_GUARD, 1);
  ProcessOptions options;
  options.command = {SERVING_CHILD};
  if (says_ready) options.command.emplace_back("--ready");
  options.says_ready = says_ready;
  options.start_timeout = std::chrono::seconds(20);
  return ProcessWorker::start(std::move(options)).value();
}

std::string reason(const Result<std::string>& answer) {
  EXPECT_EQ(answer.error().code, Errc::job_failed);
  return answer.error().context;
}

TEST(ServeCalls, AnswersErrorsAndParts) {
  const auto worker = serving(true);
  EXPECT_EQ(worker->call("hello").value(), "hello");
  EXPECT_EQ(worker->call("").value(), "");
  EXPECT_EQ(worker->call(std::string(1U << 20, 'x')).value().size(), 1U << 20);
  EXPECT_EQ(reason(worker->call("error")), "not today");
  EXPECT_EQ(reason(worker->call("throw")), "thrown");
  EXPECT_EQ(reason(worker->call("throw a number")), "it threw something that is not a std::exception");
  EXPECT_EQ(reason(worker->call("long")), "an answer of 1048577 bytes, which is too long");
  ASSERT_TRUE(worker->send("a request ", true));
  ASSERT_TRUE(worker->send("in parts"));
  EXPECT_EQ(worker->receive()->bytes, "a request in parts");
  EXPECT_TRUE(worker->fit());
}

// Enough in a row that both sides have come to look before they sleep, and have tried the other way again.
TEST(ServeCalls, ManyCallsInARow) {
  const auto worker = serving();
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(worker->call(std::to_string(i)).value(), std::to_string(i));
}

// More than the sockets hold, in both directions at once.
TEST(ServeCalls, ManyRequestsUnderWay) {
  const auto worker = serving();
  const std::string payload(1000, 'p');
  constexpr int kRequests = 3000;
  for (int i = 0; i < kRequests; ++i) ASSERT_TRUE(worker->send(std::to_string(i) + payload));
  for (int i = 0; i < kRequests; ++i) ASSERT_EQ(worker->receive()->bytes, std::to_string(i) + payload);
  EXPECT_EQ(worker->call("now").value(), "now");
}

// They are sent at once, so that the program has most likely received both before it answers the first.
TEST(ServeCalls, AnAnswerDoesNotWaitForTheNextRequest) {
  const auto worker = serving();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(worker->send(std::to_string(i)));
  ASSERT_TRUE(worker->send("hang"));
  for (int i = 0; i < 50; ++i) ASSERT_EQ(worker->receive()->bytes, std::to_string(i));
  worker->kill("it hangs");
}

// The program waits for a holder that sends and never receives, and does not take that for an error.
TEST(ServeCalls, WhoNeverReceivesIsHeldUp) {
  const auto worker = serving();
  const std::string payload(1U << 20, 'p');
  Status sent;
  int count = 0;
  for (; sent && count < 200; ++count) sent = worker->send(payload);
  ASSERT_FALSE(sent);
  ASSERT_EQ(sent.error().code, Errc::busy);
  for (int i = 0; i < count - 1; ++i) ASSERT_EQ(worker->receive()->bytes.size(), payload.size());
  EXPECT_EQ(worker->call("again").value(), "again");
}

TEST(ServeCalls, TheEndOfItsInputEndsTheProgram) {
  const auto worker = serving();
  ASSERT_TRUE(worker->send("last"));
  ASSERT_TRUE(worker->flush());
  shutdown(worker->descriptor(), SHUT_WR);
  EXPECT_EQ(worker->receive()->bytes, "last");
  ASSERT_TRUE(worker->send("more"));
  EXPECT_EQ(worker->receive().error().context, "the program ended with exit code 0");
}

TEST(ServeCalls, WhatIsNoRequestEndsTheProgram) {
  for (const std::string& bytes :
       {std::string("\x7f\xff\xff\xffM", 5), std::string(5, '\0'), std::string("\0\0\0\1?", 5)}) {
    const auto worker = serving();
    ASSERT_EQ(::send(worker->descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 5);
    ASSERT_TRUE(worker->send("hello"));
    EXPECT_EQ(worker->receive().error().context, "the program ended with exit code 1");
  }
}

TEST(ServeCalls, WithoutAPoolItSaysSo) {
  const int status = std::system(SERVING_CHILD " < /dev/null");
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

}  // namespace
}  // namespace tenure
