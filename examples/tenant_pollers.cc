// One background poller per tenant, in any of several processes. Each poller is a resident job: a function with its own
// thread, until its stop token is tripped. When a worker leaves, its pollers continue elsewhere.

#include <condition_variable>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <tenure/tenure.hpp>

using namespace std::chrono_literals;

namespace {

// What the pollers poll into; stands for a database.
class Inbox {
 public:
  void deliver(const std::string& tenant, const std::string& worker) {
    std::lock_guard lock(mutex_);
    ++polls_[tenant];
    last_[tenant] = worker;
    changed_.notify_all();
  }
  // True once every tenant was polled by this worker.
  bool wait_all_by(const std::string& worker, std::size_t tenants) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] {
      std::size_t count = 0;
      for (const auto& [tenant, by] : last_) count += by == worker ? 1U : 0U;
      return count == tenants;
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> polls_;
  std::map<std::string, std::string> last_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string url = argc > 1 ? argv[1] : "memory:tenants";
  Inbox inbox;
  const auto poller = tenure::run_handler([&](tenure::Job& job) -> std::string {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!job.stop_requested()) {
      inbox.deliver(job.key(), job.worker());
      wake.wait_for(lock, job.stop_token(), 10ms, [] { return false; });  // the polling interval
    }
    return "";
  });

  tenure::Pool pool("pollers", url);
  tenure::Worker first = pool.add_worker(poller, {.id = "first"}).value();
  constexpr std::size_t kTenants = 20;
  for (std::size_t i = 0; i < kTenants; ++i) {
    const tenure::Ticket ticket = pool.dispatch("tenant-" + std::to_string(i)).value();
    if (tenure::Status started = ticket.wait_started(10s); !started) {
      std::cerr << started.error().message() << '\n';
      return 1;
    }
  }
  if (!inbox.wait_all_by("first", kTenants)) return 1;

  pool.add_worker(poller, {.id = "second"}).value();
  first.remove().value();
  if (!inbox.wait_all_by("second", kTenants)) return 1;
  std::cout << kTenants << " tenants moved to the second worker, each polled by one at a time\n";
}
