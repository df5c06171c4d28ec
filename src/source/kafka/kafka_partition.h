#pragma once

// One partition of a topic, as its reader sees it: what has been fetched of it, and whether that can be trusted.
//
//            open, or the offset is out of range
//                      │
//                   stopped ── answer of a survey ──▶ running ── another connection or leader ──▶ in doubt
//                      ▲                                 ▲                                           │
//                      └─ another partition than before ─┴──────────── still the same ◀── survey ────┘
//
// While it is in doubt, nothing is handed out: what was fetched may be of another topic with the name, or of another
// tail. From time to time a partition that runs is looked at without doubt. So a topic that was replaced between two
// fetches is noticed a second later at most.

#include <deque>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "source/kafka/partition_fetch.h"
#include "source/kafka/recent_marks.h"
#include "source/kafka/survey.h"
#include "source/source.h"

namespace tenure::source {

// Used from one thread.
class KafkaPartition {
 public:
  KafkaPartition(kafka::Client& client, const std::string& topic, std::int32_t partition, FetchBounds bounds,
                 const std::function<void()>& on_data)
      : client_(client), topic_(topic), fetch_(client, topic, partition, bounds, on_data) {}

  void open(std::uint64_t after, std::vector<Mark> marks);
  Result<Run> read(const ReadLimits& limits, Instant now);
  // Something is wrong with the topic, or the connection.
  void doubt();
  // Takes a look soon, without doubt.
  void look() { looks_ = true; }
  // Stops fetching if nobody reads.
  void rest(Instant now);

  struct Question {
    SurveyQuestion question;
    bool begins = false;  // the answer starts the fetch
  };
  // A question for the surveyor, if there is one. Each is taken once.
  std::optional<Question> take_question(Instant now);
  void hear(const Result<SurveyAnswer>& answer);

 private:
  enum class Trust { stopped, in_doubt, running };

  void stop();
  void begin(std::uint64_t after);
  void refetch();
  void fill(const ReadLimits& limits);
  void take(const rd_kafka_message_t& message);
  void take_record(const rd_kafka_message_t& message);
  bool enough(const ReadLimits& limits) const;
  Run next_run(const ReadLimits& limits);
  bool before_break(const Event& event) const { return broken_ && event.position <= break_at_; }
  void go_back(const SurveyAnswer& answer);
  void break_behind(std::uint64_t position, const SurveyAnswer& answer);

  kafka::Client& client_;
  const std::string topic_;
  PartitionFetch fetch_;
  Trust trust_ = Trust::stopped;
  bool asking_ = false;           // a question is with the surveyor
  bool asks_ = false;             // a question is to be taken, about doubted_
  bool looks_ = false;            // a question is to be taken, without doubt
  bool resting_ = false;          // stopped because nobody reads
  bool gone_ = false;             // the topic was: what librdkafka remembers of it must be replaced
  std::optional<Error> error_{};  // why it does not go on
  std::optional<Error> note_{};   // returned once
  std::uint64_t fetched_ = 0;     // the position of the last event that was fetched, or of the end
  bool at_end_ = false;
  std::int32_t broker_ = -1;  // where the last record came from
  std::uint64_t connections_ = 0;
  Instant read_at_{};
  Instant proved_at_{};

  RecentMarks marks_;
  std::uint64_t anchor_ = 0;      // the newest mark of the last survey that succeeded
  std::uint64_t asked_mark_ = 0;  // the newest mark of the question
  SurveyQuestion doubted_{};      // what was certain before the doubt

  std::deque<Event> ready_;
  std::size_t ready_bytes_ = 0;
  std::uint64_t told_ = 0;  // the position of the last run
  // Something to be reported behind the events up to break_at_.
  bool broken_ = false;
  std::uint64_t break_at_ = 0;
  std::optional<Loss> lost_{};
  Change change_ = Change::none;
  std::uint64_t resumed_ = 0;
  std::optional<Mark> resumed_anchor_;
};

}  // namespace tenure::source
