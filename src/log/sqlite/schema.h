#pragma once

// The tables of a pool's file, how they come to be, and how a file is recognised as ours.
//
//   meta(name, value)                       pool; of several shards: shards, shard; boot_id, time_offset_ms
//   runs(first, count, time_ms, data)       the log: entries that were committed together (entry_run.h)
//   snapshots(id, position, hash, chunks)   chunks is NULL while the snapshot is being written
//   snapshot_chunks(snapshot, number, data)
//
// Positions are given by the writer: the last one + 1, dense from 1. No AUTOINCREMENT is needed to keep them from being
// given twice, because a trim never takes the last entry; and a first position above 1 tells of a trim by itself.

#include <string>

#include "base/result.h"
#include "log/open.h"
#include "log/sqlite/connection.h"

namespace tenure::sqlite {

constexpr std::int64_t kApplicationId = 0x54654e75;  // "TeNu", in the file's header
constexpr std::int64_t kSchemaVersion = 2;

// Creates the tables in an empty file. Refuses a file of another program, a newer version, another pool or another
// number of shards, before anything is written to it. To be called with the write turn held. Says how many shards the
// pool has.
Result<std::uint32_t> create_or_check_schema(Connection& connection, const LogOptions& options);

// As above, for an opener that must not write.
Result<std::uint32_t> check_schema(Connection& connection, const LogOptions& options);

// What an opener is told that would have to write, and may not.
Failure not_writable(const std::string& path);

// Whether a file of this pool and so many shards is what the opener wants.
Status check_owner(const std::string& path, const std::string& pool, std::uint32_t shards, const LogOptions& options);

}  // namespace tenure::sqlite
