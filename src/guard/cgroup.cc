#include "guard/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/entropy.h"

namespace tenure::guard {
namespace {

constexpr std::string_view kGroupPrefix = "tenure-";
// Time for the kernel to end killed processes.
constexpr int kPassesMax = 200;
constexpr int kPassMs = 1;
constexpr int kTriesMax = 5;

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// tenure-PID-RANDOM. Somebody else's group may begin in the same way.
bool is_group_name(std::string_view name) {
  if (!name.starts_with(kGroupPrefix)) return false;
  name.remove_prefix(kGroupPrefix.size());
  const std::size_t dash = name.find('-');
  return dash != std::string_view::npos && is_number(name.substr(0, dash)) && is_number(name.substr(dash + 1));
}

bool write_word(const std::string& path, const std::string& word) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), word.data(), word.size()) == static_cast<ssize_t>(word.size());
}

bool is_empty(const std::string& group) {
  std::ifstream events(group + "/cgroup.events");
  std::string name;
  int value = 0;
  while (events >> name >> value) {
    if (name == "populated") return value == 0;
  }
  return true;  // it is gone
}

bool kill_group(const std::string& group) {
  if (is_empty(group)) return true;
  write_word(group + "/cgroup.kill", "1");
  return is_empty(group);
}

// Programs may have created groups inside it.
void remove_group(const std::string& group, int depth = 0) {
  if (DIR* open = depth < 8 ? opendir(group.c_str()) : nullptr; open != nullptr) {
    while (const dirent* entry = readdir(open)) {
      const std::string_view name(entry->d_name);
      if (entry->d_type == DT_DIR && name != "." && name != "..")
        remove_group(group + "/" + std::string(name), depth + 1);
    }
    closedir(open);
  }
  rmdir(group.c_str());
}

bool end_group(const std::string& group) {
  for (int i = 0; i < kPassesMax; ++i) {
    if (kill_group(group)) {
      remove_group(group);
      return true;
    }
    poll(nullptr, 0, kPassMs);
  }
  return false;
}

// This process's group in the hierarchy of version 2. Empty if there is none.
std::string own_group() {
  std::ifstream mounts("/proc/self/mounts");
  std::string mounted;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device;
    std::string where;
    std::string type;
    if (words >> device >> where >> type && type == "cgroup2") mounted = where;
  }
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; !mounted.empty() && std::getline(groups, line);) {
    if (line.starts_with("0::/")) return mounted + (line == "0::/" ? "" : line.substr(3));
  }
  return {};
}

Failure no_group(const std::string& what) {
  return fail(Errc::unavailable, "make a control group", what + ": " + std::strerror(errno));
}

}  // namespace

Result<std::unique_ptr<Cgroup>> Cgroup::create(std::string parent) {
  if (parent.empty()) parent = own_group();
  if (parent.empty()) return fail(Errc::unavailable, "make a control group", "this host has no hierarchy of version 2");
  Status made;
  for (int i = 0; i < kTriesMax; ++i) {
    const std::string path = parent + "/" + std::string(kGroupPrefix) + std::to_string(getpid()) + "-" +
                             std::to_string(SystemEntropy().id());
    if (mkdir(path.c_str(), 0700) != 0) return no_group(path);
    Descriptor lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const bool locked = lock && flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
    if (locked && access((path + "/cgroup.kill").c_str(), W_OK) == 0) {
      std::unique_ptr<Cgroup> group(new Cgroup(std::move(parent), path, std::move(lock)));
      group->end_left_behind();
      return group;
    }
    made = no_group(path + "/cgroup.kill");
    rmdir(path.c_str());
    if (locked) break;  // otherwise another worker took it for an abandoned one
  }
  return Failure(made.error());
}

Cgroup::~Cgroup() { end_group(path_); }

Status Cgroup::admit(pid_t process) const {
  if (write_word(path_ + "/cgroup.procs", std::to_string(process))) return {};
  return no_group(path_ + "/cgroup.procs");
}

bool Cgroup::kill() const { return kill_group(path_); }

bool Cgroup::end_left_behind() const {
  DIR* open = opendir(parent_.c_str());
  if (open == nullptr) return true;
  bool all = true;
  const std::string_view own = std::string_view(path_).substr(parent_.size() + 1);
  while (const dirent* entry = readdir(open)) {
    if (!is_group_name(entry->d_name) || entry->d_name == own) continue;
    const std::string other = parent_ + "/" + entry->d_name;
    const Descriptor lock(::open(other.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat found{};
    if (!lock || fstat(lock.get(), &found) != 0 || found.st_uid != geteuid()) continue;
    if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) all = end_group(other) && all;
  }
  closedir(open);
  return all;
}

bool alone_in_cgroup(const std::string& path) {
  std::ifstream processes(path + "/cgroup.procs");
  for (pid_t process = 0; processes >> process;) {
    if (process != getpid()) return false;
  }
  std::ifstream stat(path + "/cgroup.stat");
  std::string name;
  std::uint64_t value = 0;
  while (stat >> name >> value) {
    if (name == "nr_descendants") return value == 0;
  }
  return true;  // it is gone
}

void leave_cgroup(const std::string& path) {
  const std::string parent = path.substr(0, path.rfind('/'));
  if (write_word(parent + "/cgroup.procs", std::to_string(getpid()))) end_group(path);
}

}  // namespace tenure::guard
