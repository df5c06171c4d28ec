#include "exec/host_stage.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/assert.h"
#include "guard/process.h"

namespace tenure::exec {

namespace {

template <class Made>
std::unique_ptr<Host> attached(Result<std::unique_ptr<Made>> made, HoldReports& reports) {
  if (!made) throw std::runtime_error(made.error().message());
  (*made)->attach(reports);
  return *std::move(made);
}

}  // namespace

HostStage::HostStage(std::vector<std::string> command, Protocol protocol, ProgramOptions options)
    : HostStage(std::move(command), protocol, std::move(options), 0, {}) {}

std::unique_ptr<HostStage> HostStage::warm(std::vector<std::string> command, std::size_t programs,
                                           const guard::WearLimits& limits) {
  return std::unique_ptr<HostStage>(new HostStage(std::move(command), Protocol::json, {}, programs, limits));
}

HostStage::HostStage(std::vector<std::string> command, Protocol protocol, ProgramOptions options, std::size_t warm,
                     const guard::WearLimits& limits) {
  auto guard = guard::Guard::start({.command = {TENURE_GUARD}, .last_net = true});
  if (!guard) throw std::runtime_error(guard.error().message());
  guard_ = std::move(*guard);
  options.command = std::move(command);
  options.protocol = protocol;
  options.work_parent = folder_.path();
  options.log = [this](const Hold& of, BytesView line) {
    hear(of, [&](Heard& heard) {
      if (heard.log.size() < 1000) heard.log.emplace_back(line);
    });
  };
  options.guard_lost = [this] {
    const std::lock_guard lock(mutex_);
    guard_lost_ = true;
    changed_.notify_all();
  };
  host_ = warm > 0 ? attached(WarmHost::create(*guard_, std::move(options), warm, limits), *this)
                   : attached(ProgramHost::create(*guard_, std::move(options)), *this);
  renew(std::chrono::minutes(5));
}

std::uint64_t HostStage::start(JobKind kind, Bytes payload, Bytes key) {
  HeldJob job;
  job.hold.key = std::move(key);
  job.kind = kind;
  job.payload = std::move(payload);
  return start(std::move(job));
}

std::uint64_t HostStage::start(HeldJob job) {
  job.session = kSession;
  job.worker = "w1";
  {
    const std::lock_guard lock(mutex_);
    job.hold.epoch = ++last_epoch_;
    keys_[job.hold.epoch] = job.hold.key;
  }
  host_->start(job);
  return job.hold.epoch;
}

void HostStage::stop(std::uint64_t epoch, Nanos patience) {
  host_->stop(hold(epoch), StopReason::stop, BootClock().now() + patience);
}

Hold HostStage::hold(std::uint64_t epoch) {
  const std::lock_guard lock(mutex_);
  return {keys_[epoch], epoch};
}

bool HostStage::wait(std::uint64_t epoch, const std::function<bool(const Heard&)>& reached) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, guard::kDeadline, [&] { return reached(heard_[epoch]); });
}

HostStage::Heard HostStage::end_of(std::uint64_t epoch) {
  EXPECT_TRUE(wait(epoch, [](const Heard& heard) { return heard.ends > 0; }));
  const std::lock_guard lock(mutex_);
  return heard_[epoch];
}

bool HostStage::started(std::uint64_t epoch) {
  return wait(epoch, [](const Heard& heard) { return heard.started; });
}

std::string HostStage::logged(std::uint64_t epoch, const std::string& word) {
  std::string rest;
  wait(epoch, [&](const Heard& heard) {
    for (const Bytes& line : heard.log) {
      if (line.starts_with(word + " ")) rest = line.substr(word.size() + 1);
    }
    return !rest.empty();
  });
  return rest;
}

bool HostStage::guard_was_lost() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, guard::kDeadline, [&] { return guard_lost_; });
}

std::size_t HostStage::folders() const {
  std::size_t count = 0;
  for (const auto& work : std::filesystem::directory_iterator(folder_.path())) {
    for ([[maybe_unused]] const auto& job : std::filesystem::directory_iterator(work.path())) ++count;
  }
  return count;
}

void HostStage::hear(const Hold& of, const std::function<void(Heard&)>& how) {
  const std::lock_guard lock(mutex_);
  how(heard_[of.epoch]);
  changed_.notify_all();
}

void HostStage::started(const Hold& of) {
  hear(of, [](Heard& heard) { heard.started = true; });
}

void HostStage::finished(const Hold& of, Bytes result) {
  hear(of, [&](Heard& heard) {
    ++heard.ends;
    heard.end = "finished";
    heard.text = std::move(result);
  });
}

void HostStage::failed(const Hold& of, Next next, Bytes error, Nanos delay) {
  hear(of, [&](Heard& heard) {
    ++heard.ends;
    heard.end = "failed";
    heard.text = std::move(error);
    heard.next = next;
    heard.delay = delay;
  });
}

void HostStage::released(const Hold& of) {
  hear(of, [](Heard& heard) {
    ++heard.ends;
    heard.end = "released";
  });
}

void HostStage::released(const Hold& of, Bytes /*blob*/) { released(of); }

void HostStage::checkpoint(const Hold& of, Bytes data) {
  hear(of, [&](Heard& heard) { heard.checkpoints.push_back(std::move(data)); });
}

void HostStage::handled(const Hold& of, std::uint64_t message_number) {
  hear(of, [&](Heard& heard) { heard.handled = message_number; });
}

void HostStage::message_failed(const Hold& of, std::uint64_t message_number, Bytes /*error*/) {
  handled(of, message_number);
}

}  // namespace tenure::exec
