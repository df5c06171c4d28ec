#pragma once

// A bounded set of warm, costly workers inside one process: connections, parsers, sessions of a model. A caller holds
// a worker for as long as it has the lease.
//
//     tenure::CheckoutPool<Connection> pool([] { return Connection::open("db.internal"); });
//     auto connection = pool.checkout();  // waits for up to five seconds if it may
//     (*connection)->execute("…");        // and goes back at the end of the scope
//
// A checkout takes a free worker, preferably the one this thread had last. If none is free the pool grows up to
// max_workers; beyond that the caller waits, first come, first served, if the queue has room, and otherwise hears
// `overloaded` at once. A worker that dies, is discarded or too old is replaced.
//
// Thread-safe. Factories, callbacks and hooks run without a lock, and may use the pool; they must not close or destroy
// it. A fork of the process has no use of its parent's pools.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string_view>
#include <tenure/checkout_fast.hpp>
#include <tenure/checkout_lease.hpp>
#include <tenure/checkout_options.hpp>
#include <tenure/checkout_request.hpp>
#include <tenure/checkout_state.hpp>
#include <tenure/checkout_worker.hpp>
#include <tenure/result.hpp>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace tenure {

namespace detail {

// A CheckoutCore, of which callers see the door.
using CorePtr = std::shared_ptr<CheckoutDoor>;

Result<CorePtr> open_checkout(CheckoutOptions options, AnyFactory factory, AnyCheck validate,
                              const std::type_info& type);
Result<CorePtr> find_checkout(std::string_view name, const std::type_info& type);
CheckoutState state(const CheckoutDoor& door);
CheckoutMetrics metrics(const CheckoutDoor& door);
void suspend(CheckoutDoor& door);
void resume(CheckoutDoor& door);
Status drain(CheckoutDoor& door, std::chrono::nanoseconds timeout);
Status resize(CheckoutDoor& door, std::uint32_t default_workers, std::uint32_t max_workers);
void close(CheckoutDoor& door);

}  // namespace detail

// A pool that somebody else owns: all of it but its end. May be copied, and outlive the pool, which is then down.
template <class Worker>
class CheckoutRef {
 public:
  using Lease = CheckoutLease<Worker>;
  using Timeout = std::chrono::nanoseconds;
  static constexpr Timeout kDefaultTimeout = std::chrono::seconds(5);

  explicit CheckoutRef(detail::CorePtr core) : core_(std::move(core)) {}

  // The pool of that name in this process. Errc::no_such_pool; Errc::invalid if its workers are of another type.
  static Result<CheckoutRef> find(std::string_view name) {
    auto core = detail::find_checkout(name, typeid(Worker));
    if (!core) return Failure(std::move(core).error());
    return CheckoutRef(*std::move(core));
  }

  // A worker, or: Errc::overloaded, no worker is free and the queue is full or there is none; Errc::timed_out, waited
  // in vain; Errc::pool_down, with the reason. With force_enqueue the caller waits although the queue is full.
  Result<Lease> checkout(Timeout timeout = kDefaultTimeout, bool force_enqueue = false,
                         std::source_location where = std::source_location::current()) const {
    return detail::checkout(*core_, timeout, force_enqueue, where);
  }

  // See checkout_request.hpp. The call may come before this returns.
  CheckoutRequest<Worker> checkout_async(std::function<void(CheckoutNews<Worker>)> call,
                                         AsyncCheckoutOptions options = {},
                                         std::source_location where = std::source_location::current()) const {
    auto tell = [call = std::move(call)](CheckoutNewsKind kind, const detail::PendingPtr& pending) {
      call(CheckoutNews<Worker>(kind, pending));
    };
    return CheckoutRequest<Worker>(detail::checkout_async(core_, std::move(tell), std::move(options), where));
  }

  CheckoutState state() const { return detail::state(*core_); }
  CheckoutMetrics metrics() const { return detail::metrics(*core_); }

  // Nothing is handed out any more, what is held stays held, and checkouts wait as if no worker were free.
  void suspend() const { detail::suspend(*core_); }
  // Ends suspend() and drain().
  void resume() const { detail::resume(*core_); }
  // Refuses new checkouts, serves those that wait already, and waits until nothing is held. Errc::timed_out says how
  // much still is; the pool goes on draining.
  Status drain(Timeout timeout) const { return detail::drain(*core_, timeout); }
  // What is too much leaves as it becomes free. Errc::invalid as for the options.
  Status resize(std::uint32_t default_workers, std::uint32_t max_workers) const {
    return detail::resize(*core_, default_workers, max_workers);
  }

 protected:
  detail::CorePtr core_;
};

// Owns the pool. Move-only.
template <class Worker>
class CheckoutPool : public CheckoutRef<Worker> {
 public:
  // Run by the one who borrows a worker, before it gets it; one that is not valid is replaced, and the next one tried.
  // An exception means no.
  using Validate = std::function<bool(Worker&)>;

  // Does not wait for the workers to start. Errc::invalid: options that make no sense; Errc::key_exists: the name is
  // taken.
  template <class Factory>
  static Result<CheckoutPool> open(Factory factory, CheckoutOptions options = {}, Validate validate = {}) {
    detail::AnyCheck check;
    if (validate) {
      check = [validate = std::move(validate)](void* worker) { return validate(*static_cast<Worker*>(worker)); };
    }
    auto core = detail::open_checkout(std::move(options), detail::as_factory<Worker>(std::move(factory)),
                                      std::move(check), typeid(Worker));
    if (!core) return Failure(std::move(core).error());
    return CheckoutPool(*std::move(core));
  }
  // The same; throws BadResult where open() fails.
  template <class Factory>
    requires(!std::is_convertible_v<Factory, detail::CorePtr> &&
             !std::is_same_v<std::remove_cvref_t<Factory>, CheckoutPool>)
  explicit CheckoutPool(Factory factory, CheckoutOptions options = {}, Validate validate = {})
      : CheckoutPool(open(std::move(factory), std::move(options), std::move(validate)).value()) {}
  explicit CheckoutPool(detail::CorePtr core) : CheckoutRef<Worker>(std::move(core)) {}
  ~CheckoutPool() { close(); }
  CheckoutPool(CheckoutPool&& other) noexcept : CheckoutRef<Worker>(std::exchange(other.core_, nullptr)) {}
  CheckoutPool& operator=(CheckoutPool&& other) noexcept {
    if (this != &other) {
      close();
      this->core_ = std::exchange(other.core_, nullptr);
    }
    return *this;
  }
  CheckoutPool(const CheckoutPool&) = delete;
  CheckoutPool& operator=(const CheckoutPool&) = delete;

  // Checkouts, those that wait too, are refused with Errc::pool_down. Free workers are destroyed before it returns,
  // those that are held when they come back. Waits for factories that are running.
  void close() {
    if (this->core_) detail::close(*this->core_);
  }
  CheckoutRef<Worker> ref() const { return *this; }
};

}  // namespace tenure
