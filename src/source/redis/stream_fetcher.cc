#include "source/redis/stream_fetcher.h"

#include <algorithm>
#include <array>

#include "log/redis/command.h"
#include "log/redis/errors.h"
#include "source/redis/entry_position.h"
#include "source/redis/stream_scripts.h"

namespace tenure::source::redis {
namespace {

using tenure::redis::command;
using tenure::redis::Greeting;
using tenure::redis::RedisSettings;
using tenure::redis::Reply;
using tenure::redis::Value;
using tenure::redis::World;

constexpr std::string_view kOperation = "read stream";

// How long the server holds a read without entries. A reader that waits notices a deleted stream after this time.
constexpr Nanos kBlock = std::chrono::seconds(1);
constexpr Nanos kRetry = std::chrono::milliseconds(100);

// The target size of a run, as the log has it (log/redis/tail.cc). Entries of other programs may have many fields, and
// an answer has a bound on its values.
constexpr std::size_t kRunBytes = 1U << 20;
constexpr std::size_t kRunValues = 1U << 14;
constexpr std::size_t kEntriesFirst = 16;
constexpr std::size_t kEntriesMax = 1024;
constexpr std::size_t kGrowth = 4;

// Marks that a fetcher keeps of what it has read, for a failover that loses the stream's tail.
constexpr std::size_t kMarksMax = 8;

}  // namespace

StreamFetcher::StreamFetcher(const World& world, const RedisSettings& settings, Bytes key, Deliver deliver)
    : loop_(world.loop),
      settings_(settings),
      key_(std::move(key)),
      deliver_(std::move(deliver)),
      connection_(
          world, settings,
          [this] {
            return Greeting(settings_, {&StreamScripts::get().look, &StreamScripts::get().fetch},
                            command({"EXISTS", key_}));
          },
          [](const Error& /*error*/) {}),
      retry_(world.loop),
      count_(kEntriesFirst) {}

void StreamFetcher::begin(std::uint64_t after, std::vector<Mark> marks) {
  stop();
  course_.begin(after, !marks.empty());
  marks_ = std::move(marks);
  full_ = false;
  check_marks();
}

// The server may hold the present read for a while.
void StreamFetcher::stop() {
  ++question_;
  retry_.cancel();
  bad_entry_.reset();
  if (std::exchange(asking_, false)) connection_.drop({Errc::unavailable, "redis read stream", "stopped"});
}

void StreamFetcher::go_on() {
  if (!std::exchange(full_, false)) return;
  read();
}

void StreamFetcher::fetch(std::size_t count, const std::vector<Mark>& marks, void (StreamFetcher::*take)(Value),
                          void (StreamFetcher::*missing)()) {
  std::vector<std::string> words = {id_at(course_.position()), std::to_string(count)};
  for (const Mark& mark : marks) words.push_back(id_at(mark.position));
  const std::vector<std::string_view> arguments(words.begin(), words.end());
  const std::array<std::string_view, 1> keys = {key_};
  asking_ = true;
  connection_.send(kOperation, call(StreamScripts::get().fetch, keys, arguments),
                   [this, take, missing, question = ++question_](const Result<Reply>& reply) {
                     if (question != question_) return;
                     asking_ = false;
                     if (!reply) return fail_for_now(reply.error());
                     if (reply->value().is_nil()) return (this->*missing)();
                     (this->*take)(reply->value());
                   });
}

void StreamFetcher::check_marks() { fetch(0, marks_, &StreamFetcher::take_marks, &StreamFetcher::report_missing); }

void StreamFetcher::report_missing() {
  fail_for_now({Errc::no_such_key, "redis read stream", settings_.shown + ": there is no stream '" + key_ + "'"});
}

void StreamFetcher::take_marks(Value reply) {
  const StreamLook look = parse_look(reply[0]);
  std::vector<CheckedMark> checked;
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    const Mark& mark = marks_[i];
    const Value found = reply[2][i];
    // A missing entry was trimmed or deleted, unless the stream never had an entry there: then it is another stream.
    const bool may_be_gone = mark.position <= look.last && look.dropped() > 0 &&
                             (mark.position < look.ends().first || mark.position <= look.deleted);
    CheckedMark::Now now = may_be_gone ? CheckedMark::Now::gone : CheckedMark::Now::other;
    if (found.size() == 2) {
      const Result<Event> event = parse_event(found, settings_.shown);
      now = event && mark_of(*event) == mark ? CheckedMark::Now::same : CheckedMark::Now::other;
    }
    checked.push_back({mark, now});
  }
  const std::int64_t ahead = reply[3].integer();
  const Continuity judged = judge_marks(course_.position(), checked, look.ends());
  if (judged.change != Change::none) {
    std::erase_if(marks_, [&](const Mark& mark) { return mark.position > judged.resumed; });
    if (judged.change == Change::anew) marks_.clear();
  }
  Run run = course_.resume(look, judged, ahead < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(ahead)));
  if (run.change == Change::cut && !marks_.empty()) run.anchor = marks_.back();
  hand_over(std::move(run));
}

// The look waits behind the read.
void StreamFetcher::read() {
  const std::uint64_t question = ++question_;
  const std::string count = std::to_string(count_);
  const std::string block = std::to_string(to_ms(kBlock));
  const std::string from = id_at(course_.position());
  asking_ = true;
  read_.reset();
  connection_.send(
      kOperation, command({"XREAD", "COUNT", count, "BLOCK", block, "STREAMS", key_, from}),
      [this, question](const Result<Reply>& reply) {
        if (question != question_) return;
        if (!reply) return fail_for_now(reply.error());
        if (reply->value().is_nil()) {
          read_.emplace();
          return;
        }
        const Value entries = reply->value()[0][1];
        adapt(entries);
        Result<std::vector<Event>> events = parse(entries);
        if (!events) return fail_for_now(events.error());
        read_ = *std::move(events);
      },
      kBlock);
  const std::array<std::string_view, 1> keys = {key_};
  connection_.send(kOperation, call(StreamScripts::get().look, keys, {}), [this, question](const Result<Reply>& reply) {
    if (question != question_) return;
    asking_ = false;
    if (!reply) return fail_for_now(reply.error());
    if (reply->value().is_nil()) return check_marks();
    const StreamLook look = parse_look(reply->value());
    const std::uint64_t last = read_->empty() ? 0 : read_->back().position;
    switch (course_.judge(look, read_->size(), last)) {
      case StreamCourse::Step::take: return hand_over(course_.take(look, *std::move(read_)));
      case StreamCourse::Step::closer: return read_exactly();
      case StreamCourse::Step::resume: return look_again();
    }
  });
}

void StreamFetcher::look_again() {
  course_.doubt();
  check_marks();
}

void StreamFetcher::read_exactly() {
  bad_entry_.reset();
  fetch(count_, {}, &StreamFetcher::take_exactly, &StreamFetcher::check_marks);
}

void StreamFetcher::take_exactly(Value reply) {
  const StreamLook look = parse_look(reply[0]);
  if (course_.judge_exact(look) == StreamCourse::Step::resume) return look_again();
  adapt(reply[1]);
  Result<std::vector<Event>> events = parse(reply[1]);
  if (!events) return fail_for_now(events.error());
  hand_over(course_.take_exact(look, *std::move(events)));
}

void StreamFetcher::hand_over(Run run) {
  remember(run.events);
  const std::uint64_t question = question_;
  const bool more = deliver_(std::move(run));
  if (question != question_) return;
  if (bad_entry_) return fail_for_now(*std::exchange(bad_entry_, std::nullopt));
  full_ = !more;
  if (more) read();
}

// Enough to find the place where a replaced tail begins: the last event of each of the last runs.
void StreamFetcher::remember(const std::vector<Event>& events) {
  if (events.empty()) return;
  marks_.push_back(mark_of(events.back()));
  if (marks_.size() > kMarksMax) marks_.erase(marks_.begin());
}

// Events in front of a bad entry are delivered first.
Result<std::vector<Event>> StreamFetcher::parse(Value entries) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Result<Event> event = parse_event(entries[i], settings_.shown);
    if (!event) {
      if (events.empty()) return Failure(event.error());
      bad_entry_ = event.error();
      break;
    }
    events.push_back(*std::move(event));
  }
  return events;
}

void StreamFetcher::adapt(Value entries) {
  std::size_t bytes_max = 256;
  std::size_t values_max = 4;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Value fields = entries[i][1];
    std::size_t bytes = 0;
    for (std::size_t j = 0; j < fields.size(); ++j) bytes += fields[j].text().size();
    bytes_max = std::max(bytes_max, bytes);
    values_max = std::max(values_max, fields.size() + 3);
  }
  const std::size_t fits = std::min(kRunBytes / bytes_max, kRunValues / values_max);
  count_ = std::clamp<std::size_t>(std::min(fits, count_ * kGrowth), 1, kEntriesMax);
}

// A later try asks for less: an answer may have been too large.
void StreamFetcher::fail_for_now(const Error& error) {
  ++question_;
  asking_ = false;
  count_ = std::max<std::size_t>(1, count_ / kGrowth);
  Error said = error;
  if (said.code == Errc::unknown) said.code = Errc::unavailable;  // a read has no effect that could be in doubt
  deliver_(Failure(std::move(said)));
  retry_.arm(loop_.now() + kRetry, [this] { check_marks(); });
}

}  // namespace tenure::source::redis
