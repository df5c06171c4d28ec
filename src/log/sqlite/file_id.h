#pragma once

// Identifies the file at a path, and its access rights. A database's files are only examined by path and never opened
// beside SQLite: closing such a descriptor would drop SQLite's locks on the file in this process.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace tenure::sqlite {

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;

  // The identity as one number, to be stored in a file.
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

// Access rights of a pool's files. The files beside the database are open to everybody who can write it. Users who can
// only read the database get no access to them, because read access is enough to lock a file.
struct Rights {
  mode_t mode = 0600;
  std::optional<gid_t> group;

  // The rights for files beside this database. If there is no database, only the owner has access.
  static Rights beside(const std::string& database);
  bool allow(const FileFacts& facts) const;  // true if the file is open to nobody else
  // Changes the file as far as possible: a file of another user keeps its rights.
  void give_to(const std::string& path) const;
  void give_to(int descriptor) const;
};

}  // namespace tenure::sqlite
