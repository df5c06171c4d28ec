#pragma once

// A handler for each type of job. The worker takes jobs of these types only.
//
//     pool.add_worker(tenure::Handlers{{"email", send_email}, {"sms", send_sms}});
//
// A handler is a Handler, or a callable for tasks. The type "" is that of jobs without a type.

#include <initializer_list>
#include <memory>
#include <string>
#include <tenure/handler.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenure {

struct TypedHandler {
  TypedHandler(std::string of_type, std::shared_ptr<Handler> its_handler)
      : type(std::move(of_type)), handler(std::move(its_handler)) {}
  template <class Task>
    requires std::is_invocable_v<Task&, Job&>
  TypedHandler(std::string of_type, Task task)
      : TypedHandler(std::move(of_type), task_handler(detail::as_task(std::move(task)))) {}

  std::string type;
  std::shared_ptr<Handler> handler;
};

class Handlers {
 public:
  Handlers(std::initializer_list<TypedHandler> handlers) : handlers_(handlers) {}

  void add(TypedHandler handler) { handlers_.push_back(std::move(handler)); }
  const std::vector<TypedHandler>& all() const { return handlers_; }

 private:
  std::vector<TypedHandler> handlers_;
};

// Returns one handler that passes each job to the handler of its type. Null if a handler is null or a type occurs
// twice.
std::shared_ptr<Handler> handler_by_type(const Handlers& handlers);

}  // namespace tenure
