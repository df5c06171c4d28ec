// A pool of Python interpreters: programs in another language that are expensive to start and do one thing at a time.
// Each is a separate process, so an error, a leak or a timeout ends only that one. The program is
// examples/workers/python_worker.py. Exits with code 0 if every answer was as expected.

#include <cstdio>
#include <string>
#include <tenure/checkout_process.hpp>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  tenure::ProcessOptions python;
  python.command = {"python3", argc > 1 ? argv[1] : "examples/workers/python_worker.py"};
  python.says_ready = true;
  python.limits.calls = 1000;                 // then a fresh one takes its place
  python.limits.memory_bytes = 512ULL << 20;  // the same, when it is next free
  python.limits.call_time = 30s;              // then it is killed

  tenure::CheckoutOptions options;
  options.default_workers = options.max_workers = 2;
  options.max_queue = -1;
  auto pool = tenure::open_process_pool(python, options);
  if (!pool) return std::fprintf(stderr, "%s\n", pool.error().message().c_str()), 1;

  std::vector<std::string> answers(4);
  std::vector<std::thread> callers;
  callers.reserve(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    callers.emplace_back([&, i] {
      auto interpreter = pool->checkout(30s);
      if (!interpreter) return;
      const auto answer = (*interpreter)->call("math.factorial(" + std::to_string(20 + i) + ")", 10s);
      answers[i] = answer ? *answer : answer.error().message();
    });
  }
  for (auto& caller : callers) caller.join();
  for (const std::string& answer : answers) std::printf("%s\n", answer.c_str());

  auto interpreter = pool->checkout(30s);
  if (!interpreter) return 1;
  const auto wrong = (*interpreter)->call("1 / 0", 10s);
  const auto endless = (*interpreter)->call("[0 for _ in iter(int, 1)]", 200ms);
  interpreter->checkin();
  std::printf("%s\n%s\n", wrong.error().message().c_str(), endless.error().message().c_str());
  const auto after = pool->checkout(30s);
  const bool goes_on = after && (*after)->call("6 * 7", 10s).value_or("") == "42";
  return answers[0] == "2432902008176640000" && !wrong && !endless && goes_on ? 0 : 1;
}
