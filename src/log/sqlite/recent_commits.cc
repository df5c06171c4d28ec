#include "log/sqlite/recent_commits.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "log/sqlite/handout.h"

namespace tenure::sqlite {
namespace {

std::size_t bytes_of(const std::vector<Bytes>& entries) {
  return std::accumulate(entries.begin(), entries.end(), std::size_t{0},
                         [](std::size_t sum, const Bytes& entry) { return sum + entry.size(); });
}

}  // namespace

RecentCommits::Run::Run(Position from, std::int64_t time, std::vector<Bytes> data)
    : first(from), time_ms(time), entries(std::move(data)), bytes(bytes_of(entries)) {}

bool RecentCommits::Run::proves(const Cursor& cursor) const {
  if (cursor.position != last()) return cursor.matches(entries[cursor.position - first], time_ms);
  if (cursor.hash == 0) return true;
  std::uint64_t hash = last_hash.load(std::memory_order_relaxed);
  if (hash == 0) {
    hash = Cursor::hash_of(entries.back(), time_ms);
    last_hash.store(hash, std::memory_order_relaxed);
  }
  return hash == cursor.hash;
}

void RecentCommits::put(Position first, std::int64_t time_ms, std::vector<Bytes> entries, std::uint32_t announced) {
  if (entries.empty()) return;
  auto run = std::make_shared<const Run>(first, time_ms, std::move(entries));
  Runs dropped;  // declared before the lock, so the data is freed after it
  std::lock_guard lock(mutex_);
  announced_ = announced;
  if (!runs_.empty() && runs_.back()->last() + 1 != first) {
    dropped.swap(runs_);
    bytes_ = entries_ = 0;
  }
  bytes_ += run->bytes;
  entries_ += run->entries.size();
  runs_.push_back(std::move(run));
  while (bytes_ > kRecentBytesMax || entries_ > kRecentEntriesMax) {
    bytes_ -= runs_.front()->bytes;
    entries_ -= runs_.front()->entries.size();
    dropped.push_back(std::move(runs_.front()));
    runs_.pop_front();
  }
}

void RecentCommits::clear() {
  Runs dropped;  // as above
  std::lock_guard lock(mutex_);
  dropped.swap(runs_);
  bytes_ = entries_ = 0;
}

std::optional<std::vector<Entry>> RecentCommits::after(const Cursor& cursor, std::uint32_t commits) const {
  const auto runs = from(cursor, commits);
  if (runs.empty() || !runs.front()->proves(cursor)) return std::nullopt;
  Handout handout;
  for (const auto& run : runs) {
    std::size_t i = cursor.position < run->first ? 0 : cursor.position + 1 - run->first;
    for (; i < run->entries.size(); ++i) {
      if (!handout.add(run->first + i, run->time_ms, run->entries[i])) return handout.take();
    }
  }
  return handout.take();
}

// The run with the cursor's own entry, and the runs after it.
std::vector<std::shared_ptr<const RecentCommits::Run>> RecentCommits::from(const Cursor& cursor,
                                                                           std::uint32_t commits) const {
  std::lock_guard lock(mutex_);
  const auto behind = [](Position position, const auto& run) { return position < run->first; };
  auto own = std::upper_bound(runs_.begin(), runs_.end(), cursor.position, behind);
  if (own == runs_.begin() || cursor.position > runs_.back()->last()) return {};
  if (cursor.position == runs_.back()->last() && commits != announced_) return {};
  --own;
  const auto wanted = std::min<std::ptrdiff_t>(runs_.end() - own, kHandoutEntriesMax + 1);
  return {own, own + wanted};
}

}  // namespace tenure::sqlite
