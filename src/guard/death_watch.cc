#include "guard/death_watch.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"

namespace tenure::guard {
namespace {

using namespace std::chrono_literals;

constexpr off_t kLockBase = 1L << 40;
constexpr std::uint64_t kProbes = 64;
// The worker is gone, and its guard is still ending programs. Or there is no process to wait for.
constexpr Nanos kFirstLook = 1ms;
constexpr Nanos kLastLook = 50ms;
constexpr std::uint64_t kPostedTag = 0;  // no session has this number

std::uint64_t own_namespace() {
  struct stat found{};
  return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

// Only users who may write the database get access, under any umask. Ignores failures: a member of the database's group
// who does not own the file cannot change it, and need not.
void share_as(const std::string& database, int file) {
  mode_t mode = 0600;
  struct stat model{};
  struct stat own{};
  if (fstat(file, &own) != 0) return;
  if (stat(database.c_str(), &model) == 0) {
    for (const mode_t both : {mode_t{0060}, mode_t{0006}}) {
      if ((model.st_mode & both) == both) mode |= both;
    }
    if (model.st_gid != own.st_gid) (void)!fchown(file, static_cast<uid_t>(-1), model.st_gid);
  }
  if ((own.st_mode & 0777) != mode) (void)!fchmod(file, mode);
}

}  // namespace

Result<std::unique_ptr<DeathWatch>> DeathWatch::open(const std::string& database) {
  const std::string path = database + "-alive";
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  struct stat found{};
  if (!file || fstat(file.get(), &found) != 0) {
    return fail(Errc::unavailable, "watch for deaths", path + ": " + std::strerror(errno));
  }
  share_as(database, file.get());
  const std::uint64_t id = hash_mix(found.st_dev, found.st_ino) | 1;
  return std::unique_ptr<DeathWatch>(new DeathWatch(database, std::move(file), id));
}

DeathWatch::DeathWatch(std::string database, Descriptor file, std::uint64_t file_id)
    : database_(std::move(database)),
      file_(std::move(file)),
      file_id_(file_id),
      namespace_(own_namespace()),
      poll_(epoll_create1(EPOLL_CLOEXEC)) {
  ASSERT(poll_);
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kPostedTag}};
  ASSERT(epoll_ctl(poll_.get(), EPOLL_CTL_ADD, posted_.descriptor(), &event) == 0);
  thread_ = std::thread([this] { serve(); });
  pthread_setname_np(thread_.native_handle(), "tenure-deaths");
}

DeathWatch::~DeathWatch() {
  posted_.post([this] { stopping_ = true; });
  thread_.join();
}

void DeathWatch::hold(std::uint64_t session) {
  share_as(database_, file_.get());  // the database exists by now
  const std::lock_guard lock(mutex_);
  for (std::uint64_t probe = 0; probe < kProbes; ++probe) {
    const std::uint64_t slot = (session + probe) % kAliveSlots;
    const bool ours = std::any_of(own_.begin(), own_.end(), [&](const auto& entry) { return entry.second == slot; });
    if (ours || !this->lock(slot, true)) continue;
    if (!write(slot, {session, static_cast<std::uint64_t>(getpid()), namespace_, file_id_})) {
      this->lock(slot, false);  // the disk is full: only the lease tells about this session
      return;
    }
    own_[session] = slot;
    return;
  }
}

void DeathWatch::let_go(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  const auto own = own_.find(session);
  if (own == own_.end()) return;
  // A slot that could not be cleared must stay locked: unlocked, it would report the death of this process.
  if (write(own->second, {})) this->lock(own->second, false);
  own_.erase(own);
}

void DeathWatch::watch(std::uint64_t session) {
  posted_.post([this, session] { begin(session); });
}

void DeathWatch::forget(std::uint64_t session) {
  posted_.post([this, session] { watched_.erase(session); });
}

void DeathWatch::tell(std::function<void(std::uint64_t)> gone) {
  const std::lock_guard lock(telling_);
  gone_ = std::move(gone);
}

// Another file under this name is that of a pool that was made anew.
void DeathWatch::pool_ended() {
  struct stat own{};
  struct stat there{};
  const std::string path = database_ + "-alive";
  if (fstat(file_.get(), &own) != 0 || stat(path.c_str(), &there) != 0) return;
  if (own.st_dev == there.st_dev && own.st_ino == there.st_ino) unlink(path.c_str());
}

bool DeathWatch::lock(std::uint64_t slot, bool take) const {
  struct flock range{};
  range.l_type = static_cast<short>(take ? F_WRLCK : F_UNLCK);
  range.l_whence = SEEK_SET;
  range.l_start = kLockBase + static_cast<off_t>(slot);
  range.l_len = 1;
  return fcntl(file_.get(), F_OFD_SETLK, &range) == 0;
}

// An error counts as locked, because it proves nothing.
bool DeathWatch::is_locked(std::uint64_t slot) const {
  struct flock range{};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = kLockBase + static_cast<off_t>(slot);
  range.l_len = 1;
  return fcntl(file_.get(), F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK;
}

DeathWatch::Slot DeathWatch::read(std::uint64_t slot) const {
  Slot content{};
  const ssize_t size = pread(file_.get(), &content, sizeof content, static_cast<off_t>(slot * sizeof content));
  return size == static_cast<ssize_t>(sizeof content) ? content : Slot{};
}

bool DeathWatch::write(std::uint64_t slot, const Slot& content) const {
  return pwrite(file_.get(), &content, sizeof content, static_cast<off_t>(slot * sizeof content)) ==
         static_cast<ssize_t>(sizeof content);
}

void DeathWatch::serve() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  while (!stopping_) {
    std::array<epoll_event, 16> events{};
    const int count = epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), look_at_due());
    for (int i = 0; i < count; ++i) {
      const std::uint64_t tag = events.at(static_cast<std::size_t>(i)).data.u64;
      tag == kPostedTag ? posted_.run() : look_at(tag);
    }
  }
}

// The slot was written before anybody could know the session. Without a slot its death cannot be detected.
void DeathWatch::begin(std::uint64_t session) {
  if (watched_.contains(session)) return;
  for (std::uint64_t probe = 0; probe < kProbes; ++probe) {
    const std::uint64_t slot = (session + probe) % kAliveSlots;
    const Slot content = read(slot);
    if (content.session != session || content.file != file_id_) continue;
    Watched& watched = watched_[session];
    watched.slot = slot;
    if (!is_locked(slot)) return look_at(session);
    if (content.process_namespace == namespace_) {
      watched.process = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, content.process, 0)));
    }
    if (!watched.process) return look_at(session);
    epoll_event event{.events = EPOLLIN, .data = {.u64 = session}};
    epoll_ctl(poll_.get(), EPOLL_CTL_ADD, watched.process.get(), &event);
    return;
  }
}

// The process is gone, or cannot be observed.
void DeathWatch::look_at(std::uint64_t session) {
  const auto found = watched_.find(session);
  if (found == watched_.end()) return;
  Watched& watched = found->second;
  watched.process.close();
  // In this order: a process that leaves alive clears its slot first.
  if (!is_locked(watched.slot)) {
    const bool dead = read(watched.slot).session == session;
    watched_.erase(found);
    const std::lock_guard lock(telling_);
    if (dead && gone_) gone_(session);
    return;
  }
  watched.looking = true;
  watched.wait = std::clamp(watched.wait * 2, kFirstLook, kLastLook);
  watched.next = BootClock().now() + watched.wait;
}

// Returns for how long the thread may wait, in milliseconds.
int DeathWatch::look_at_due() {
  const Instant now = BootClock().now();
  std::vector<std::uint64_t> due;
  for (const auto& [session, watched] : watched_) {
    if (watched.looking && watched.next <= now) due.push_back(session);
  }
  for (const std::uint64_t session : due) look_at(session);
  std::optional<Instant> next;
  for (const auto& [session, watched] : watched_) {
    if (watched.looking && (!next || watched.next < *next)) next = watched.next;
  }
  if (!next) return -1;
  return static_cast<int>(std::max<std::int64_t>(to_ms(*next - BootClock().now() + 999us), 0));
}

}  // namespace tenure::guard
