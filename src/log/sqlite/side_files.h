#pragma once

// Prepares the files of a pool before SQLite opens them: creates them for their owner alone, and removes files that
// belong to a database that is no longer there. SQLite does not notice that a WAL belongs to another database, and
// would mix the two.
//
// The wake file records which files belong together, and its own identity. So the record in a copy of it is void.

#include <optional>
#include <string>
#include <string_view>

#include "log/sqlite/file_id.h"
#include "log/sqlite/proof.h"
#include "log/sqlite/wake_file.h"

namespace tenure::sqlite {

// Call it with the write turn held. Errc::refused if there was a pool and its database is empty.
Status settle_files(const std::string& path, std::optional<gid_t> group, const WakeMap& wake);

// Call it after opening the database: the files belong together now.
void note_files(const Proof& proof, std::string_view pool, const WakeMap& wake);
bool has_noted(const WakeMap& wake);
// True if nobody has opened other files since.
bool are_noted(const Proof& proof, const WakeMap& wake);

// SQLite gives its files the database's mode, but not its group. The wake file may be older than the database, and then
// has neither.
void share_files(const std::string& database);

}  // namespace tenure::sqlite
