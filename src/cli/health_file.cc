#include "cli/health_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "cli/output.h"

namespace tenure::cli {
namespace {

constexpr std::array<std::pair<Health, std::string_view>, 5> kHealthNames{{{Health::joining, "joining"},
                                                                           {Health::ready, "ready"},
                                                                           {Health::lease_lost, "lease-lost"},
                                                                           {Health::unfit, "unfit"},
                                                                           {Health::leaving, "leaving"}}};
constexpr std::size_t kHealthBytesMax = 100;

std::string why_not(const std::string& path) { return "'" + path + "': " + std::strerror(errno); }

}  // namespace

std::string_view to_string(Health health) {
  return std::find_if(kHealthNames.begin(), kHealthNames.end(), [&](const auto& pair) { return pair.first == health; })
      ->second;
}

Result<HealthReport> read_health(const std::string& path) {
  constexpr const char* kRead = "read the health file";
  std::ifstream file(path);
  if (!file) return fail(Errc::no_such_key, kRead, why_not(path) + "; a worker writes it with --health FILE");
  std::string text(kHealthBytesMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  std::istringstream words(text);
  std::string name;
  std::int64_t written = 0;
  std::int64_t until = 0;
  words >> name >> written >> until;
  const auto named =
      std::find_if(kHealthNames.begin(), kHealthNames.end(), [&](const auto& pair) { return pair.second == name; });
  if (!words || named == kHealthNames.end()) {
    return fail(Errc::invalid, kRead, "'" + path + "' was not written by a worker with --health");
  }
  return HealthReport{named->first, std::chrono::milliseconds(written), std::chrono::milliseconds(until)};
}

Result<std::unique_ptr<HealthFile>> HealthFile::create(const std::string& path) {
  std::unique_ptr<HealthFile> made(new HealthFile(path));
  if (const Status written = made->write(made->report()); !written) return Failure(written.error());
  made->thread_ = std::thread([file = made.get()] { file->run(); });
  return made;
}

HealthFile::~HealthFile() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
  unlink(path_.c_str());
}

NodeEvents& HealthFile::of(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  auto& listener = shards_[shard];
  if (!listener) listener = std::make_unique<Listener>(*this);
  return *listener;
}

void HealthFile::enter(Health phase) {
  {
    const std::lock_guard lock(mutex_);
    phase_ = phase;
    due_ = true;
  }
  changed_.notify_one();
}

void HealthFile::Listener::lease_until(std::uint64_t session, Instant lease) {
  const std::lock_guard lock(file_.mutex_);
  // The heart may report a last beat after the node has been fenced.
  if (session != ended) until = lease.since_boot;
}

void HealthFile::Listener::fenced(std::uint64_t session, FenceReason /*reason*/) {
  const std::lock_guard lock(file_.mutex_);
  ended = session;
  until = {};
}

void HealthFile::Listener::worker_unfit(BytesView worker, BytesView /*error*/) {
  const std::lock_guard lock(file_.mutex_);
  file_.unfit_.emplace(worker);
}

void HealthFile::Listener::worker_fit(BytesView worker) {
  const std::lock_guard lock(file_.mutex_);
  file_.unfit_.erase(Bytes(worker));
}

HealthReport HealthFile::report() {
  const std::lock_guard lock(mutex_);
  HealthReport report{phase_, clock_.now().since_boot, {}};
  const std::uint32_t first = shards_.empty() ? 0 : shards_.begin()->first;
  for (const auto& [shard, listener] : shards_) {
    report.lease_until = shard == first ? listener->until : std::min(report.lease_until, listener->until);
  }
  if (phase_ != Health::ready) return report;
  if (report.lease_until <= report.written)
    report.health = Health::lease_lost;
  else if (!unfit_.empty())
    report.health = Health::unfit;
  return report;
}

Status HealthFile::write(const HealthReport& report) {
  const std::string beside = path_ + ".new";
  std::ofstream file(beside, std::ios::trunc);
  file << to_string(report.health) << ' ' << to_ms(report.written) << ' ' << to_ms(report.lease_until) << '\n';
  file.close();
  if (!file) return fail(Errc::invalid, "write the health file", why_not(beside));
  if (std::rename(beside.c_str(), path_.c_str()) != 0) {
    return fail(Errc::invalid, "write the health file", why_not(path_));
  }
  return {};
}

void HealthFile::run() {
  bool complained = false;
  while (true) {
    if (const Status written = write(report()); !written && !std::exchange(complained, true)) {
      print_note("tenure: " + written.error().message());
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kHealthEvery, [&] { return over_ || due_; });
    if (over_) return;
    due_ = false;
  }
}

}  // namespace tenure::cli
