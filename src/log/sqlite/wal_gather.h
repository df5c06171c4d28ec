#pragma once

// SQLite writes each frame of its WAL with two calls, a head of 24 bytes and a page. A commit of a quarter of a
// megabyte is 70 of them, and they cost more time than the sync that follows. Here they are gathered, and reach the
// file as one write right before that sync: a VFS (https://sqlite.org/vfs.html) in front of the system's own, which all
// but the writes to a WAL pass untouched. What lies in the file is the same.

namespace tenure::sqlite {

// The name of the VFS, for sqlite3_open_v2; null where there is none, and SQLite's own is to be used.
const char* gathering_vfs();

// While one lives, what its thread writes to a WAL is gathered. To be held around a transaction whose commit syncs the
// WAL, and nothing else: without the sync others would be shown frames that are not in the file. What is left of a
// transaction that failed is dropped, since by then the place in the file may be another process'.
class GatherWal {
 public:
  explicit GatherWal(bool gather);
  ~GatherWal();
  GatherWal(const GatherWal&) = delete;
  GatherWal& operator=(const GatherWal&) = delete;
};

}  // namespace tenure::sqlite
