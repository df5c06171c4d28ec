// A user's own rule for who holds which key: here the region that the key starts with, and among a region's workers the
// eldest. The function's choices are written to the log, so all nodes agree without calling it.

#include <iostream>
#include <string>
#include <tenure/tenure.hpp>

using namespace std::chrono_literals;

namespace {

std::size_t by_region(std::string_view key, const std::vector<tenure::WorkerView>& workers) {
  const std::string_view region = key.substr(0, key.find('/'));
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (workers[i].id.starts_with(region)) return i;
  }
  return 0;  // nobody in that region: the eldest of all
}

}  // namespace

int main(int argc, char** argv) {
  tenure::PoolOptions options;
  options.assignment = tenure::Assignment::chosen;
  options.choose = by_region;
  tenure::Pool pool("regions", argc > 1 ? argv[1] : "memory:regions", options);
  const auto echo = [](tenure::Job& job) { return job.worker(); };
  for (const char* id : {"eu-1", "us-1", "us-2"}) pool.add_worker(echo, {.id = id}).value();

  bool good = true;
  for (const auto& [key, worker] : {std::pair{"eu/anna", "eu-1"}, {"us/bob", "us-1"}, {"asia/chen", "eu-1"}}) {
    const std::string held_by = pool.dispatch_task(key).value().wait_done(10s).value();
    std::cout << key << " was held by " << held_by << '\n';
    good = good && held_by == worker;
  }
  return good ? 0 : 1;
}
