#include "checkout/registry.h"

#include "base/result.h"

namespace tenure {

CheckoutRegistry& CheckoutRegistry::of_process() {
  // Never destroyed: a pool may be a static object that is closed later.
  static CheckoutRegistry* const registry = new CheckoutRegistry;
  return *registry;
}

Status CheckoutRegistry::add(const std::string& name, const std::shared_ptr<CheckoutCore>& core,
                             const std::type_info& type) {
  const std::lock_guard lock(mutex_);
  if (!pools_.try_emplace(name, Entry{core, core.get(), &type}).second) {
    return fail(Errc::key_exists, "open checkout pool", name);
  }
  return {};
}

Result<std::shared_ptr<CheckoutCore>> CheckoutRegistry::find(std::string_view name, const std::type_info& type) const {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(name);
  std::shared_ptr<CheckoutCore> core;
  if (found != pools_.end()) core = found->second.core.lock();
  if (!core) return fail(Errc::no_such_pool, "find checkout pool", std::string(name));
  if (*found->second.type != type) {
    return fail(Errc::invalid, "find checkout pool", std::string(name) + ": its workers are of another type");
  }
  return core;
}

void CheckoutRegistry::remove(const std::string& name, const CheckoutCore* core) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(name);
  if (found != pools_.end() && found->second.address == core) pools_.erase(found);
}

}  // namespace tenure
