// The checker notices every way in which a source's tasks may be lost, doubled, or emitted by the wrong one.

#include <gtest/gtest.h>

#include "sim/checker/sequence.h"
#include "sim/checker/story.h"

namespace tenure::sim {
namespace {

constexpr const char* kSource = "src";
constexpr std::uint64_t kEpoch = 5;
constexpr Expectations kUnsettled{.all_settled = false};

// The first event that has a task for part 0.
std::uint64_t first_event() {
  for (std::uint64_t event = 1;; ++event) {
    for (const SequenceTask& task : tasks_of_event(kSource, event)) {
      if (task.part == 0) return event;
    }
  }
}

class Sourced {
 public:
  Sourced() {
    story_.resident(kSource, 1, kEpoch);
    position_ = 100;
  }

  // Part 0 up to an event, as it was said; `leave_out` so many tasks, `twice` the last one.
  Sourced& emit(std::uint64_t before, std::uint64_t to, std::uint64_t epoch = kEpoch, std::size_t leave_out = 0,
                bool twice = false, std::uint64_t lost_more = 0) {
    std::vector<SequenceTask> tasks;
    for (std::uint64_t event = before + 1; event <= to; ++event) {
      for (const SequenceTask& task : tasks_of_event(kSource, event)) {
        if (task.part == 0) tasks.push_back(task);
      }
    }
    tasks.resize(tasks.size() - std::min(leave_out, tasks.size()));
    if (twice) tasks.push_back(tasks.back());
    for (const SequenceTask& task : tasks) {
      story_.add(Asked{.process = 1,
                       .ticket = ++ticket_,
                       .ask = Ask::task,
                       .key = task.key,
                       .source = kSource,
                       .event = task.event,
                       .index = task.index});
      story_.add(LogSettled{++position_, ticket_, Step::accepted, Errc{}});
    }
    std::uint64_t lost = lost_more;
    for (std::uint64_t event = before + 1; event <= to && part_of_losses(kSource) == 0; ++event) {
      lost += is_lost_event(kSource, event) ? 1 : 0;
    }
    story_.add(LogEmitted{++position_, name_of_part(kSource, 0), kSource, epoch, before, to, lost});
    return *this;
  }
  Sourced& take_over(std::uint64_t epoch) {
    story_.add(LogEnded{++position_, kSource, kEpoch});
    story_.add(LogGranted{++position_, kSource, epoch, 1, false});
    return *this;
  }
  // "E" or nothing; other promises are not at stake.
  std::string verdict() const { return story_.verdict(kUnsettled).find('E') == std::string::npos ? "" : "E"; }

 private:
  Story story_;
  std::uint64_t position_ = 0;
  std::uint64_t ticket_ = 1000;
};

TEST(Checker, E_EveryTaskOnceAndInOrder) {
  const std::uint64_t first = first_event();
  EXPECT_EQ(Sourced().emit(0, first).emit(first, 2 * first + 3).verdict(), "");
  EXPECT_EQ(Sourced().emit(0, first, kEpoch, 1).verdict(), "E") << "one is missing";
  EXPECT_EQ(Sourced().emit(0, first, kEpoch, 0, true).verdict(), "E") << "one came twice";
  EXPECT_EQ(Sourced().emit(0, first).emit(0, first).verdict(), "E") << "all of it came twice";
  EXPECT_EQ(Sourced().emit(0, first).emit(first + 2, first + 4).verdict(), "E") << "events are left out";
}

TEST(Checker, E_LostEventsCountOnce) {
  EXPECT_EQ(Sourced().emit(0, 50).emit(50, 90).verdict(), "");
  EXPECT_EQ(Sourced().emit(0, 50).emit(50, 90, kEpoch, 0, false, 1).verdict(), "E");
}

TEST(Checker, E_OnlyByThePresentTenure) {
  const std::uint64_t first = first_event();
  EXPECT_EQ(Sourced().emit(0, first).take_over(9).emit(first, first + 1, 9).verdict(), "");
  EXPECT_EQ(Sourced().emit(0, first).take_over(9).emit(first, first + 1).verdict(), "E");
  EXPECT_EQ(Sourced().take_over(9).emit(0, first, 9).emit(first, first + 1).verdict(), "E");
}

}  // namespace
}  // namespace tenure::sim
