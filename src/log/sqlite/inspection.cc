#include "log/sqlite/inspection.h"

#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>

#include "log/sqlite/settings.h"

namespace tenure::sqlite {
namespace {

constexpr std::uint64_t kFreeMin = 64U << 20;
// From <linux/magic.h>: file systems on which locks or shared memory do not reach other hosts.
constexpr std::array<long, 4> kRemote = {0x6969, 0xFF534D42, 0x517B, 0x65735546};

Finding durability(Sync sync) {
  const bool full = sync == Sync::full;
  return {"durability", full,
          full ? "acknowledged jobs survive a loss of power (sync=full)"
               : "acknowledged jobs survive crashes, but not a loss of power",
          "remove ?sync=… from the URL to lose nothing"};
}

void check_disk(const std::string& folder, std::vector<Finding>& findings) {
  struct statvfs space{};
  if (statvfs(folder.c_str(), &space) == 0) {
    const std::uint64_t free = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
    findings.push_back({"disk space", free >= kFreeMin, std::to_string(free >> 20) + " MiB free in " + folder,
                        "free some space: a full disk refuses new jobs, but loses none"});
  }
  struct statfs kind{};
  if (statfs(folder.c_str(), &kind) == 0) {
    const bool local = std::find(kRemote.begin(), kRemote.end(), static_cast<long>(kind.f_type)) == kRemote.end();
    findings.push_back(
        {"local file system", local,
         local ? "the file is on this host" : "the file is on a network or user-space file system",
         "SQLite's locks do not reach other hosts: put the file on a local disk, or use another engine"});
  }
}

}  // namespace

std::vector<Finding> inspect(std::string_view location) {
  const Result<SqliteSettings> settings = parse_settings(location, {});
  if (!settings) return {};
  std::vector<Finding> findings = {durability(settings->sync)};
  check_disk(std::filesystem::path(settings->path).parent_path().string(), findings);
  return findings;
}

}  // namespace tenure::sqlite
