#pragma once

// Reads a partition as a feeder does. Every wait has a deadline, which only a broken kind reaches.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "log_conformance/waiting.h"
#include "source/source.h"

namespace tenure::conformance {

inline source::Event event_of(Bytes payload, std::optional<Bytes> key = std::nullopt) {
  source::Event event;
  event.payload = std::move(payload);
  event.key = std::move(key);
  return event;
}

inline std::vector<source::Event> events_of(const std::string& prefix, int count) {
  std::vector<source::Event> events;
  for (int i = 0; i < count; ++i) events.push_back(event_of(prefix + std::to_string(i)));
  return events;
}

// Appends and returns the positions. Tries again while the kind is not ready.
inline std::vector<std::uint64_t> add(source::StreamWriter& writer, const std::vector<source::Event>& events) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  for (;;) {
    auto added = writer.add(events);
    if (added) return *added;
    if (added.error().code == Errc::unavailable && std::chrono::steady_clock::now() < deadline) continue;
    ADD_FAILURE() << added.error().message();
    return {};
  }
}

inline std::vector<std::string> payloads(const std::vector<source::Event>& events) {
  std::vector<std::string> found;
  for (const source::Event& event : events) found.push_back(event.payload);
  return found;
}

inline std::vector<std::uint64_t> positions(const std::vector<source::Event>& events) {
  std::vector<std::uint64_t> found;
  for (const source::Event& event : events) found.push_back(event.position);
  return found;
}

class Reading {
 public:
  explicit Reading(std::unique_ptr<source::Source> source, std::string partition = "0")
      : source_(std::move(source)), partition_(std::move(partition)) {}

  source::Source& source() { return *source_; }

  // The next run that says anything. Nothing after the deadline, or after an error that does not pass.
  std::optional<source::Run> next(std::chrono::nanoseconds patience = kDeadline) {
    const BootClock clock;
    const Instant deadline = clock.now() + patience;
    while (clock.now() < deadline) {
      Result<source::Run> run = source_->read(partition_, limits);
      if (!run && run.error().code != Errc::unavailable) {
        error = run.error();
        return std::nullopt;
      }
      if (run && says_anything(*run)) return note(*std::move(run));
      source_->wait(std::min(deadline, clock.now() + kLook));
    }
    return std::nullopt;
  }

  // Until it has so many events in all, or nothing comes any more.
  std::vector<source::Event> until(std::size_t count) {
    while (events.size() < count && next()) {
    }
    EXPECT_EQ(events.size(), count) << (error ? error->message() : "");
    return events;
  }

  // True if nothing new comes for a moment.
  bool is_quiet() { return !next(std::chrono::milliseconds(50)).has_value(); }

  source::ReadLimits limits;
  // Everything that was read so far.
  std::vector<source::Event> events;
  std::vector<source::Loss> losses;
  std::vector<source::Change> changes;
  std::uint64_t position = 0;
  std::optional<Error> error;

 private:
  static constexpr Nanos kLook = std::chrono::seconds(5);

  static bool says_anything(const source::Run& run) {
    return !run.events.empty() || run.lost || run.change != source::Change::none || run.position != 0;
  }

  source::Run note(source::Run run) {
    if (run.change != source::Change::none) {
      changes.push_back(run.change);
      position = run.resumed;
    }
    if (run.lost) {
      EXPECT_GT(run.lost->first, position) << "lost positions that were read before";
      EXPECT_LE(run.lost->first, run.lost->last);
      EXPECT_GT(run.lost->count, 0U);
      losses.push_back(*run.lost);
    }
    for (const source::Event& event : run.events) {
      EXPECT_GT(event.position, position) << "positions grow";
      position = event.position;
      events.push_back(event);
    }
    if (run.position != 0) {
      EXPECT_GE(run.position, position);
      position = run.position;
    }
    return run;
  }

  std::unique_ptr<source::Source> source_;
  const std::string partition_;
};

}  // namespace tenure::conformance
