#include "pool/shard_reports.h"

#include <utility>

#include "pool/shards.h"

namespace tenure {

HoldReports& ShardReports::of(const Hold& hold) const {
  return shards_.core(shard_of(hold.key, shards_.count())).reports();
}

void ShardReports::started(const Hold& hold) { of(hold).started(hold); }

void ShardReports::begun(const Hold& hold) { of(hold).begun(hold); }

void ShardReports::finished(const Hold& hold, Bytes result) { of(hold).finished(hold, std::move(result)); }

void ShardReports::failed(const Hold& hold, Next next, Bytes error, Nanos delay) {
  of(hold).failed(hold, next, std::move(error), delay);
}

void ShardReports::released(const Hold& hold) { of(hold).released(hold); }

void ShardReports::released(const Hold& hold, Bytes blob) { of(hold).released(hold, std::move(blob)); }

void ShardReports::checkpoint(const Hold& hold, Bytes data) { of(hold).checkpoint(hold, std::move(data)); }

void ShardReports::handled(const Hold& hold, std::uint64_t message_number) { of(hold).handled(hold, message_number); }

void ShardReports::message_failed(const Hold& hold, std::uint64_t message_number, Bytes error) {
  of(hold).message_failed(hold, message_number, std::move(error));
}

void ShardReports::together_from(std::uint32_t shard, const std::function<void()>& reports) {
  if (shard == shards_.count()) return reports();
  shards_.core(shard).reports().together([&] { together_from(shard + 1, reports); });
}

}  // namespace tenure
