#pragma once

// Which file a path leads to, and to whom it is open. Files of a database are only looked at by their path, and never
// opened beside SQLite: closing such a descriptor would drop the locks that SQLite has on the file in this process.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace tenure::sqlite {

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;

  // As one number, for a file in which it is written down.
  std::uint64_t number() const;
  friend bool operator==(const FileId&, const FileId&) = default;
};

struct FileFacts {
  FileId id;
  std::int64_t bytes = 0;
  mode_t mode = 0;
  gid_t group = 0;
  bool ours = false;  // this user may change its mode
};

std::optional<FileFacts> facts_of(const std::string& path);
std::optional<FileFacts> facts_of(int descriptor);

// To whom the files of a pool are open. Those beside the database are open to whoever may write it, and to nobody who
// may only read it: to lock a file takes no more than to read it.
struct Rights {
  mode_t mode = 0600;
  std::optional<gid_t> group;

  // What the files beside this database should have. Where there is none, they are their owner's alone.
  static Rights beside(const std::string& database);
  bool allow(const FileFacts& facts) const;  // whether the file is open to nobody else
  // Does what it can: a file of another user keeps what it has.
  void give_to(const std::string& path) const;
  void give_to(int descriptor) const;
};

}  // namespace tenure::sqlite
