// A worker process made with the library, for crash_test.py. The residents whose keys say so bring it down. A line on
// standard output for each thing that happens: "ready", "start KEY NANOSECONDS", "stop KEY NANOSECONDS".

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tenure/tenure.hpp>
#include <thread>

namespace {

volatile int* volatile nowhere = nullptr;

void say(const char* what, const std::string& key) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  std::printf("%s %s %lld\n", what, key.c_str(),
              static_cast<long long>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
  std::fflush(stdout);
}

void throw_it() { throw std::runtime_error("nobody catches this"); }
void throw_uncaught() noexcept { throw_it(); }

void commit(const std::string& deed) {
  if (deed == "null") *nowhere = 1;
  if (deed == "abort") std::abort();
  if (deed == "throw") throw_uncaught();
}

class Residents final : public tenure::Handler {
 public:
  tenure::Outcome start(tenure::Job& job) override {
    say("start", job.key());
    commit(job.payload());
    return {};
  }
  std::optional<std::string> stop(tenure::Job& job) override {
    say("stop", job.key());
    return std::nullopt;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  tenure::PoolOptions options;
  options.max_queued_jobs = 10'000;
  options.guard = tenure::Guard::on;
  auto pool = tenure::Pool::open(argv[2], argv[1], options);
  if (!pool) {
    std::fprintf(stderr, "%s\n", pool.error().message().c_str());
    return 1;
  }
  // Each of these residents has a thread of its own, and crashes there.
  auto own_thread = tenure::run_handler([](tenure::Job& job) -> std::string {
    say("start", job.key());
    commit(job.payload());
    std::promise<void> stopped;
    const std::stop_callback stop(job.stop_token(), [&stopped] { stopped.set_value(); });
    stopped.get_future().wait();
    say("stop", job.key());
    return "";
  });
  const bool threads = std::string(argv[3]).starts_with("threads");
  const auto added = pool->add_worker(threads ? own_thread : std::make_shared<Residents>(),
                                      {.id = argv[3], .join_timeout = std::chrono::seconds(30)});
  if (!added) {
    std::fprintf(stderr, "%s\n", added.error().message().c_str());
    return 1;
  }
  say("ready", argv[3]);
  std::this_thread::sleep_for(std::chrono::hours(1));
}
