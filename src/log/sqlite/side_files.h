#pragma once

// The files of a pool before SQLite opens them: made for their owner alone, and cleared of what belongs to a database
// that lies there no more. SQLite does not know that a WAL is that of another database, and would mix the two.
//
// What belongs together is written down in the wake file, which also says which file it is itself: in a copy of it all
// that is void.

#include "log/sqlite/proof.h"
#include "log/sqlite/settings.h"
#include "log/sqlite/wake_file.h"

namespace tenure::sqlite {

// All of it with the write turn held. Errc::refused where there was a pool, and its database is empty.
Status settle_files(const Settings& settings, const WakeMap& wake);

// After the database was opened: what lies there now belongs together.
void note_files(const Proof& proof, const WakeMap& wake);
bool has_noted(const WakeMap& wake);
// Whether nobody has opened other files since.
bool are_noted(const Proof& proof, const WakeMap& wake);

// SQLite gives its files the database's mode, but not its group. The wake file may be older than the database, and then
// has neither.
void share_files(const std::string& database);

}  // namespace tenure::sqlite
