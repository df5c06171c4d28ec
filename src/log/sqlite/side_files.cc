#include "log/sqlite/side_files.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/bytes.h"

namespace tenure::sqlite {
namespace {

// Never opens an existing file (file_id.h). If the file cannot be created, SQLite reports why.
void make_database(const std::string& path, std::optional<gid_t> group) {
  Rights rights{.mode = 0600, .group = group};
  if (group) rights.mode = 0660;
  if (facts_of(path)) {
    if (group) rights.give_to(path);
    return;
  }
  const int made = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made < 0) return;
  rights.give_to(made);
  close(made);
}

}  // namespace

Status settle_files(const std::string& path, std::optional<gid_t> group, const WakeMap& wake) {
  const auto database = facts_of(path);
  const auto wal = facts_of(path + "-wal");
  const WakeWords& words = wake.words();
  const bool known = has_noted(wake);
  if (database && database->bytes == 0 && (known || (wal && wal->bytes > 0))) {
    return fail(Errc::refused, "sqlite open",
                path + ": the database is empty, and there was a pool in it: restore a backup, or remove this file, " +
                    "-wal, -shm and -wake to begin with an empty pool");
  }
  const bool replaced = known && (!database || database->id.number() != words.database);
  const bool other_wal = known && (!wal || wal->id.number() != words.wal);
  if (replaced && !other_wal) unlink((path + "-wal").c_str());
  if (replaced || other_wal) unlink((path + "-shm").c_str());
  make_database(path, group);
  return {};
}

void note_files(const Proof& proof, std::string_view pool, const WakeMap& wake) {
  WakeWords& words = wake.words();
  words.database = proof.database().number();
  words.wal = proof.wal().number();
  words.pool = hash_bytes(pool);
  words.self = wake.id().number();
}

bool has_noted(const WakeMap& wake) { return wake.words().self == wake.id().number(); }

bool are_noted(const Proof& proof, const WakeMap& wake) {
  const WakeWords& words = wake.words();
  return has_noted(wake) && words.database == proof.database().number() && words.wal == proof.wal().number();
}

void share_files(const std::string& database) {
  const auto facts = facts_of(database);
  if (!facts) return;
  const Rights same{.mode = facts->mode, .group = facts->group};
  for (const char* suffix : {"-wal", "-shm"}) same.give_to(database + suffix);
  Rights::beside(database).give_to(WakeFile::path_for(database));
}

}  // namespace tenure::sqlite
