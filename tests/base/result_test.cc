// A result: its value, its error, and what happens to a program that asks for the one that is not there.

#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tenure {
namespace {

Result<std::string> name_of(int number) {
  if (number < 0) return fail(Errc::invalid, "name", "below zero");
  return std::to_string(number);
}

TEST(Result, HasAValueOrAnError) {
  const Result<std::string> named = name_of(7);
  ASSERT_TRUE(named);
  EXPECT_EQ(*named, "7");
  EXPECT_EQ(named.value(), "7");
  const Result<std::string> unnamed = name_of(-1);
  ASSERT_FALSE(unnamed);
  EXPECT_EQ(unnamed.error().code, Errc::invalid);
  EXPECT_EQ(unnamed.error().message(), "name: invalid (below zero)");
  EXPECT_EQ(unnamed.value_or("none"), "none");
}

TEST(Result, AValueThatIsNotThereThrowsTheError) {
  try {
    (void)name_of(-1).value();
    FAIL() << "nothing was thrown";
  } catch (const BadResult& bad) {
    EXPECT_EQ(bad.error().code, Errc::invalid);
  }
  EXPECT_THROW(Status(fail(Errc::busy, "wait")).value(), BadResult);
  EXPECT_NO_THROW(Status().value());
}

// Reading on would be undefined. The process ends, and says why, with optimisation and without.
TEST(ResultDeathTest, AnErrorThatIsNotThereEndsTheProcessWithAMessage) {
  constexpr const char* kMessage = "Result::error\\(\\) was called on a Result that holds a value; check it first";
  EXPECT_DEATH((void)name_of(7).error(), kMessage);
  EXPECT_DEATH((void)Status().error(), kMessage);
  const Result<std::unique_ptr<int>> held = std::make_unique<int>(1);
  EXPECT_DEATH((void)held.error(), kMessage);
}

}  // namespace
}  // namespace tenure
