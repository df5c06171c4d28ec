// A long task that is interrupted continues where it was: it saves its progress as a checkpoint, and the next attempt,
// in any process, starts from it.

#include <atomic>
#include <iostream>
#include <stdexcept>
#include <string>
#include <tenure/tenure.hpp>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  tenure::PoolOptions options;
  options.retry_backoff = 1ms;
  std::atomic<int> rows_read{0};  // before the pool: its handler may run for as long as there is one
  tenure::Pool pool("imports", argc > 1 ? argv[1] : "memory:imports", options);
  pool.add_worker([&](tenure::Job& job) -> tenure::Outcome {
        const int rows = std::stoi(job.payload());
        int row = job.last_checkpoint() ? std::stoi(*job.last_checkpoint()) : 0;
        for (; row < rows; ++row) {
          if (row % 100 == 0) job.checkpoint(std::to_string(row)).value();
          if (row == 250 && job.attempt() == 1) throw std::runtime_error("connection lost at row 250");
          ++rows_read;
        }
        return "imported " + std::to_string(row) + " rows, attempt " + std::to_string(job.attempt());
      })
      .value();
  std::cout << pool.dispatch_task("customers.csv", "1000").value().wait_done(10s).value() << ", " << rows_read
            << " rows read in all\n";
  return rows_read == 1050 ? 0 : 1;  // rows 200 to 249 twice
}
