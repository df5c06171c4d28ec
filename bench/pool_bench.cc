// Measures how many tasks a second a pool in one process runs from dispatch to done, through the public API: one
// worker, many keys, and a bounded number of tasks in flight, as in a real program.
//
//     pool_bench URL [TASKS] [WINDOW] [KEYS]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <string>
#include <tenure/tenure.hpp>

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  const std::string url = argc > 1 ? argv[1] : "memory:bench";
  const int tasks = argc > 2 ? std::atoi(argv[2]) : 200'000;
  const std::size_t window = argc > 3 ? static_cast<std::size_t>(std::atoi(argv[3])) : 4'000;
  const int keys = argc > 4 ? std::atoi(argv[4]) : 10'000;

  tenure::PoolOptions options;
  options.max_queued_jobs = 1'000'000;
  tenure::Pool pool("bench", url, options);
  tenure::WorkerOptions worker;
  worker.window = 1U << 16;
  pool.add_worker([](tenure::Job&) {}, worker).value();

  const auto begun = std::chrono::steady_clock::now();
  std::deque<tenure::Ticket> open;
  int done = 0;
  const auto take_one = [&] {
    if (open.front().wait_done(60s)) ++done;
    open.pop_front();
  };
  for (int i = 0; i < tasks; ++i) {
    if (open.size() >= window) take_one();
    open.push_back(pool.dispatch_task("key-" + std::to_string(i % keys), "a small payload").value());
  }
  while (!open.empty()) take_one();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::printf("%s: %d of %d tasks done in %.3f s, %.0f a second\n", url.c_str(), done, tasks, seconds, tasks / seconds);
  return done == tasks ? 0 : 1;
}
