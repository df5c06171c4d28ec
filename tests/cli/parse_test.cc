// Parsing of command lines, and the errors for wrong ones.

#include "cli/parse.h"

#include <gtest/gtest.h>

#include "cli/command.h"

namespace tenure::cli {
namespace {

std::string refusal(const std::vector<std::string>& arguments) {
  const Result<Call> call = parse(arguments);
  return call ? "" : call.error().context;
}

TEST(Parse, FlagsStandBeforeOrAfterTheWords) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"--pool", "p", "dispatch", "k", "v", "--task"},
           {"dispatch", "--task", "k", "--pool=p", "v"},
           {"--task", "dispatch", "k", "v", "--pool", "p"},
       }) {
    const Result<Call> call = parse(arguments);
    ASSERT_TRUE(call) << call.error().message();
    EXPECT_EQ(call->command->name, "dispatch");
    EXPECT_EQ(call->words, (std::vector<std::string>{"k", "v"}));
    EXPECT_EQ(call->value("pool"), "p");
    EXPECT_TRUE(call->has("task"));
  }
}

TEST(Parse, TheRestOfTheLineIsTheProgramsOwn) {
  const Result<Call> call = parse({"work", "--workers", "2", "--exec", "python3", "-u", "--json", "x.py"});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->rest, (std::vector<std::string>{"python3", "-u", "--json", "x.py"}));
  EXPECT_FALSE(call->json());
}

TEST(Parse, AFlagMayTakeSeveralWords) {
  const Result<Call> call = parse({"work", "--serves", "a", "b", "--lease", "1s", "--exec", "true"});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->values("serves"), (std::vector<std::string>{"a", "b"}));
}

TEST(Parse, WordsAfterTwoDashesMayBeginWithOne) {
  const Result<Call> call = parse({"dispatch", "--", "k", "--not-a-flag"});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->words, (std::vector<std::string>{"k", "--not-a-flag"}));
}

TEST(Parse, ACommandOfTwoWords) {
  const Result<Call> call = parse({"dead", "--pool", "p", "retry", "7"});
  ASSERT_TRUE(call) << call.error().message();
  EXPECT_EQ(call->command->name, "dead retry");
  EXPECT_EQ(call->words, std::vector<std::string>{"7"});
}

TEST(Parse, WhatIsWrongIsSaid) {
  EXPECT_EQ(refusal({"dispach", "k"}), "unknown command dispach; did you mean tenure dispatch?");
  EXPECT_EQ(refusal({"jobs", "--limt", "3"}), "unknown flag --limt; did you mean --limit?");
  EXPECT_EQ(refusal({"stop"}), "tenure stop needs KEY");
  EXPECT_EQ(refusal({"stop", "a", "b"}), "'b' is one argument too many; put text with spaces in quotes");
  EXPECT_EQ(refusal({"jobs", "--limit"}), "--limit needs a value: N");
  EXPECT_EQ(refusal({"jobs", "--json=yes"}), "--json takes no value");
  EXPECT_EQ(refusal({"dispatch", "k", "--wait", "for-ever"}), "--wait must be one of accepted|started|done");
  EXPECT_EQ(refusal({"work", "--exec"}), "--exec needs a command to run");
  EXPECT_EQ(refusal({"dead"}), "tenure dead needs a subcommand; see tenure help dead");
  EXPECT_EQ(refusal({"dispatch", "-x"}), "unknown flag -x; words that begin with '-' go after --");
}

TEST(Parse, DurationsAndNumbers) {
  EXPECT_EQ(*read_duration("250ms"), std::chrono::milliseconds(250));
  EXPECT_EQ(*read_duration("1.5s"), std::chrono::milliseconds(1500));
  EXPECT_EQ(*read_duration("10"), std::chrono::seconds(10));
  EXPECT_EQ(*read_duration("2m"), std::chrono::minutes(2));
  for (const char* bad : {"", "s", "-1s", "1d", "nan", "1e400", "99999h", "1 s"})
    EXPECT_FALSE(read_duration(bad)) << bad;
  EXPECT_EQ(*read_number("7", 10), 7U);
  for (const char* bad : {"", "-1", "x", "7x", "11", "99999999999999999999"}) EXPECT_FALSE(read_number(bad, 10)) << bad;
}

// The texts and the parser read one table; this keeps the table sound.
TEST(Commands, TheTableIsSound) {
  for (const Command& command : commands()) {
    EXPECT_FALSE(command.summary.empty()) << command.name;
    EXPECT_LE(command.words_min, command.words_max) << command.name;
    EXPECT_TRUE(command.run != nullptr) << command.name;
    for (const Flag& flag : command.flags) {
      EXPECT_FALSE(flag.help.empty()) << command.name << " --" << flag.name;
      for (const Flag& common : common_flags()) EXPECT_NE(flag.name, common.name) << command.name;
    }
  }
}

}  // namespace
}  // namespace tenure::cli
