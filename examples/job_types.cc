// One pool for several types of job: a worker with a handler for each type, another that only polls, and a job that
// waits until somebody takes its type. Here they live in one process; with `sqlite:` or `redis://` they may be many.

#include <iostream>
#include <string>
#include <tenure/tenure.hpp>
#include <thread>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  tenure::Pool pool("types", argc > 1 ? argv[1] : "memory:types");
  const auto send = [](const char* with) {
    return [with](tenure::Job& job) { return std::string(with) + " \"" + job.payload() + "\" to " + job.key(); };
  };
  // This worker takes tasks of the types email and sms, and nothing else.
  pool.add_worker(tenure::Handlers{{"email", send("mailed")}, {"sms", send("texted")}}).value();
  // This one takes residents only, of any type. A worker made from a lambda would take tasks only.
  pool.add_worker(tenure::run_handler([](tenure::Job& job) {
        while (!job.stop_requested()) std::this_thread::sleep_for(1ms);
        return std::string("polled ") + job.type();
      }))
      .value();

  std::cout << pool.dispatch_task("ann", "hello", {.type = "email"}).value().wait_done(10s).value() << '\n';
  std::cout << pool.dispatch_task("ann", "hello", {.type = "sms"}).value().wait_done(10s).value() << '\n';
  const tenure::Ticket poller = pool.dispatch("tenant-1", "", {.type = "mailbox"}).value();
  if (!poller.wait_started(10s)) return 1;
  std::cout << "tenant-1 runs, as a " << pool.key("tenant-1").value().type << '\n';

  const tenure::Ticket fax = pool.dispatch_task("ann", "hello", {.type = "fax"}).value();
  if (!fax.wait_accepted(10s)) return 1;
  std::cout << "the fax waits: " << pool.key("ann").value().why << '\n';
  pool.add_worker(tenure::Handlers{{"fax", send("faxed")}}).value();
  std::cout << fax.wait_done(10s).value() << '\n';
  return 0;
}
