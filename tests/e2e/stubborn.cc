// A worker of the library whose handler ignores its stop token until a file appears.
//
//   e2e_stubborn ENGINE FILE end|keep
//
// Prints on standard output what happens to it: "begin EPOCH", "end EPOCH", and each line of the pool's log.

#include <filesystem>
#include <iostream>
#include <mutex>
#include <string>
#include <tenure/tenure.hpp>
#include <thread>

using namespace std::chrono_literals;

namespace {

void say(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::cout << line << std::endl;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 64;
  const std::filesystem::path file = words[2];
  tenure::PoolOptions options;
  options.worker_ttl = 1s;
  options.on_lease_lost =
      words[3] == std::string("keep") ? tenure::OnLeaseLost::keep_running : tenure::OnLeaseLost::end_process;
  options.logger = [](tenure::LogLevel, std::string_view text) { say("log " + std::string(text)); };
  tenure::Pool pool("default", words[1], options);
  const auto worker = pool.add_worker([&](tenure::Job& job) {
    say("begin " + std::to_string(job.epoch()));
    while (!exists(file)) std::this_thread::sleep_for(5ms);
    say("end " + std::to_string(job.epoch()));
  });
  if (!worker) {
    say(worker.error().message());
    return 1;
  }
  std::cin.get();
}
