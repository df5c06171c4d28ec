#pragma once

// A checkout pool: a bounded set of warm workers inside one process. A worker is any object that is costly to start:
// a connection, a parser, a model session. A caller has exclusive use of a worker while it holds the lease.
//
//     tenure::CheckoutPool<Connection> pool([] { return Connection::open("db.internal"); });
//     auto connection = pool.checkout();  // waits for up to five seconds if a worker is starting or the queue has room
//     (*connection)->execute("…");        // the worker goes back at the end of the scope
//
// A checkout takes a free worker, preferably the one that this thread used last. If none is free, the pool starts
// another, up to max_workers. After that, callers wait in a first-in, first-out queue. If the queue is full, the
// checkout fails at once with `overloaded`. The pool replaces workers that are dead, discarded or too old.
//
// Thread-safe. The pool calls factories, callbacks and hooks without holding a lock. They may use the pool, but must
// not close or destroy it. Do not use a pool in a forked child process.

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

// A CheckoutCore, seen through the base class that the inlined code needs.
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

// A reference to a pool that somebody else owns. It has all operations except close(). It can be copied, and it may
// outlive the pool: its checkouts then fail with Errc::pool_down. Thread-safe.
template <class Worker>
class CheckoutRef {
 public:
  using Lease = CheckoutLease<Worker>;
  using Timeout = std::chrono::nanoseconds;
  static constexpr Timeout kDefaultTimeout = std::chrono::seconds(5);

  explicit CheckoutRef(detail::CorePtr core) : core_(std::move(core)) {}

  // Finds a pool in this process by its name. Errc::no_such_pool if there is none; Errc::invalid if its workers have
  // another type.
  static Result<CheckoutRef> find(std::string_view name) {
    auto core = detail::find_checkout(name, typeid(Worker));
    if (!core) return Failure(std::move(core).error());
    return CheckoutRef(*std::move(core));
  }

  // Checks out a worker. Fails with Errc::overloaded if no worker is free or starting and the queue has no room; with
  // Errc::timed_out if no worker became free in time; with Errc::pool_down, and the reason, if the pool is closed,
  // draining or has given up. With force_enqueue the caller waits even if the queue is full.
  Result<Lease> checkout(Timeout timeout = kDefaultTimeout, bool force_enqueue = false,
                         std::source_location where = std::source_location::current()) const {
    return detail::checkout(*core_, timeout, force_enqueue, where);
  }

  // Checks out a worker without blocking (see checkout_request.hpp). `call` may run before this returns.
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

  // Stops handing out workers. Leases stay valid. New checkouts wait as if no worker were free.
  void suspend() const { detail::suspend(*core_); }
  // Ends suspend() and drain().
  void resume() const { detail::resume(*core_); }
  // Refuses new checkouts, serves the callers that already wait, and blocks until no worker is held. On a timeout it
  // fails with Errc::timed_out and the number of workers still held; the pool goes on draining.
  Status drain(Timeout timeout) const { return detail::drain(*core_, timeout); }
  // Changes the limits. Surplus workers leave when they become free. Errc::invalid for limits that open() would refuse.
  Status resize(std::uint32_t default_workers, std::uint32_t max_workers) const {
    return detail::resize(*core_, default_workers, max_workers);
  }

 protected:
  detail::CorePtr core_;
};

// Owns a pool, and closes it when destroyed. Thread-safe except for moving and destroying it. Move-only.
template <class Worker>
class CheckoutPool : public CheckoutRef<Worker> {
 public:
  // Decides whether a worker is fit for use. Runs on the caller's thread, before the caller gets the worker. If it
  // returns false or throws, the pool replaces the worker and tries the next one.
  using Validate = std::function<bool(Worker&)>;

  // Opens a pool. Does not wait for the workers to start. Errc::invalid: the options are out of range or contradict
  // each other. Errc::key_exists: another pool in this process has the name.
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
  // The same, but throws BadResult if open() fails.
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

  // Closes the pool. New and waiting checkouts fail with Errc::pool_down. Free workers are destroyed before this
  // returns, held workers when their leases end. Waits for factories that are running.
  void close() {
    if (this->core_) detail::close(*this->core_);
  }
  CheckoutRef<Worker> ref() const { return *this; }
};

}  // namespace tenure
