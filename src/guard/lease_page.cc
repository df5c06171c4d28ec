#include "guard/lease_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tenure::guard {
namespace {

constexpr std::size_t kPageBytes = sizeof(LeaseSlot) * kLeaseSlots + sizeof(LeasePageEnd);
static_assert(alignof(LeasePageEnd) <= alignof(LeaseSlot));
// Replaces the session while a slot is being filled in.
constexpr std::uint64_t kTaken = UINT64_MAX;

}  // namespace

Result<LeasePage> LeasePage::create() {
  Descriptor memory(memfd_create("tenure-lease", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory || fchmod(memory.get(), 0600) != 0 || ftruncate(memory.get(), kPageBytes) != 0 ||
      fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return fail(Errc::unavailable, "make the lease page", std::strerror(errno));
  }
  return adopt(std::move(memory));
}

Result<LeasePage> LeasePage::adopt(Descriptor memory) {
  void* mapped = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (mapped == MAP_FAILED) return fail(Errc::unavailable, "map the lease page", std::strerror(errno));
  return LeasePage(std::move(memory), static_cast<LeaseSlot*>(mapped));
}

LeasePage::LeasePage(LeasePage&& other) noexcept
    : memory_(std::move(other.memory_)), slots_(std::exchange(other.slots_, nullptr)) {}

LeasePage::~LeasePage() {
  if (slots_ != nullptr) munmap(slots_, kPageBytes);
}

bool Leases::renew(std::uint64_t session, Instant end_at, std::uint32_t log) {
  if (const int slot = find(session); slot >= 0) {
    page_[static_cast<std::size_t>(slot)].end_at = end_at.since_boot.count();
    return true;
  }
  const int slot = take_free(BootClock().now());
  if (slot < 0) return false;
  LeaseSlot& taken = page_[static_cast<std::size_t>(slot)];
  taken.log = log;
  taken.fenced = 0;
  taken.end_at = end_at.since_boot.count();  // before the session: others may take a slot whose time is over
  taken.session = session;
  return true;
}

void Leases::fence(std::uint64_t session) {
  if (const int slot = find(session); slot >= 0) page_[static_cast<std::size_t>(slot)].fenced = 1;
}

void Leases::over(std::uint64_t session) {
  if (const int slot = find(session); slot >= 0) {
    page_[static_cast<std::size_t>(slot)].end_at = 0;
    page_[static_cast<std::size_t>(slot)].session = 0;
  }
}

int Leases::acquire(std::uint64_t session) {
  const int slot = find(session);
  if (slot < 0) return -1;
  users_.at(static_cast<std::size_t>(slot)).fetch_add(1);
  if (page_[static_cast<std::size_t>(slot)].session == session) return slot;
  release(slot);  // another thread has just taken it
  return -1;
}

int Leases::find(std::uint64_t session) const {
  for (std::size_t i = 0; i < kLeaseSlots; ++i) {
    if (page_[i].session == session) return static_cast<int>(i);
  }
  return -1;
}

// An abandoned slot counts as free once its time is over. Several hearts may want the same one.
int Leases::take_free(Instant now) {
  for (std::size_t i = 0; i < kLeaseSlots; ++i) {
    std::uint64_t seen = page_[i].session;
    const bool past = seen == 0 || (seen != kTaken && page_[i].end_at < now.since_boot.count());
    if (!past || users_.at(i) != 0 || !page_[i].session.compare_exchange_strong(seen, kTaken)) continue;
    page_[i].end_at = 0;
    page_[i].log = kNoLog;
    return static_cast<int>(i);
  }
  return -1;
}

}  // namespace tenure::guard
