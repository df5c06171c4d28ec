#include "guard/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <fstream>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace tenure::guard {
namespace {

bool read_all(const std::string& path, std::string& into) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  into.clear();
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
    if (size < 0) return false;
    if (size == 0) return true;
    into.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> found;
  DIR* open = opendir(folder.c_str());
  if (open == nullptr) return found;
  while (const dirent* entry = readdir(open)) {
    const std::string_view name(entry->d_name);
    pid_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) found.push_back(number);
  }
  closedir(open);
  return found;
}

// Zero if there is no such process.
pid_t parent_of(pid_t process) {
  std::string stat;
  if (!read_all("/proc/" + std::to_string(process) + "/stat", stat)) return 0;
  // "pid (name) state ppid …"; the name may contain anything, even parentheses.
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos || name_end + 4 >= stat.size()) return 0;
  pid_t parent = 0;
  std::from_chars(stat.data() + name_end + 4, stat.data() + stat.size(), parent);
  return parent;
}

// For kernels without /proc/…/children: reads everybody's parent.
std::vector<pid_t> children_by_parent(pid_t parent) {
  std::vector<pid_t> found;
  for (const pid_t process : numbers_in("/proc")) {
    if (parent_of(process) == parent) found.push_back(process);
  }
  return found;
}

struct Met {
  pid_t process;
  pid_t parent;
};

// A descendant that is not our child may be gone by now, and its number reused. The descriptor refers to one process,
// whose parent is checked afterwards. If the parent was just killed, the caller is the parent.
void kill_one(const Met& met) {
  if (met.parent == ::getpid()) {
    ::kill(met.process, SIGKILL);
    return;
  }
  const Descriptor held(static_cast<int>(syscall(SYS_pidfd_open, met.process, 0)));
  if (!held) return;
  const pid_t parent = parent_of(met.process);
  if (parent != met.parent && parent != ::getpid()) return;
  syscall(SYS_pidfd_send_signal, held.get(), SIGKILL, nullptr, 0);
}

}  // namespace

std::vector<pid_t> children_of(pid_t process) {
  static const bool listed =
      ::access(("/proc/self/task/" + std::to_string(::getpid()) + "/children").c_str(), R_OK) == 0;
  if (!listed) return children_by_parent(process);
  std::vector<pid_t> found;
  std::string text;
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  for (const pid_t thread : numbers_in(tasks)) {
    if (!read_all(tasks + "/" + std::to_string(thread) + "/children", text)) continue;
    const char* at = text.data();
    const char* end = at + text.size();
    while (at < end) {
      pid_t child = 0;
      const auto [next, error] = std::from_chars(at, end, child);
      if (error != std::errc()) break;
      found.push_back(child);
      at = next;
      while (at < end && *at == ' ') ++at;
    }
  }
  return found;
}

std::uint64_t tree_memory(pid_t process) {
  static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::uint64_t pages = 0;
  std::vector<pid_t> open{process};
  while (!open.empty()) {
    const pid_t each = open.back();
    open.pop_back();
    std::ifstream file("/proc/" + std::to_string(each) + "/statm");
    std::uint64_t whole = 0;
    std::uint64_t resident = 0;
    if (file >> whole >> resident) pages += resident;
    for (const pid_t child : children_of(each)) open.push_back(child);
  }
  return pages * page;
}

std::size_t kill_descendants(const std::set<pid_t>& spared) {
  std::size_t count = 0;
  std::vector<Met> open;
  for (const pid_t child : children_of(::getpid())) {
    if (!spared.contains(child)) open.push_back({child, ::getpid()});
  }
  while (!open.empty()) {
    const Met met = open.back();
    open.pop_back();
    ++count;
    // Its children are read first: once it is dead they belong to the caller, and the next pass finds them.
    for (const pid_t child : children_of(met.process)) open.push_back({child, met.process});
    kill_one(met);
  }
  return count;
}

}  // namespace tenure::guard
