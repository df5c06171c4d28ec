// The functions that the templates of include/tenure/checkout*.hpp call.

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

const Error kCheckoutOverloaded{Errc::overloaded, "checkout", {}};

namespace {

CheckoutSlot& slot_of(CheckoutClaim claim) { return *static_cast<CheckoutSlot*>(claim.slot); }

CheckoutCore::Claim claim_of(CheckoutClaim claim) { return {&slot_of(claim), claim.generation}; }

CheckoutCore& core_of(CheckoutDoor& door) { return static_cast<CheckoutCore&>(door); }

const CheckoutCore& core_of(const CheckoutDoor& door) { return static_cast<const CheckoutCore&>(door); }

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
  auto core = CheckoutRegistry::of_process().find(name, type);
  if (!core) return Failure(std::move(core).error());
  return *std::move(core);
}

CheckoutAnswer checkout_attended(CheckoutDoor& door, std::chrono::nanoseconds timeout, bool force_enqueue,
                                 std::source_location where) {
  return core_of(door).checkout_attended(timeout, force_enqueue, where);
}

CheckoutAnswer checkout_claimed(CheckoutDoor& door, std::chrono::nanoseconds timeout, bool force_enqueue,
                                std::source_location where, CheckoutClaim claim) {
  return core_of(door).checkout_claimed(timeout, force_enqueue, where, claim_of(claim));
}

void checkin_attended(CheckoutClaim claim) noexcept { claim.slot->core->checkin_attended(claim_of(claim)); }

void checkin_late(CheckoutClaim claim) noexcept { claim.slot->core->checkin_late(slot_of(claim)); }

bool alive(CheckoutClaim claim) noexcept { return !slot_of(claim).has(CheckoutSlot::kDied); }

std::uint64_t number(CheckoutClaim claim) noexcept { return slot_of(claim).core->number(slot_of(claim)); }

void discard(CheckoutClaim claim, std::string_view reason) noexcept {
  claim.slot->core->discard(claim_of(claim), reason);
}

void watch(CheckoutClaim claim, std::function<void(std::string)> on_death) {
  claim.slot->core->watch(claim_of(claim), std::move(on_death));
}

CheckoutState state(const CheckoutDoor& door) { return core_of(door).state(); }

CheckoutMetrics metrics(const CheckoutDoor& door) { return core_of(door).metrics(); }

void suspend(CheckoutDoor& door) { core_of(door).suspend(); }

void resume(CheckoutDoor& door) { core_of(door).resume(); }

Status drain(CheckoutDoor& door, std::chrono::nanoseconds timeout) { return core_of(door).drain(timeout); }

Status resize(CheckoutDoor& door, std::uint32_t default_workers, std::uint32_t max_workers) {
  return core_of(door).resize(default_workers, max_workers);
}

void close(CheckoutDoor& door) {
  CheckoutCore& core = core_of(door);
  if (!core.name().empty()) CheckoutRegistry::of_process().remove(core.name(), &core);
  core.close();
}

PendingPtr checkout_async(const CorePtr& door, TellCheckout tell, AsyncCheckoutOptions options,
                          std::source_location where) {
  auto core = std::static_pointer_cast<CheckoutCore>(door);
  auto pending = std::make_shared<PendingCheckout>(std::move(core), std::move(tell), std::move(options), where);
  pending->begin();
  return pending;
}

Result<CheckoutClaim> confirm(PendingCheckout& pending) { return pending.confirm(); }

void cancel(PendingCheckout& pending) noexcept { pending.cancel(); }

void abandon(PendingCheckout& pending) noexcept { pending.abandon(); }

Error down_reason(const PendingCheckout& pending) { return pending.down_reason(); }

}  // namespace detail
}  // namespace tenure
