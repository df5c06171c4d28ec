#include "log/sqlite/whereabouts.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "log/sqlite/file_id.h"
#include "log/sqlite/wake_file.h"

namespace tenure::sqlite {

bool belongs_apart(const SqliteSettings& settings) {
  return settings.own_path != settings.own_first && facts_of(settings.own_first).has_value();
}

std::string likely_path(const SqliteSettings& settings, std::string_view pool) {
  if (facts_of(settings.own_path) || belongs_apart(settings)) return settings.own_path;
  const auto database = facts_of(settings.path);
  if (!database) return settings.path;
  const Descriptor file(::open(WakeFile::path_for(settings.path).c_str(), O_RDONLY | O_CLOEXEC));
  const auto wake = file ? facts_of(file.get()) : std::nullopt;
  WakeWords words{};
  if (!wake || pread(file.get(), static_cast<void*>(&words), sizeof words, 0) != static_cast<ssize_t>(sizeof words)) {
    return settings.path;
  }
  const bool noted = words.self == wake->id.number() && words.database == database->id.number();
  return noted && words.pool != hash_bytes(pool) ? settings.own_path : settings.path;
}

}  // namespace tenure::sqlite
