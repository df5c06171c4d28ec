#pragma once

// Where a pool is, among those that share a URL. Each has files of its own:
//
//   PATH                  the pool that came first
//   PATH-pool-NAME.db     any other one
//
// A newcomer opens the second if it is there, and otherwise the first, unless that belongs to another pool. So a pool
// stays where it is, whatever becomes of the others:
//
//   - Who creates one of the two files has the write turn of PATH. So nobody creates the other one meanwhile.
//   - A member at PATH looks for the second file with each beat, because a newcomer would open it. One that does not
//     beat looks whenever nothing has come for a while.
//
// The turn of the second file, if it is needed too, is taken before that of PATH.

#include <string>

#include "log/sqlite/settings.h"

namespace tenure::sqlite {

// True if a new pool is to be in its own file even if PATH is free: its first shard is.
bool belongs_apart(const SqliteSettings& settings);

// Where a newcomer would find the pool, as far as that can be seen without opening a database. For files beside it, of
// which nothing but speed depends on the right place.
std::string likely_path(const SqliteSettings& settings, std::string_view pool);

}  // namespace tenure::sqlite
