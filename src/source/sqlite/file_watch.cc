#include "source/sqlite/file_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

namespace tenure::source::sqlite {
namespace {

constexpr std::uint32_t kChanges = IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;

bool drain(int descriptor) {
  std::array<char, 4096> buffer;
  bool any = false;
  while (::read(descriptor, buffer.data(), buffer.size()) > 0) any = true;
  return any;
}

}  // namespace

FileWatch::FileWatch() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void FileWatch::follow(const std::string& database) {
  forget();
  files_ = Descriptor(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!files_) return;
  for (const std::string& path : {database, database + "-wal"}) {
    if (inotify_add_watch(files_.get(), path.c_str(), kChanges) >= 0) ++watches_;
  }
}

void FileWatch::forget() {
  files_.close();
  watches_ = 0;
}

FileWatch::Ended FileWatch::wait(Nanos span) {
  std::array<pollfd, 2> waited{
      {{.fd = wake_.get(), .events = POLLIN, .revents = 0}, {.fd = files_.get(), .events = POLLIN, .revents = 0}}};
  const Nanos left = std::max(span, Nanos(0));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
  ppoll(waited.data(), files_ ? 2 : 1, &timeout, nullptr);
  if (drain(wake_.get())) return Ended::woken;
  return files_ && drain(files_.get()) ? Ended::written : Ended::time;
}

void FileWatch::wake() const { eventfd_write(wake_.get(), 1); }

void FileWatch::touch(const std::string& database) {
  (void)utimensat(AT_FDCWD, (database + "-wal").c_str(), nullptr, 0);
}

}  // namespace tenure::source::sqlite
