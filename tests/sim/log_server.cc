#include "sim/log_server.h"

#include <algorithm>

#include "base/assert.h"

namespace tenure::sim {

namespace {

constexpr int kTimedCounterBits = 16;
constexpr std::size_t kReadBytesMax = 1U << 20;

}  // namespace

LogServer::LogServer(World& world, ServerOptions options)
    : world_(world), options_(options), dice_(world.fork("log server")) {
  snapshots_.push_back({0, std::make_shared<const Snapshot>()});
}

void LogServer::observe(OnAppend on_append, OnLost on_lost) {
  on_append_ = std::move(on_append);
  on_lost_ = std::move(on_lost);
}

std::int64_t LogServer::engine_ms() const {
  const Time now = world_.now();
  return options_.start_ms + skew_ms_ + (now + now / 1'000'000 * options_.ppm) / kMilli;
}

Position LogServer::append(Bytes data) {
  const std::int64_t last_ms = entries_.empty() ? 0 : entries_.back().entry.time_ms;
  Stored stored;
  stored.entry.time_ms = std::max(last_ms, engine_ms());
  stored.entry.position = next_position(stored.entry.time_ms);
  stored.hash = Cursor::hash_of(data, stored.entry.time_ms);
  stored.entry.data = std::move(data);
  stored.order = ++orders_;
  stored.at = world_.now();
  world_.trace(stored.hash ^ stored.entry.position);
  entries_.push_back(std::move(stored));
  const Position position = entries_.back().entry.position;
  if (on_append_) on_append_(entries_.back());
  return position;
}

Position LogServer::next_position(std::int64_t time_ms) {
  switch (options_.numbering) {
    case Numbering::dense: return last() + 1;
    case Numbering::sparse: return last() + 1 + (dice_.chance(0.2) ? dice_.below(5) : 0);
    case Numbering::timed: return std::max(last() + 1, static_cast<Position>(time_ms) << kTimedCounterBits);
  }
  ASSERT(false);
}

std::size_t LogServer::index_of(Position position) const {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), position,
                       [](const Stored& stored, Position wanted) { return stored.entry.position < wanted; });
  return static_cast<std::size_t>(found - entries_.begin());
}

bool LogServer::stands_on_entry(const Cursor& cursor) const {
  const std::size_t index = index_of(cursor.position);
  return index < entries_.size() && entries_[index].entry.position == cursor.position &&
         (cursor.hash == 0 || entries_[index].hash == cursor.hash);
}

Result<std::vector<Entry>> LogServer::read(Cursor after, std::size_t entries_max) const {
  std::size_t index = 0;
  if (after.position == 0) {
    if (first_ > 0) return fail(Errc::trimmed, "sim read");
  } else {
    index = index_of(after.position);
    if (index < first_) return fail(Errc::trimmed, "sim read");
    if (!stands_on_entry(after)) return fail(Errc::lost_history, "sim read");
    ++index;
  }
  std::vector<Entry> run;
  std::size_t bytes = 0;
  for (; index < entries_.size() && run.size() < entries_max && bytes < kReadBytesMax; ++index) {
    run.push_back(entries_[index].entry);
    bytes += run.back().data.size();
  }
  return run;
}

Status LogServer::commit(std::shared_ptr<const Snapshot> snapshot) {
  if (!stands_on_entry(snapshot->cursor)) return fail(Errc::lost_history, "sim snapshot");
  if (snapshot->cursor.position < snapshots_.back().value->cursor.position) return {};
  snapshots_.push_back({world_.now(), std::move(snapshot)});
  return {};
}

void LogServer::trim(Position before) {
  const std::size_t first = index_of(std::min(before, snapshot()->cursor.position));
  if (first <= first_) return;
  first_ = first;
  trims_.push_back({world_.now(), first});
}

void LogServer::remove() {
  if (on_lost_) on_lost_(0);
  entries_.clear();
  first_ = 0;
  trims_.clear();
  snapshots_.resize(1);
}

std::size_t LogServer::lose_since(Time since, std::int64_t skew_ms) {
  const std::size_t before = entries_.size();
  while (!entries_.empty() && entries_.back().at > since) entries_.pop_back();
  while (snapshots_.size() > 1 && snapshots_.back().at > since) snapshots_.pop_back();
  while (!trims_.empty() && trims_.back().at > since) trims_.pop_back();
  first_ = trims_.empty() ? 0 : trims_.back().first;
  skew_ms_ = skew_ms;
  if (on_lost_) on_lost_(last());
  return before - entries_.size();
}

std::size_t LogServer::bytes_since_snapshot() const {
  std::size_t bytes = 0;
  for (std::size_t i = index_of(snapshot()->cursor.position + 1); i < entries_.size(); ++i) {
    bytes += entries_[i].entry.data.size();
  }
  return bytes;
}

}  // namespace tenure::sim
