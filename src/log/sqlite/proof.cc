#include "log/sqlite/proof.h"

#include "log/sqlite/wal_gather.h"

namespace tenure::sqlite {

Proof Proof::of(const std::string& path, const Connection& connection) {
  Proof proof;
  proof.path_ = path;
  proof.wal_path_ = path + "-wal";
  proof.shm_path_ = path + "-shm";
  if (const auto facts = facts_of(path)) proof.database_ = facts->id;
  proof.wal_ = wal_id_of(connection.raw());
  proof.shm_ = shm_of(connection.raw());
  return proof;
}

FilesState Proof::look() const {
  const auto database = facts_of(path_);
  if (!database || database->id != database_) return FilesState::no_database;
  if (database->bytes == 0) return FilesState::emptied;
  if (shm_) {
    const auto shm = facts_of(shm_path_);
    if (!shm || shm->id != shm_->id() || shm->bytes < shm_->bytes() || shm_->harmed()) return FilesState::no_shm;
  }
  if (wal_ != FileId{} && !wal_is_whole()) return FilesState::no_wal;
  return FilesState::whole;
}

// A writer that starts the WAL over changes the index before it truncates the file, so the index is read twice.
bool Proof::wal_is_whole() const {
  for (int attempt = 0; attempt < 3; ++attempt) {
    const std::int64_t needed = shm_ ? shm_->wal_bytes() : 0;
    const auto wal = facts_of(wal_path_);
    if (!wal || wal->id != wal_) return false;
    if (wal->bytes >= needed) return true;
    if (shm_->wal_bytes() == needed) return false;
  }
  return true;
}

Status Proof::check() const {
  const auto lost = [](const std::string& path, const char* what) {
    return fail(Errc::lost_history, "sqlite log", path + ": the file was " + what);
  };
  switch (look()) {
    case FilesState::whole: return {};
    case FilesState::no_database: return lost(path_, "removed or replaced");
    case FilesState::emptied: return lost(path_, "emptied");
    case FilesState::no_wal: return lost(wal_path_, "removed, replaced or truncated");
    case FilesState::no_shm: return lost(shm_path_, "removed, replaced or truncated");
  }
  return {};
}

bool Proof::holds_for(const Connection& connection) const {
  return wal_id_of(connection.raw()) == wal_ && shm_of(connection.raw()) == shm_;
}

bool Proof::can_save_wal(const Connection& connection) const {
  const auto database = facts_of(path_);
  if (!database || database->id != database_ || database->bytes == 0 || !shm_ || shm_->harmed()) return false;
  const auto wal = facts_of(wal_path_);
  if (wal && wal->id == wal_) return false;
  const std::int64_t needed = shm_->wal_bytes();
  return needed > 0 && wal_bytes_of(connection.raw()) >= needed;
}

}  // namespace tenure::sqlite
