#pragma once

// SQLite writes each frame of its WAL with two calls, a head of 24 bytes and a page. A commit of a quarter of a
// megabyte is 70 of them, and they cost more time than the sync that follows. Here they are gathered, and reach the
// file as one write right before that sync: a VFS (https://sqlite.org/vfs.html) in front of the system's own, which all
// but the writes to a WAL pass untouched. What lies in the file is the same.

#include <sqlite3.h>

#include "log/sqlite/file_id.h"

namespace tenure::sqlite {

// The name of the VFS, for sqlite3_open_v2; null where there is none, and SQLite's own is to be used.
const char* gathering_vfs();

// Whether SQLite syncs the WAL right after the last frame of a commit, given PRAGMA synchronous=FULL: it does on files
// of which it believes that a loss of power harms no bytes beside those that were being written, which is what it
// believes of all unless told otherwise. On others it syncs within a frame and leaves the end of it unsynced.
bool syncs_behind_frames(sqlite3* db);

// Which file the connection has open as its WAL; zeroes where there is none.
FileId wal_id_of(sqlite3* db);
std::int64_t wal_bytes_of(sqlite3* db);

// From begin_gathering() on, what the calling thread writes to a WAL is gathered: within one transaction whose commit
// syncs the WAL, since without the sync others would be shown frames that are not in the file. A write that fails fails
// the transaction for good: SQLite was told before that what it wrote was written.
void begin_gathering();
// Right after the commit: by then nothing is left.
void end_gathering();
// Before a rollback. What is left is dropped, since nothing refers to it, and after the rollback the place in the file
// may be another process'.
void drop_gathered();

}  // namespace tenure::sqlite
