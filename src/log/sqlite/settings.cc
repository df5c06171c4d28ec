#include "log/sqlite/settings.h"

#include <grp.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/bytes.h"
#include "base/escaped_name.h"
#include "log/sqlite/errors.h"

namespace tenure::sqlite {
namespace {

Failure invalid(std::string_view what, std::string_view advice) {
  std::string context(what);
  context.append(": ").append(advice);
  return fail(Errc::invalid, "sqlite open", std::move(context));
}

Result<Sync> parse_sync(std::string_view value) {
  if (value == "full") return Sync::full;
  if (value == "normal") return Sync::normal;
  if (value == "off") return Sync::off;
  return invalid(value, "unknown value for sync: write sync=full, sync=normal or sync=off");
}

Result<gid_t> parse_group(std::string_view value) {
  const std::string name(value);
  constexpr std::size_t kGroupBytesMax = 1U << 20;  // a group may have many members
  struct group entry{};
  struct group* found = nullptr;
  for (std::size_t bytes = 1024; bytes <= kGroupBytesMax; bytes *= 4) {
    std::vector<char> buffer(bytes);
    if (getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == ERANGE) continue;
    if (found != nullptr) return found->gr_gid;
    break;
  }
  return invalid(value, "this host has no such group: name an existing group, or leave the option out");
}

Status parse_option(std::string_view option, SqliteSettings& settings) {
  const std::size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  if ((name != "sync" && name != "group") || equals == std::string_view::npos) {
    return invalid(name, "unknown option: the engine has sync=full|normal|off and group=NAME");
  }
  if (name == "group") {
    const auto group = parse_group(option.substr(equals + 1));
    if (!group) return Failure(group.error());
    settings.group = *group;
    return {};
  }
  const auto sync = parse_sync(option.substr(equals + 1));
  if (!sync) return Failure(sync.error());
  settings.sync = *sync;
  return {};
}

Status resolve(std::string_view path, SqliteSettings& settings) {
  namespace fs = std::filesystem;
  if (path.empty() || path.find('\0') != std::string_view::npos) {
    return invalid(path, "the URL has no path; write sqlite:PATH");
  }
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(fs::absolute(fs::path(path), error), error);
  if (error) return Failure(system_error(error.value(), "open", std::string(path)));
  if (fs::is_directory(canonical, error)) return Failure(system_error(EISDIR, "open", canonical));
  if (!fs::is_directory(canonical.parent_path(), error)) {
    return Failure(system_error(ENOENT, "open", canonical.parent_path()));
  }
  settings.path = canonical.string();
  return {};
}

}  // namespace

std::string short_name_of(std::string_view given) {
  constexpr std::size_t kLongest = 100;
  std::string name = file_name_of(given);
  if (name.size() <= kLongest) return name;
  char hash[32];
  std::snprintf(hash, sizeof hash, "%%%016llx", static_cast<unsigned long long>(hash_bytes(given)));
  return name.substr(0, kLongest) + hash;
}

Result<SqliteSettings> parse_settings(std::string_view location, std::string_view pool, std::uint32_t shard) {
  SqliteSettings settings;
  const std::size_t question = location.find('?');
  if (question != std::string_view::npos) {
    std::string_view options = location.substr(question + 1);
    while (!options.empty()) {
      const std::size_t end = std::min(options.find('&'), options.size());
      if (const Status parsed = parse_option(options.substr(0, end), settings); !parsed) {
        return Failure(parsed.error());
      }
      options.remove_prefix(std::min(end + 1, options.size()));
    }
  }
  if (const Status resolved = resolve(location.substr(0, question), settings); !resolved) {
    return Failure(resolved.error());
  }
  settings.own_first = settings.path + "-pool-" + short_name_of(pool) + ".db";
  settings.own_path = settings.own_first;
  if (shard == 0) return settings;
  for (std::string* path : {&settings.path, &settings.own_path}) *path += "-shard-" + std::to_string(shard);
  return settings;
}

}  // namespace tenure::sqlite
