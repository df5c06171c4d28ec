#pragma once

// The named pools of this process.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tenure/result.hpp>
#include <typeinfo>

namespace tenure {

class CheckoutCore;

// Thread-safe.
class CheckoutRegistry {
 public:
  static CheckoutRegistry& of_process();

  // Errc::key_exists if a pool of that name is open.
  Status add(const std::string& name, const std::shared_ptr<CheckoutCore>& core, const std::type_info& type);
  // Errc::no_such_pool; Errc::invalid if its workers are of another type.
  Result<std::shared_ptr<CheckoutCore>> find(std::string_view name, const std::type_info& type) const;
  // Only if the name belongs to this pool.
  void remove(const std::string& name, const CheckoutCore* core);

 private:
  struct Entry {
    std::weak_ptr<CheckoutCore> core;
    const CheckoutCore* address;
    const std::type_info* type;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> pools_;  // guarded by mutex_
};

}  // namespace tenure
