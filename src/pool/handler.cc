#include <stdexcept>
#include <tenure/handler.hpp>

namespace tenure {
namespace {

class TaskHandler final : public Handler {
 public:
  explicit TaskHandler(TaskFunction task) : task_(std::move(task)) {}
  std::vector<JobMatch> takes() const override { return {{.kind = JobKind::task}}; }
  Outcome run_task(Job& job) override { return task_(job); }

 private:
  const TaskFunction task_;
};

}  // namespace

// Called only if the worker takes jobs that its handler has no code for. A retry would not help.
Outcome Handler::start(Job& job) { return NoRetry{"worker '" + job.worker() + "' runs tasks only"}; }

std::optional<std::string> Handler::stop(Job& /*job*/) { return std::nullopt; }

void Handler::notify(Job& job, std::string_view /*message*/) {
  throw std::runtime_error("the handler of worker '" + job.worker() + "' takes no messages");
}

Outcome Handler::run_task(Job& job) { return NoRetry{"worker '" + job.worker() + "' runs residents only"}; }

std::shared_ptr<Handler> task_handler(TaskFunction task) { return std::make_shared<TaskHandler>(std::move(task)); }

}  // namespace tenure
