#include "log/kafka/find_log.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/entropy.h"
#include "log/kafka/snapshots.h"
#include "log/kafka/writer.h"

namespace tenure::kafka {
namespace {

using SteadyClock = std::chrono::steady_clock;

// How often to look again at least, because another process was faster to create or remove the log.
constexpr int kTriesMin = 8;
constexpr std::chrono::milliseconds kFindPause{20};

}  // namespace

Result<FoundLog> FindLog::run() {
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(settings_.timeout_ms);
  for (int i = 0; i < kTriesMin || SteadyClock::now() < deadline; ++i) {
    auto found = look();
    if (found && *found) return **std::move(found);
    // A topic may be deleted between two questions, and brokers learn of a new one at different times.
    if (!found && found.error().code != Errc::lost_history) return Failure(found.error());
    if (!found) std::this_thread::sleep_for(kFindPause);
  }
  return refuse(Errc::unavailable, "the log is created and removed faster than it can be opened");
}

Result<std::optional<FoundLog>> FindLog::look() {
  const Result<int> log = prober_.partitions(names_.log);
  if (!log) return Failure(log.error());
  if (*log == 0) return create_topics();
  if (Status good = topics_.check(names_.log, true, *log); !good) return Failure(good.error());
  const Result<int> snapshots = prober_.partitions(names_.snapshots);
  if (!snapshots) return Failure(snapshots.error());
  if (*snapshots == 0 && !options_.read_only && options_.create) return create_topics();
  if (*snapshots != 0) {
    if (Status good = topics_.check(names_.snapshots, false, *snapshots); !good) return Failure(good.error());
  }
  const auto range = prober_.range(names_.log, 0);
  if (!range) return Failure(range.error());
  return look_at(*range);
}

Result<std::optional<FoundLog>> FindLog::look_at(const Range& range) {
  if (range.first == range.end) return give_birth();
  const auto first = prober_.record_at(names_.log, 0, range.first);
  if (!first) return Failure(first.error());
  if (!*first) return std::optional<FoundLog>();  // trimmed meanwhile
  if ((*first)->key && (*first)->key->kind == Kind::birth) return take_birth(**first);
  if (range.first > 0 && (*first)->key) {
    auto found = take_manifest(**first);
    if (!found || *found) return found;
  }
  return look_for_birth(range);
}

Result<std::optional<FoundLog>> FindLog::look_for_birth(const Range& range) {
  std::optional<Stored> birth;
  const Status read = prober_.scan(names_.log, 0, range.first, range.end, [&](const Stored& stored) {
    if (stored.key && stored.key->kind == Kind::birth) birth = stored;
    return !birth;
  });
  if (!read) return Failure(read.error());
  if (birth) return take_birth(*birth);
  if (range.first == 0) return give_birth();
  return refuse(Errc::corrupt,
                "entries are missing that no snapshot covers: another program deleted them, or the topic " +
                    names_.snapshots + "; run a worker that knows the pool, restore a backup, or delete the topics");
}

Result<std::optional<FoundLog>> FindLog::take_birth(const Stored& stored) const {
  const auto birth = decode_birth(stored.value);
  if (!birth || stored.key->log == 0) return refuse(Errc::corrupt, "the log's first record is damaged");
  if (Status good = check(birth->shard, birth->shards, birth->pool); !good) return Failure(good.error());
  const Mark mark{stored.offset, stored.key->link};
  return std::optional<FoundLog>({stored.key->log, birth->shards, mark, mark});
}

Result<std::optional<FoundLog>> FindLog::take_manifest(const Stored& first) {
  const auto stored = Snapshots(settings_, names_, prober_).stored(first.key->log);
  if (!stored) return Failure(stored.error());
  if (stored->empty()) return std::optional<FoundLog>();
  const Manifest& newest = stored->back();
  if (Status good = check(newest.shard, newest.shards, newest.pool); !good) return Failure(good.error());
  return std::optional<FoundLog>({newest.log, newest.shards, Mark(), Mark{first.offset, first.key->link}});
}

Result<std::optional<FoundLog>> FindLog::create_topics() {
  if (!options_.create) return refuse(Errc::no_such_pool, "there is no pool '" + options_.pool + "'");
  if (options_.read_only) {
    return refuse(Errc::refused, "there is no log, and a read-only opener does not create it");
  }
  if (Status created = topics_.create(names_); !created) return Failure(created.error());
  if (Status there = wait_for_topics(); !there) return Failure(there.error());
  return std::optional<FoundLog>();
}

// Brokers learn of a topic one after the other.
Status FindLog::wait_for_topics() {
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(settings_.timeout_ms);
  for (;;) {
    const Result<int> log = prober_.partitions(names_.log);
    const Result<int> snapshots = prober_.partitions(names_.snapshots);
    if (log && snapshots && *log != 0 && *snapshots != 0) return {};
    if (SteadyClock::now() > deadline) {
      return refuse(Errc::unavailable, "the topics were created, but have no leaders yet");
    }
    std::this_thread::sleep_for(kFindPause);
  }
}

Result<std::optional<FoundLog>> FindLog::give_birth() {
  if (!options_.create) return refuse(Errc::no_such_pool, "there is no pool '" + options_.pool + "'");
  if (options_.read_only) return refuse(Errc::refused, "there is no log, and a read-only opener does not create it");
  SystemEntropy entropy;
  const Key key{.kind = Kind::birth, .log = entropy.id(), .link = entropy.id()};
  const Birth birth{options_.shard.index, std::max(options_.shard.count, 1U), options_.pool};
  auto writer = Writer::make(settings_);
  if (!writer) return Failure(writer.error());
  if (Status written = writer->write(names_.log, 0, key, encode(birth)); !written) return Failure(written.error());
  if (Status written = writer->flush(); !written) return Failure(written.error());
  return std::optional<FoundLog>();
}

Status FindLog::check(std::uint32_t shard, std::uint32_t shards, const std::string& pool) const {
  if (pool != options_.pool) {
    return refuse(Errc::refused,
                  "the log belongs to pool '" + pool + "': topics were copied; open it under its own name");
  }
  if (shard != options_.shard.index) {
    return refuse(Errc::refused, "this is the log of shard " + std::to_string(shard) + ": topics were copied");
  }
  if (options_.shard.count != 0 && shards != options_.shard.count) {
    return refuse(Errc::refused, other_count(shards, options_.shard.count));
  }
  return {};
}

Failure FindLog::refuse(Errc code, const std::string& what) const {
  return fail(code, "kafka open", settings_.shown + ": " + what);
}

}  // namespace tenure::kafka
