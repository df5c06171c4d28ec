#pragma once

// The tables of a pool's file: their creation, and the check that a file is ours.
//
//   meta(name, value)                       pool; of several shards: shards, shard; boot_id, time_offset_ms
//   runs(first, count, time_ms, data)       the log: entries that were committed together (entry_run.h)
//   snapshots(id, position, hash, chunks)   chunks is NULL while the snapshot is being written
//   snapshot_chunks(snapshot, number, data)
//
// The writer assigns positions: the last one + 1, dense from 1. They are never assigned twice without AUTOINCREMENT,
// because a trim never removes the last entry. A first position above 1 means that the log was trimmed.

#include <optional>
#include <string>

#include "base/result.h"
#include "log/open.h"
#include "log/sqlite/connection.h"

namespace tenure::sqlite {

constexpr std::int64_t kApplicationId = 0x54654e75;  // "TeNu", in the file's header
constexpr std::int64_t kSchemaVersion = 2;

// Creates the tables in an empty file. Refuses a file of another program, a newer version, another pool or another
// number of shards before it writes anything. Call it with the write turn held. Returns the number of shards.
Result<std::uint32_t> create_or_check_schema(Connection& connection, const LogOptions& options);

// The same for an opener that must not write.
Result<std::uint32_t> check_schema(Connection& connection, const LogOptions& options);

// The pool that the file belongs to. Nothing if it is empty, or not one that this version can read.
Result<std::optional<std::string>> pool_in(Connection& connection);

// The error for an opener that has to write but may not.
Failure not_writable(const std::string& path);

// Errc::refused unless the file belongs to the wanted pool and has the wanted number of shards.
Status check_owner(const std::string& path, const std::string& pool, std::uint32_t shards, const LogOptions& options);

}  // namespace tenure::sqlite
