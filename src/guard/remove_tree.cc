#include "guard/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/entropy.h"

namespace tenure::guard {
namespace {

// Opens a folder so that it can be read and changed. Nothing if it is not a folder, or if something is mounted there: a
// mounted file system is not ours. A name whose meaning changes meanwhile is never followed: a file opened with O_PATH
// stays the same.
Descriptor open_folder(int parent, const char* name) {
  const Descriptor handle(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct statx facts{};
  if (!handle || statx(handle.get(), "", AT_EMPTY_PATH, STATX_MODE, &facts) != 0) return {};
  if ((facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) return {};
  if ((facts.stx_mode & S_IRWXU) != S_IRWXU) {
    ::chmod(("/proc/self/fd/" + std::to_string(handle.get())).c_str(), S_IRWXU);
  }
  return Descriptor(::openat(handle.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

class Removal {
 public:
  Removal(int top, const std::atomic<bool>& stop)
      : top_(top), stop_(stop), prefix_(to_hex(SystemEntropy().id()) + "-") {}

  // Empties the folder, unless something in it cannot be removed.
  void run() {
    // Folders that are moved up while the entries are read may appear in this pass or in the next.
    for (bool progress = true; progress && !stop_;) {
      progress = false;
      each_entry(top_, [&](const char* name) { progress = remove_one(name) || progress; });
    }
  }

 private:
  // True if it changed something.
  bool remove_one(const char* name) {
    if (::unlinkat(top_, name, 0) == 0 || ::unlinkat(top_, name, AT_REMOVEDIR) == 0) return true;
    if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES && errno != EPERM) return false;
    const Descriptor folder = open_folder(top_, name);
    if (!folder) return false;
    bool progress = false;
    each_entry(folder.get(), [&](const char* entry) {
      progress = ::unlinkat(folder.get(), entry, 0) == 0 || ::unlinkat(folder.get(), entry, AT_REMOVEDIR) == 0 ||
                 move_up(folder.get(), entry) || progress;
    });
    return ::unlinkat(top_, name, AT_REMOVEDIR) == 0 || progress;
  }

  // Moves a folder that is not empty. It must be writable itself. Mounted folders cannot be moved.
  bool move_up(int from, const char* name) {
    if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES && errno != EPERM) return false;
    const std::string new_name = prefix_ + std::to_string(++moved_);
    const Descriptor folder = open_folder(from, name);
    return folder && ::renameat(from, name, top_, new_name.c_str()) == 0;
  }

  void each_entry(int folder, const std::function<void(const char*)>& take) const {
    const int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(own < 0 ? nullptr : ::fdopendir(own), ::closedir);
    if (!entries) return;
    while (const dirent* entry = stop_ ? nullptr : ::readdir(entries.get())) {
      if (std::strcmp(&entry->d_name[0], ".") != 0 && std::strcmp(&entry->d_name[0], "..") != 0) {
        take(&entry->d_name[0]);
      }
    }
  }

  const int top_;
  const std::atomic<bool>& stop_;
  const std::string prefix_;  // of moved folders; a program cannot guess it
  std::uint64_t moved_ = 0;
};

}  // namespace

bool remove_tree(const std::string& path, const std::atomic<bool>& stop) {
  if (::unlink(path.c_str()) == 0 || ::rmdir(path.c_str()) == 0 || errno == ENOENT) return true;
  const Descriptor top = open_folder(AT_FDCWD, path.c_str());
  if (!top) return false;
  Removal(top.get(), stop).run();
  return ::rmdir(path.c_str()) == 0;
}

bool remove_tree(const std::string& path) {
  const std::atomic<bool> never = false;
  return remove_tree(path, never);
}

}  // namespace tenure::guard
