#pragma once

// How a pool gets its workers. A factory is anything that can be called with a WorkerAlarm, or with nothing, and
// returns a worker: by value, as a std::unique_ptr, or either of these as a Result. It runs on threads of the pool's,
// several at a time; what it throws is a failed start.

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

// With this a worker tells its pool that it is dead: a connection that was closed by its peer, say. A copy may be kept
// wherever the news arrives. Thread-safe; does nothing once the worker has left, or the pool is gone.
class WorkerAlarm {
 public:
  WorkerAlarm(std::weak_ptr<CheckoutCore> core, detail::CheckoutSlot* slot, std::uint64_t number)
      : core_(std::move(core)), slot_(slot), number_(number) {}

  // A free worker is replaced at once; the holder of one that is held is told, and it is replaced when it comes back.
  void died(std::string_view reason = {}) const;
  // Nothing is wrong with it, but it is to be replaced as soon as it is free: it has served its time, say.
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
  // std::function wants to copy what it holds, and a factory need not allow that.
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
