#include <map>
#include <tenure/handlers.hpp>

namespace tenure {
namespace {

// Thread-safe: nothing changes after construction.
class HandlerByType final : public Handler {
 public:
  // False if the type has a handler already, or this is none.
  bool add(const TypedHandler& typed) {
    return typed.handler != nullptr && handlers_.emplace(typed.type, typed.handler).second;
  }

  // What each handler takes, of its type.
  std::vector<JobMatch> takes() const override {
    std::vector<JobMatch> all;
    for (const auto& [type, handler] : handlers_) {
      const std::vector<JobMatch> taken = handler->takes();
      if (taken.empty()) all.push_back({.kind = {}, .type = type});
      for (const JobMatch& match : taken) {
        if (!match.type || *match.type == type) all.push_back({.kind = match.kind, .type = type});
      }
    }
    return all;
  }

  Outcome start(Job& job) override {
    Handler* handler = of(job);
    return handler == nullptr ? Handler::start(job) : handler->start(job);
  }
  std::optional<std::string> stop(Job& job) override {
    Handler* handler = of(job);
    return handler == nullptr ? std::nullopt : handler->stop(job);
  }
  void notify(Job& job, std::string_view message) override {
    if (Handler* handler = of(job)) handler->notify(job, message);
  }
  Outcome run_task(Job& job) override {
    Handler* handler = of(job);
    return handler == nullptr ? Handler::run_task(job) : handler->run_task(job);
  }

 private:
  // Null only if WorkerOptions::takes names a type that has no handler.
  Handler* of(const Job& job) const {
    const auto found = handlers_.find(job.type());
    return found == handlers_.end() ? nullptr : found->second.get();
  }

  std::map<std::string, std::shared_ptr<Handler>, std::less<>> handlers_;
};

}  // namespace

std::shared_ptr<Handler> handler_by_type(const Handlers& handlers) {
  auto by_type = std::make_shared<HandlerByType>();
  for (const TypedHandler& typed : handlers.all()) {
    if (!by_type->add(typed)) return nullptr;
  }
  return handlers.all().empty() ? nullptr : by_type;
}

}  // namespace tenure
