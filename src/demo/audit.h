#pragma once

// Judges a pool by the ledger's journal alone: who began when, which writes were accepted, and which were refused.
// Pure.
//
// Times are readings of CLOCK_BOOTTIME, which all processes of a host share. A worker takes the time of a begin when
// the handler is called, before it claims anything in the ledger. If the ledger still accepts a write of the old holder
// after that, it counts as a second holder, even if an epoch would have stopped it later.

#include <cstdint>
#include <map>
#include <string>

namespace tenure::demo {

struct JournalLine {
  enum class What : std::uint8_t { begin = 1, tick = 2, refused = 3 };

  std::int64_t id = 0;
  What what = What::tick;
  std::string key{};
  std::string worker{};
  std::uint64_t epoch = 0;
  std::uint64_t value = 0;  // a tick's number; for a refused write, the epoch that the ledger has
  std::int64_t at_ns = 0;
};

// Not thread-safe.
class Audit {
 public:
  // Call it for each line, in the ledger's order.
  void take(const JournalLine& line);

  std::uint64_t double_holders() const { return double_holders_; }
  // Ticks that are missing in their tenant's sequence, or occur twice.
  std::uint64_t lost() const { return lost_; }
  std::uint64_t refused() const { return refused_; }
  std::uint64_t ticks() const { return ticks_; }
  // The number of the key's last tick; zero before the first.
  std::uint64_t last_tick(const std::string& key) const;

 private:
  struct Tenant {
    std::uint64_t last_tick = 0;
    std::uint64_t tick_epoch = 0;  // of the last tick
    std::int64_t tick_ns = 0;
    std::uint64_t newest_epoch = 0;  // of the newest holder
    std::int64_t newest_begin_ns = 0;
  };

  void tick(Tenant& tenant, const JournalLine& line);
  static bool overlap(const Tenant& tenant);

  std::map<std::string, Tenant> tenants_;
  std::uint64_t double_holders_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t ticks_ = 0;
};

}  // namespace tenure::demo
