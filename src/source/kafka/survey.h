#pragma once

// Finds out whether a partition is still the one that was read, and where reading goes on.
//
// A topic may be deleted and made again under its name, and a partition may lose its tail in an unclean election and
// grow a new one. librdkafka 2.0.2 does not report either. So the survey reads the records at marks again. If the
// newest mark holds, so do all others. Otherwise the last one that holds is found by bisection: a cut lies behind it.
// Where events were dropped from the front (retention), what is missing is reported as lost.

#include <optional>
#include <vector>

#include "log/kafka/prober.h"
#include "source/source.h"

namespace tenure::source {

struct SurveyQuestion {
  std::uint64_t after = 0;
  std::vector<Mark> marks{};  // in ascending order
  // The position of a mark that was proven before, or zero. A topic that was replaced in silence may have grown beyond
  // the newest marks, which are then its own.
  std::uint64_t anchor = 0;
};

struct SurveyAnswer {
  std::uint64_t start = 0;  // the position behind which reading goes on
  std::optional<Loss> lost{};
  Change change = Change::none;
};

// Used from one thread. Every call blocks.
class Survey {
 public:
  Survey(const kafka::KafkaSettings& settings, std::string topic, kafka::Prober& prober)
      : settings_(settings), topic_(std::move(topic)), prober_(prober) {}

  // Errc::no_such_key if the topic does not exist.
  Result<SurveyAnswer> run(std::int32_t partition, const SurveyQuestion& question);

 private:
  enum class Now { same, other, unknown };
  Result<Now> look_at(std::int32_t partition, const Mark& mark, const kafka::Range& range);
  Result<bool> compacted();
  Result<SurveyAnswer> judge(std::int32_t partition, const SurveyQuestion& question, const kafka::Range& range);
  Result<std::uint64_t> last_that_holds(std::int32_t partition, std::vector<Mark> marks, const kafka::Range& range);

  const kafka::KafkaSettings& settings_;
  const std::string topic_;
  kafka::Prober& prober_;
};

}  // namespace tenure::source
