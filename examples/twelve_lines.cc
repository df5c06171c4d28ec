// A worker pool in twelve lines, on a file. Run it in two terminals, and they share the work.
#include <iostream>
#include <tenure/tenure.hpp>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  tenure::Pool pool("mail", argc > 1 ? argv[1] : "sqlite:mail.db");
  pool.add_worker([](tenure::Job& job) { return "sent " + job.payload() + " for " + job.key(); }).value();
  const tenure::Ticket ticket = pool.dispatch_task("tenant-1", "hello").value();
  std::cout << ticket.wait_done(10s).value() << '\n';
}
