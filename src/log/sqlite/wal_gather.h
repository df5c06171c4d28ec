#pragma once

// SQLite writes each frame of its WAL with two calls, a header of 24 bytes and a page. A commit of a quarter of a
// megabyte has 70 of them, and they take longer than the sync that follows. This VFS (https://sqlite.org/vfs.html)
// gathers the frames and writes them with one call right before the sync. Everything else passes through to the
// system's VFS. The content of the file is the same.

#include <sqlite3.h>

#include "log/sqlite/file_id.h"

namespace tenure::sqlite {

// The name of the VFS for sqlite3_open_v2. Null if there is none; then use SQLite's own.
const char* gathering_vfs();

// True if SQLite syncs the WAL right after the last frame of a commit, with PRAGMA synchronous=FULL. It does so on
// files where it expects that a loss of power damages only the bytes being written, which is the default for all files.
// On other files it syncs within a frame and leaves the rest unsynced.
bool syncs_behind_frames(sqlite3* db);

// The file that the connection has open as its WAL. Zeroes if there is none.
FileId wal_id_of(sqlite3* db);
std::int64_t wal_bytes_of(sqlite3* db);

// After begin_gathering(), the calling thread's writes to a WAL are gathered. Only for a transaction whose commit syncs
// the WAL: without the sync, others would see frames that are not in the file yet. A failed write fails the whole
// transaction, because SQLite was told before that the write succeeded.
void begin_gathering();
// Call it right after the commit, when nothing is left to write.
void end_gathering();
// Call it before a rollback. Drops the gathered data: nothing refers to it, and after the rollback its place in the
// file may belong to another process.
void drop_gathered();

}  // namespace tenure::sqlite
