#include "log/sqlite/file_id.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"

namespace tenure::sqlite {
namespace {

FileFacts facts_from(const struct stat& found) {
  const uid_t user = geteuid();
  return {.id = {found.st_dev, found.st_ino},
          .bytes = found.st_size,
          .mode = found.st_mode & 0777,
          .group = found.st_gid,
          .ours = user == 0 || user == found.st_uid};
}

}  // namespace

std::uint64_t FileId::number() const {
  return hash_mix(static_cast<std::uint64_t>(device), static_cast<std::uint64_t>(inode)) | 1;
}

std::optional<FileFacts> facts_of(const std::string& path) {
  struct stat found{};
  if (stat(path.c_str(), &found) != 0) return std::nullopt;
  return facts_from(found);
}

std::optional<FileFacts> facts_of(int descriptor) {
  struct stat found{};
  if (fstat(descriptor, &found) != 0) return std::nullopt;
  return facts_from(found);
}

Rights Rights::beside(const std::string& database) {
  Rights rights;
  const auto facts = facts_of(database);
  if (!facts) return rights;
  for (const mode_t both : {mode_t{0060}, mode_t{0006}}) {
    if ((facts->mode & both) == both) rights.mode |= both;
  }
  rights.group = facts->group;
  return rights;
}

bool Rights::allow(const FileFacts& facts) const {
  if ((facts.mode & ~mode) != 0) return false;
  return (facts.mode & 0070) == 0 || !group || facts.group == *group;
}

// Ignores failures: a group member who does not own the file can change neither, and need not.
void Rights::give_to(const std::string& path) const {
  const auto facts = facts_of(path);
  if (!facts || !facts->ours) return;
  if (group && facts->group != *group) (void)!chown(path.c_str(), static_cast<uid_t>(-1), *group);
  if (facts->mode != mode) (void)!chmod(path.c_str(), mode);
}

void Rights::give_to(int descriptor) const {
  const auto facts = facts_of(descriptor);
  if (!facts || !facts->ours) return;
  if (group && facts->group != *group) (void)!fchown(descriptor, static_cast<uid_t>(-1), *group);
  if (facts->mode != mode) (void)!fchmod(descriptor, mode);
}

}  // namespace tenure::sqlite
