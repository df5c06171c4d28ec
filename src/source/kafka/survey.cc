#include "source/kafka/survey.h"

#include <algorithm>

#include "log/kafka/admin.h"
#include "source/kafka/record_event.h"

namespace tenure::source {
namespace {

SurveyAnswer go_on(std::uint64_t after, const kafka::Range& range) {
  const auto first = static_cast<std::uint64_t>(range.first);
  SurveyAnswer answer{.start = std::max(after, first)};
  if (after < first) answer.lost = Loss{.first = after + 1, .last = first, .count = first - after};
  return answer;
}

SurveyAnswer begin_anew(const kafka::Range& range) {
  SurveyAnswer answer = go_on(0, range);
  answer.change = Change::anew;
  return answer;
}

}  // namespace

// Asked first, since librdkafka explains a missing topic, or a missing right, only in an answer about the whole topic.
Result<SurveyAnswer> Survey::run(std::int32_t partition, const SurveyQuestion& question) {
  const auto count = prober_.listed_partitions(topic_);
  if (!count) return Failure(count.error());
  if (partition >= *count) {
    const std::string what = *count == 0 ? "the topic " + topic_ + " does not exist: check its name, or create it"
                                         : topic_ + " has only " + std::to_string(*count) + " partitions";
    return fail(Errc::no_such_key, "kafka read", settings_.shown + ": " + what);
  }
  const auto range = prober_.range(topic_, partition);
  return range ? judge(partition, question, *range) : Failure(range.error());
}

// Compaction removes the records of events that were read. Nothing else does, above the partition's first offset.
Result<Survey::Now> Survey::look_at(std::int32_t partition, const Mark& mark, const kafka::Range& range) {
  const std::int64_t offset = offset_of_position(mark.position);
  if (offset >= range.end) return Now::other;
  Now now = Now::unknown;
  const Status read =
      prober_.scan_messages(topic_, partition, offset, offset + 1, [&](const rd_kafka_message_t& message) {
        now = mark_of(event_of(message)) == mark ? Now::same : Now::other;
        return false;
      });
  if (!read) return Failure(read.error());
  if (now != Now::unknown) return now;
  const auto may_vanish = compacted();
  if (!may_vanish) return Failure(may_vanish.error());
  return *may_vanish ? Now::unknown : Now::other;
}

// A topic whose settings are not shown may be compacted.
Result<bool> Survey::compacted() {
  const auto settings = kafka::Admin(settings_, prober_.client()).settings_of(topic_);
  if (!settings) return Failure(settings.error());
  if (!*settings) return true;
  const auto policy = (*settings)->find("cleanup.policy");
  return policy == (*settings)->end() || policy->second.find("compact") != std::string::npos;
}

Result<SurveyAnswer> Survey::judge(std::int32_t partition, const SurveyQuestion& question, const kafka::Range& range) {
  std::vector<Mark> marks;
  for (const Mark& mark : question.marks) {
    const bool kept = offset_of_position(mark.position) >= range.first;
    if (kept && mark.hash != 0 && mark.position <= question.after) marks.push_back(mark);
  }
  const bool beyond = question.after > static_cast<std::uint64_t>(range.end);
  // Those that prove nothing are left out.
  std::optional<Now> newest;
  while (!marks.empty()) {
    const auto now = look_at(partition, marks.back(), range);
    if (!now) return Failure(now.error());
    if (*now != Now::unknown) {
      newest = *now;
      break;
    }
    marks.pop_back();
  }
  if (newest == Now::same) {
    // All marks up to the anchor were proven together. Where nothing was proven yet, the oldest one is asked.
    const auto behind =
        std::find_if(marks.begin() + 1, marks.end(), [&](const Mark& mark) { return mark.position > question.anchor; });
    const auto now = behind == marks.end() ? Result<Now>(Now::same) : look_at(partition, *(behind - 1), range);
    if (!now) return Failure(now.error());
    if (*now == Now::other) {
      newest = Now::other;
      marks.erase(behind, marks.end());
    }
  }
  if (!newest) return beyond ? begin_anew(range) : go_on(question.after, range);
  if (newest == Now::same && !beyond) return go_on(question.after, range);
  if (newest == Now::same) return SurveyAnswer{.start = marks.back().position, .lost = {}, .change = Change::cut};
  marks.pop_back();
  const auto holds = last_that_holds(partition, std::move(marks), range);
  if (!holds) return Failure(holds.error());
  if (*holds == 0) return begin_anew(range);
  return SurveyAnswer{.start = *holds, .lost = {}, .change = Change::cut};
}

// Zero if none does.
Result<std::uint64_t> Survey::last_that_holds(std::int32_t partition, std::vector<Mark> marks,
                                              const kafka::Range& range) {
  std::size_t hold = 0;  // so many of the first ones are known to hold
  while (hold < marks.size()) {
    const std::size_t middle = hold + (marks.size() - hold) / 2;
    const auto now = look_at(partition, marks[middle], range);
    if (!now) return Failure(now.error());
    if (*now == Now::same) {
      hold = middle + 1;
    } else if (*now == Now::other) {
      marks.resize(middle);
    } else {
      marks.erase(marks.begin() + static_cast<std::ptrdiff_t>(middle));
    }
  }
  return hold == 0 ? 0 : marks[hold - 1].position;
}

}  // namespace tenure::source
