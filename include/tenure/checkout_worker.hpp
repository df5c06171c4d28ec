#pragma once

// How a checkout pool gets its workers.
//
// A factory is a callable that takes a WorkerAlarm, or nothing, and returns a worker: by value, as a std::unique_ptr,
// or as a Result of either. It must be thread-safe: the pool calls it on its own threads, several at a time. An
// exception counts as a failed start.
//
//     [](const tenure::WorkerAlarm& alarm) -> tenure::Result<std::unique_ptr<Connection>> {
//       auto connection = Connection::open("db.internal");
//       if (connection) (*connection)->on_close([alarm] { alarm.died("closed by the server"); });
//       return connection;
//     }

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <tenure/result.hpp>
#include <type_traits>
#include <utility>

namespace tenure {

class CheckoutCore;

namespace detail {
struct CheckoutSlot;
}

// Reports to the pool that a worker is dead, for example because the peer closed the connection. Keep a copy where the
// worker's errors arrive. Thread-safe. Has no effect after the worker has left or the pool is gone.
class WorkerAlarm {
 public:
  WorkerAlarm(std::weak_ptr<CheckoutCore> core, detail::CheckoutSlot* slot, std::uint64_t number)
      : core_(std::move(core)), slot_(slot), number_(number) {}

  // Replaces the worker: at once if it is free, otherwise at the checkin. Its holder sees alive() become false, and its
  // on_death() callback runs.
  void died(std::string_view reason = {}) const;
  // Replaces a healthy worker as soon as it is free, for example because of its age.
  void retire(std::string_view reason = {}) const;

 private:
  std::weak_ptr<CheckoutCore> core_;
  detail::CheckoutSlot* slot_;
  std::uint64_t number_;
};

namespace detail {

using WorkerPtr = std::unique_ptr<void, void (*)(void*)>;
using AnyFactory = std::function<Result<WorkerPtr>(const WorkerAlarm&)>;
using AnyCheck = std::function<bool(void*)>;

template <class Worker>
WorkerPtr erase_worker(std::unique_ptr<Worker> worker) {
  return WorkerPtr(worker.release(), [](void* object) { delete static_cast<Worker*>(object); });
}

template <class Worker, class Made>
Result<WorkerPtr> as_worker(Made made) {
  if constexpr (std::is_convertible_v<Made, std::unique_ptr<Worker>>) {
    std::unique_ptr<Worker> worker = std::move(made);
    if (!worker) return Failure(Error{Errc::invalid, "start", "the factory gave a null pointer"});
    return erase_worker<Worker>(std::move(worker));
  } else if constexpr (std::is_constructible_v<Worker, Made&&>) {
    return erase_worker<Worker>(std::make_unique<Worker>(std::move(made)));
  } else {
    if (!made) return Failure(std::move(made).error());
    return as_worker<Worker>(*std::move(made));
  }
}

template <class Worker, class Factory>
AnyFactory as_factory(Factory factory) {
  // A std::function must be copyable, and a factory may be move-only.
  auto shared = std::make_shared<Factory>(std::move(factory));
  return [shared](const WorkerAlarm& alarm) -> Result<WorkerPtr> {
    if constexpr (std::is_invocable_v<Factory&, const WorkerAlarm&>) {
      return as_worker<Worker>((*shared)(alarm));
    } else {
      return as_worker<Worker>((*shared)());
    }
  };
}

}  // namespace detail
}  // namespace tenure
