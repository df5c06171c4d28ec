// A worker and a client. The client keeps no state and starts in constant time, and gets the worker's results and
// errors. Here both are in one process; with `sqlite:` they may be in two.

#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <tenure/tenure.hpp>
#include <vector>

using namespace std::chrono_literals;

namespace {

std::uint64_t fibonacci(unsigned n) {
  std::uint64_t a = 0;
  std::uint64_t b = 1;
  for (; n > 0; --n) b = a + std::exchange(a, b);
  return a;
}

std::string answer(tenure::Job& job) {
  const unsigned long n = std::stoul(job.payload());
  // Trying again would not help: the task goes to the dead letters, and the client gets the error.
  if (n > 93) throw tenure::NoRetry{"fibonacci(" + job.payload() + ") does not fit into 64 bits"};
  return std::to_string(fibonacci(static_cast<unsigned>(n)));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string url = argc > 1 ? argv[1] : "memory:fibonacci";
  tenure::Pool worker("fibonacci", url);
  worker.add_worker(answer).value();

  tenure::PoolOptions options;
  options.client_only = true;
  tenure::Pool client("fibonacci", url, options);
  std::vector<tenure::Ticket> tickets;
  for (int n = 0; n <= 100; n += 10) tickets.push_back(client.dispatch_task("n", std::to_string(n)).value());
  for (const tenure::Ticket& ticket : tickets) {
    const tenure::Result<std::string> result = ticket.wait_done(10s);
    std::cout << (result ? *result : result.error().message()) << '\n';
  }
  return tickets[9].wait_done(0s).value() == "2880067194370816120" && !tickets[10].wait_done(0s) ? 0 : 1;
}
