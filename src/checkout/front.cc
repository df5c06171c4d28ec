// What the templates of include/tenure/checkout*.hpp call.

#include <tenure/checkout.hpp>

#include "checkout/check_options.h"
#include "checkout/core.h"
#include "checkout/pending_checkout.h"
#include "checkout/registry.h"

namespace tenure {

void WorkerAlarm::died(std::string_view reason) const {
  if (const auto core = core_.lock()) core->died(*slot_, number_, reason);
}

void WorkerAlarm::retire(std::string_view reason) const {
  if (const auto core = core_.lock()) core->wear_out(*slot_, number_, reason);
}

namespace detail {
namespace {

CheckoutSlot& slot_of(CheckoutClaim claim) { return *static_cast<CheckoutSlot*>(claim.slot); }

}  // namespace

Result<CorePtr> open_checkout(CheckoutOptions options, AnyFactory factory, AnyCheck validate,
                              const std::type_info& type) {
  if (Status checked = check_options(options); !checked) return Failure(std::move(checked).error());
  CheckoutSurroundings surroundings = CheckoutSurroundings::real(options);
  auto core = std::make_shared<CheckoutCore>(std::move(options), std::move(factory), std::move(validate),
                                             std::move(surroundings));
  if (!core->name().empty()) {
    if (Status added = CheckoutRegistry::of_process().add(core->name(), core, type); !added) {
      core->close();
      return Failure(std::move(added).error());
    }
  }
  core->begin();
  return core;
}

Result<CorePtr> find_checkout(std::string_view name, const std::type_info& type) {
  return CheckoutRegistry::of_process().find(name, type);
}

bool alive(CheckoutClaim claim) noexcept { return !slot_of(claim).has(CheckoutSlot::kDied); }

std::uint64_t number(CheckoutClaim claim) noexcept { return slot_of(claim).core->number(slot_of(claim)); }

void discard(CheckoutClaim claim, std::string_view reason) noexcept {
  slot_of(claim).core->discard({&slot_of(claim), claim.generation}, reason);
}

void watch(CheckoutClaim claim, std::function<void(std::string)> on_death) {
  slot_of(claim).core->watch({&slot_of(claim), claim.generation}, std::move(on_death));
}

CheckoutState state(const CheckoutCore& core) { return core.state(); }

CheckoutMetrics metrics(const CheckoutCore& core) { return core.metrics(); }

void suspend(CheckoutCore& core) { core.suspend(); }

void resume(CheckoutCore& core) { core.resume(); }

Status drain(CheckoutCore& core, std::chrono::nanoseconds timeout) { return core.drain(timeout); }

Status resize(CheckoutCore& core, std::uint32_t default_workers, std::uint32_t max_workers) {
  return core.resize(default_workers, max_workers);
}

void close(CheckoutCore& core) {
  if (!core.name().empty()) CheckoutRegistry::of_process().remove(core.name(), &core);
  core.close();
}

PendingPtr checkout_async(const CorePtr& core, TellCheckout tell, AsyncCheckoutOptions options,
                          std::source_location where) {
  auto pending = std::make_shared<PendingCheckout>(core, std::move(tell), std::move(options), where);
  pending->begin();
  return pending;
}

Result<CheckoutClaim> confirm(PendingCheckout& pending) { return pending.confirm(); }

void cancel(PendingCheckout& pending) noexcept { pending.cancel(); }

void abandon(PendingCheckout& pending) noexcept { pending.abandon(); }

Error down_reason(const PendingCheckout& pending) { return pending.down_reason(); }

}  // namespace detail
}  // namespace tenure
