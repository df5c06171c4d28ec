#include "demo/audit.h"

namespace tenure::demo {

void Audit::take(const JournalLine& line) {
  Tenant& tenant = tenants_[line.key];
  switch (line.what) {
    case JournalLine::What::refused: ++refused_; return;
    case JournalLine::What::tick: return tick(tenant, line);
    case JournalLine::What::begin:
      if (line.epoch <= tenant.newest_epoch) return;
      tenant.newest_epoch = line.epoch;
      tenant.newest_begin_ns = line.at_ns;
      // The old holder may have written between the new holder's begin and its claim.
      if (overlap(tenant)) ++double_holders_;
      return;
  }
}

void Audit::tick(Tenant& tenant, const JournalLine& line) {
  ++ticks_;
  if (line.value > tenant.last_tick) {
    lost_ += line.value - tenant.last_tick - 1;
    tenant.last_tick = line.value;
  } else {
    ++lost_;
  }
  tenant.tick_epoch = line.epoch;
  tenant.tick_ns = line.at_ns;
  if (overlap(tenant)) ++double_holders_;
}

bool Audit::overlap(const Tenant& tenant) {
  return tenant.tick_epoch != 0 && tenant.tick_epoch < tenant.newest_epoch && tenant.tick_ns > tenant.newest_begin_ns;
}

std::uint64_t Audit::last_tick(const std::string& key) const {
  const auto found = tenants_.find(key);
  return found == tenants_.end() ? 0 : found->second.last_tick;
}

}  // namespace tenure::demo
