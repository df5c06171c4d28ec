// Hints: every error has one, unless its message says it all, and each fits the command that failed.

#include "cli/hints.h"

#include <gtest/gtest.h>

#include <set>

namespace tenure::cli {
namespace {

constexpr Errc kLast = Errc::worker_died;

// What these say about an input or a program is all that can be said.
bool says_it_all(Errc code) { return code == Errc::invalid; }
// Only checkout pools know these.
bool of_checkouts(Errc code) {
  return code == Errc::overloaded || code == Errc::pool_down || code == Errc::worker_died;
}

TEST(Hints, EveryErrorOfAPoolHasOne) {
  for (int code = 1; code <= static_cast<int>(kLast); ++code) {
    const auto errc = static_cast<Errc>(code);
    EXPECT_EQ(hint({errc, "anything", ""}).empty(), says_it_all(errc) || of_checkouts(errc)) << to_string(errc);
  }
}

TEST(Hints, EveryErrorOfAStreamHasOne) {
  for (int code = 1; code <= static_cast<int>(kLast); ++code) {
    const auto errc = static_cast<Errc>(code);
    EXPECT_EQ(stream_hint({errc, "anything", ""}).empty(), says_it_all(errc) || of_checkouts(errc)) << to_string(errc);
  }
}

// A row behind one that fits as well would never be used.
TEST(Hints, EveryRowCanBeReached) {
  for (const auto& [table, find] : {std::pair{pool_advice(), &hint}, std::pair{checkout_advice(), &checkout_hint},
                                    std::pair{stream_advice(), &stream_hint}}) {
    std::set<std::pair<Errc, std::string_view>> rows;
    for (const Advice& row : table) {
      EXPECT_TRUE(rows.emplace(row.code, row.operation).second) << row.hint;
      EXPECT_EQ(find({row.code, std::string(row.operation), ""}), row.hint);
      EXPECT_FALSE(row.hint.empty());
      EXPECT_FALSE(row.hint.ends_with('.')) << row.hint;
    }
  }
}

TEST(Hints, FitTheOperation) {
  const auto says = [](Errc code, const char* operation, const char* words) {
    EXPECT_NE(hint({code, operation, ""}).find(words), std::string::npos) << hint({code, operation, ""});
  };
  says(Errc::key_exists, "dispatch", "tenure explain KEY");
  says(Errc::key_exists, "add worker", "--id");
  says(Errc::no_such_key, "stop", "tenure jobs");
  says(Errc::no_such_key, "notify", "tenure jobs");
  says(Errc::no_such_key, "explain", "tenure jobs");
  says(Errc::no_such_key, "drain", "tenure workers");
  says(Errc::no_such_key, "retry dead job", "tenure dead list");
  says(Errc::no_such_key, "drop dead job", "tenure dead list");
  says(Errc::timed_out, "dispatch", "may still take effect");
  says(Errc::timed_out, "look", "nothing was changed");
  says(Errc::timed_out, "drain", "goes on handing over");
  says(Errc::timed_out, "restore", "still missing");
  says(Errc::lost_history, "restore", "backup");
  says(Errc::timed_out, "shut down", "goes on ending");
  says(Errc::no_such_pool, "sqlite open", "--pool");
  says(Errc::no_such_key, "remove source", "tenure source list");
  says(Errc::key_exists, "add source", "tenure source remove");
}

// A trim by what a pool has taken in can fail in the pool, too.
TEST(Hints, OfStreamsFitTheOperation) {
  const auto says = [](Errc code, const char* operation, const char* words) {
    const std::string said = stream_hint({code, operation, ""});
    EXPECT_NE(said.find(words), std::string::npos) << said;
  };
  says(Errc::no_such_key, "open stream", "tenure stream add");
  says(Errc::no_such_key, "trim stream", "tenure source list");
  says(Errc::pool_full, "add to stream", "tenure stream trim");
  says(Errc::no_such_pool, "sqlite open", "--pool");
  says(Errc::timed_out, "look", "nothing was changed");
}

// None of them sends the user of a checkout pool to the engine, the jobs or the keys, of which it has none.
TEST(Hints, OfCheckoutsKnowNoEngine) {
  for (const Advice& row : checkout_advice()) {
    for (const char* word : {"--engine", "tenure jobs", "tenure doctor", "KEY"}) {
      EXPECT_EQ(row.hint.find(word), std::string_view::npos) << row.hint;
    }
  }
  for (int code = 1; code <= static_cast<int>(kLast); ++code) {
    const auto errc = static_cast<Errc>(code);
    if (!of_checkouts(errc)) continue;
    EXPECT_NE(checkout_hint({errc, "checkout", ""}), "") << to_string(errc);
  }
}

}  // namespace
}  // namespace tenure::cli
