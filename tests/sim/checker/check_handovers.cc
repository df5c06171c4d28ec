// Promises m and n: what a holder gets from clients and from the previous holder.

#include <algorithm>

#include "sim/checker/log_replay.h"

namespace tenure::sim {

namespace {

struct Place {
  const ReplayedJob* job;
  std::uint64_t ticket;  // the job's
  std::size_t number;    // from 1, in the order of acceptance
};

struct Course {
  std::size_t last = 0;  // the last message of the present tenure
  std::uint64_t epoch = 0;
  std::size_t furthest = 0;  // over all tenures
};

// True if the messages with these numbers may have counted as handled: a holder that does not know of lost entries
// still reports the messages that it knew, and numbers are repeated.
bool excused(const ReplayedJob& job, std::size_t from, std::size_t until, const PastHolds& holds, Time lease) {
  for (std::size_t number = from; number < until; ++number) {
    if (!holds.lost_within(job.messages[number - 1].accepted_at, lease)) return false;
  }
  return true;
}

// One tenure gets messages one after another; the next tenure may be given some again, but skips none.
void follow(Course& course, const Delivered& delivered, const Place& place, Time at, const PastHolds& holds, Time lease,
            Verdict& verdict) {
  const std::size_t number = place.number;
  const std::size_t next = (course.epoch == delivered.epoch ? course.last : course.furthest) + 1;
  const bool wrong = course.epoch == delivered.epoch ? number != next : number > next;
  if (wrong && !(number > next && excused(*place.job, next, number, holds, lease))) {
    verdict.broken('m', at,
                   "message " + std::to_string(number) + " to " + delivered.key + " epoch " +
                       std::to_string(delivered.epoch) + " (process " + std::to_string(delivered.process) +
                       ") came where number " + std::to_string(next) + " was due");
  }
  course.epoch = delivered.epoch;
  course.last = number;
  course.furthest = std::max(course.furthest, number);
}

}  // namespace

void check_messages(const History& history, const PastHolds& holds, const Expectations& expected, Verdict& verdict) {
  const AskedBy asked = asked_by_ticket(history);
  Verdict ignored;
  const Expectations unlimited{.queue_bound = UINT32_MAX, .delayed_bound = UINT32_MAX};
  const auto lines = log_lines(history);
  LogReplay replay(asked, unlimited, ignored, lines.back().remembered);
  for (const Event* event : lines.back().events) replay.apply(*event);

  std::map<std::uint64_t, Place> places;
  for (const auto& [ticket, job] : replay.jobs) {
    for (std::size_t i = 0; i < job.messages.size(); ++i) places[job.messages[i].ticket] = {&job, ticket, i + 1};
  }
  std::map<std::uint64_t, Course> courses;
  Time closed = kForever;
  for (const Event& event : history) {
    if (std::holds_alternative<Closed>(event.what)) closed = event.at;
    const auto* delivered = std::get_if<Delivered>(&event.what);
    if (delivered == nullptr) continue;
    // What the log lost after it was delivered has no number to be judged by.
    const auto place = places.find(delivered->ticket);
    if (place == places.end()) continue;
    // A sender that heard nothing repeats a message after its log was lost. It may go to another job of the key, and
    // what the lost log delivered does not count there.
    const ReplayedJob& job = *place->second.job;
    if (!job.restored && event.at < job.messages[place->second.number - 1].accepted_at) continue;
    follow(courses[place->second.ticket], *delivered, place->second, event.at, holds, expected.lease, verdict);
  }
  if (closed == kForever) return;
  for (const auto& [ticket, job] : replay.jobs) {
    const std::size_t next = courses[ticket].furthest + 1;
    if (!job.live || job.messages.size() < next) continue;
    if (excused(job, next, job.messages.size() + 1, holds, expected.lease)) continue;
    verdict.broken('m', closed,
                   "messages to " + job.asked->key + " from number " + std::to_string(next) + " on were never given");
  }
}

void check_handovers(const History& history, const PastHolds& holds, Verdict& verdict) {
  const AskedBy asked = asked_by_ticket(history);
  Verdict ignored;
  const Expectations unlimited{.queue_bound = UINT32_MAX, .delayed_bound = UINT32_MAX};
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> given;
  for (const LogLine& line : log_lines(history)) {
    LogReplay replay(asked, unlimited, ignored, line.remembered);
    for (const Event* event : line.events) replay.apply(*event);
    given.insert(replay.given.begin(), replay.given.end());
  }
  for (const PastHold& hold : holds.all) {
    const auto found = given.find({hold.key, hold.epoch});
    if (found == given.end() || found->second == hold.given) continue;
    verdict.broken('n', hold.began,
                   "started with " + std::to_string(hold.given) + " where " + std::to_string(found->second) +
                       " was the last checkpoint: " + hold.name());
  }
}

}  // namespace tenure::sim
