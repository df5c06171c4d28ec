// A checkout pool of programs that is served on a socket, without a pool's log: this program is linked from the objects
// of the modules below it alone, and does not link if one of them needs the node, a log, the machine or protobuf.
//
//   checkout_alone GUARD CHILD SOCKET

#include <cstdlib>
#include <iostream>
#include <tenure/checkout_process.hpp>
#include <tenure/checkout_remote.hpp>

namespace {

constexpr std::chrono::seconds kPatience{20};

int fail(const tenure::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

int run(const std::string& child, const std::string& socket) {
  tenure::ProcessOptions process;
  process.command = {child};
  tenure::CheckoutOptions options;
  options.default_workers = options.max_workers = 1;
  const auto pool = tenure::open_process_pool(process, options);
  if (!pool) return fail(pool.error());
  tenure::ServeOptions serve;
  serve.listen = "unix:" + socket;
  const auto server = tenure::CheckoutServer::open(pool->ref(), serve);
  if (!server) return fail(server.error());
  tenure::RemoteOptions remote;
  remote.address = (*server)->address();
  auto worker = tenure::RemoteWorker::checkout(remote, kPatience);
  if (!worker) return fail(worker.error());
  const auto answer = worker->call("hello", kPatience);
  if (!answer) return fail(answer.error());
  return *answer == "hello" ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  setenv("TENURE_GUARD", words[1], 1);
  return run(words[2], words[3]);
}
