#pragma once

// The thread that looks at partitions (survey.h), since reading must not wait for it. It goes on asking until the
// broker answers.

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "source/kafka/survey.h"

namespace tenure::source {

// Thread-safe.
class Surveyor {
 public:
  struct Answered {
    std::int32_t partition = 0;
    std::uint64_t ticket = 0;
    Result<SurveyAnswer> answer;  // a failure: it is asked again
  };

  // `prepare` runs before an answer that begins something, and may block. `on_answer` wakes the reader.
  Surveyor(const kafka::KafkaSettings& settings, std::string topic, kafka::Prober& prober,
           std::function<Status()> prepare, std::function<void()> on_answer);
  ~Surveyor();
  Surveyor(const Surveyor&) = delete;
  Surveyor& operator=(const Surveyor&) = delete;

  // Replaces the partition's last question.
  void ask(std::int32_t partition, std::uint64_t ticket, SurveyQuestion question, bool begins);
  void forget(std::int32_t partition);
  std::vector<Answered> take();

 private:
  struct Asked {
    std::uint64_t ticket = 0;
    SurveyQuestion question;
    bool begins = false;
    Instant not_before{};
  };
  void serve();
  Result<SurveyAnswer> answer_to(std::int32_t partition, const Asked& asked);
  bool file(std::int32_t partition, const Asked& asked, Result<SurveyAnswer> answer);

  Survey survey_;
  kafka::Prober& prober_;
  const std::function<Status()> prepare_;
  const std::function<void()> on_answer_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // All below is guarded by mutex_.
  std::map<std::int32_t, Asked> asked_;  // at most one for each partition
  std::map<std::int32_t, Answered> answered_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace tenure::source
