#include "sim/world/log_server.h"

#include <algorithm>

#include "base/assert.h"

namespace tenure::sim {

namespace {

constexpr int kTimedCounterBits = 16;
constexpr std::size_t kReadBytesMax = 1U << 20;

}  // namespace

LogServer::LogServer(World& world, ServerOptions options)
    : world_(world), options_(options), dice_(world.fork("log server")), lines_(1) {}

void LogServer::observe(OnAppend on_append, OnLost on_lost, OnReplaced on_replaced) {
  on_append_ = std::move(on_append);
  on_lost_ = std::move(on_lost);
  on_replaced_ = std::move(on_replaced);
}

std::int64_t LogServer::engine_ms() const {
  const Time now = world_.now();
  return options_.start_ms + skew_ms_ + (now + now / 1'000'000 * options_.ppm) / kMilli;
}

Position LogServer::append(Bytes data, LogNumber log) {
  Line& to = lines_[log];
  const std::int64_t last_ms = to.entries.empty() ? 0 : to.entries.back().entry.time_ms;
  Stored stored;
  stored.entry.time_ms = std::max(last_ms, engine_ms());
  stored.entry.position = next_position(to.last(), stored.entry.time_ms);
  stored.hash = Cursor::hash_of(data, stored.entry.time_ms);
  stored.entry.data = std::move(data);
  stored.order = ++orders_;
  stored.at = world_.now();
  world_.trace(stored.hash ^ stored.entry.position);
  to.entries.push_back(std::move(stored));
  const Position position = to.entries.back().entry.position;
  if (on_append_) on_append_(to.entries.back(), log);
  return position;
}

Position LogServer::next_position(Position last, std::int64_t time_ms) {
  switch (options_.numbering) {
    case Numbering::dense: return last + 1;
    case Numbering::sparse: return last + 1 + (dice_.chance(0.2) ? dice_.below(5) : 0);
    case Numbering::timed: return std::max(last + 1, static_cast<Position>(time_ms) << kTimedCounterBits);
  }
  ASSERT(false);
}

std::size_t LogServer::Line::index_of(Position position) const {
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), position,
                       [](const Stored& stored, Position wanted) { return stored.entry.position < wanted; });
  return static_cast<std::size_t>(found - entries.begin());
}

bool LogServer::Line::stands_on_entry(const Cursor& cursor) const {
  const std::size_t index = index_of(cursor.position);
  return index < entries.size() && entries[index].entry.position == cursor.position &&
         (cursor.hash == 0 || entries[index].hash == cursor.hash);
}

Result<std::vector<Entry>> LogServer::read(Cursor after, std::size_t entries_max, LogNumber log) const {
  const Line& from = lines_[log];
  std::size_t index = 0;
  if (after.position == 0) {
    if (from.first > 0) return fail(Errc::trimmed, "sim read");
  } else {
    index = from.index_of(after.position);
    if (index < from.first) return fail(Errc::trimmed, "sim read");
    if (!from.stands_on_entry(after)) return fail(Errc::lost_history, "sim read");
    ++index;
  }
  std::vector<Entry> run;
  std::size_t bytes = 0;
  for (; index < from.entries.size() && run.size() < entries_max && bytes < kReadBytesMax; ++index) {
    run.push_back(from.entries[index].entry);
    bytes += run.back().data.size();
  }
  return run;
}

Status LogServer::commit(std::shared_ptr<const Snapshot> snapshot) {
  if (!line().stands_on_entry(snapshot->cursor)) return fail(Errc::lost_history, "sim snapshot");
  if (snapshot->cursor.position < line().snapshots.back().value->cursor.position) return {};
  line().snapshots.push_back({world_.now(), std::move(snapshot)});
  return {};
}

void LogServer::trim(Position before) {
  const std::size_t first = line().index_of(std::min(before, snapshot()->cursor.position));
  if (first <= line().first) return;
  line().first = first;
  line().trims.push_back({world_.now(), first});
}

void LogServer::remove() {
  line().gone = true;
  removed_ms_ = engine_ms();
  lines_.emplace_back();
  if (on_lost_) on_lost_(0, true);
}

void LogServer::replace() {
  line().replaced_at = world_.now();
  lines_.emplace_back();
  if (on_replaced_) on_replaced_(false);
}

void LogServer::wipe() {
  line().replaced_at = world_.now();
  line().gone = true;
  removed_ms_ = 0;
  lines_.emplace_back();
  if (on_replaced_) on_replaced_(true);
}

std::size_t LogServer::lose_since(Time since, std::int64_t skew_ms) {
  auto& [entries, first, snapshots, trims, replaced_at, gone] = line();
  const std::size_t before = entries.size();
  while (!entries.empty() && entries.back().at > since) entries.pop_back();
  while (snapshots.size() > 1 && snapshots.back().at > since) snapshots.pop_back();
  while (!trims.empty() && trims.back().at > since) trims.pop_back();
  first = trims.empty() ? 0 : trims.back().first;
  skew_ms_ = skew_ms;
  if (on_lost_) on_lost_(last(), false);
  return before - entries.size();
}

std::size_t LogServer::bytes_since_snapshot() const {
  std::size_t bytes = 0;
  for (std::size_t i = line().index_of(snapshot()->cursor.position + 1); i < line().entries.size(); ++i) {
    bytes += line().entries[i].entry.data.size();
  }
  return bytes;
}

}  // namespace tenure::sim
