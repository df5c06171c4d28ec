#include "source/kafka/surveyor.h"

#include <pthread.h>

#include <algorithm>

namespace tenure::source {
namespace {

constexpr std::chrono::milliseconds kAskAgain{200};

}  // namespace

Surveyor::Surveyor(const kafka::KafkaSettings& settings, std::string topic, kafka::Prober& prober,
                   std::function<Status()> prepare, std::function<void()> on_answer)
    : survey_(settings, std::move(topic), prober),
      prober_(prober),
      prepare_(std::move(prepare)),
      on_answer_(std::move(on_answer)) {}

Surveyor::~Surveyor() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  prober_.close();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Surveyor::ask(std::int32_t partition, std::uint64_t ticket, SurveyQuestion question, bool begins) {
  const std::lock_guard lock(mutex_);
  asked_[partition] = {.ticket = ticket, .question = std::move(question), .begins = begins, .not_before = {}};
  answered_.erase(partition);
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { serve(); });
    pthread_setname_np(thread_.native_handle(), "tenure-survey");
  }
  changed_.notify_all();
}

void Surveyor::forget(std::int32_t partition) {
  const std::lock_guard lock(mutex_);
  asked_.erase(partition);
  answered_.erase(partition);
}

std::vector<Surveyor::Answered> Surveyor::take() {
  std::vector<Answered> all;
  const std::lock_guard lock(mutex_);
  all.reserve(answered_.size());
  for (auto& [partition, answered] : answered_) all.push_back(std::move(answered));
  answered_.clear();
  return all;
}

void Surveyor::serve() {
  const BootClock clock;
  std::unique_lock lock(mutex_);
  while (!closing_) {
    const auto next = std::min_element(asked_.begin(), asked_.end(), [](const auto& one, const auto& other) {
      return one.second.not_before < other.second.not_before;
    });
    if (next == asked_.end()) {
      changed_.wait(lock);
      continue;
    }
    const Nanos left = next->second.not_before - clock.now();
    if (left > Nanos(0)) {
      changed_.wait_for(lock, left);
      continue;
    }
    const std::int32_t partition = next->first;
    const Asked asked = next->second;
    lock.unlock();
    Result<SurveyAnswer> answer = answer_to(partition, asked);
    lock.lock();
    if (!file(partition, asked, std::move(answer))) continue;
    lock.unlock();
    on_answer_();
    lock.lock();
  }
}

Result<SurveyAnswer> Surveyor::answer_to(std::int32_t partition, const Asked& asked) {
  Result<SurveyAnswer> answer = survey_.run(partition, asked.question);
  if (!answer || (!asked.begins && answer->change == Change::none)) return answer;
  if (Status prepared = prepare_(); !prepared) return Failure(prepared.error());
  return answer;
}

// The question may have been replaced meanwhile.
bool Surveyor::file(std::int32_t partition, const Asked& asked, Result<SurveyAnswer> answer) {
  const auto still = asked_.find(partition);
  if (still == asked_.end() || still->second.ticket != asked.ticket) return false;
  if (answer) {
    asked_.erase(still);
  } else {
    still->second.not_before = BootClock().now() + kAskAgain;
  }
  answered_.insert_or_assign(partition, Answered{partition, asked.ticket, std::move(answer)});
  return true;
}

}  // namespace tenure::source
