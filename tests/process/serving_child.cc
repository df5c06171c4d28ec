// A worker program with the library's loop, for the tests: it echoes, or does what the request says. With --ready it
// reports so first.

#include <unistd.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <tenure/checkout_child.hpp>

namespace {

tenure::Result<std::string> work(std::string_view request) {
  if (request == "error") return tenure::Failure({tenure::Errc::job_failed, "work", "not today"});
  if (request == "throw") throw std::runtime_error("thrown");
  if (request == "throw a number") throw 3;
  if (request == "hang") {
    for (;;) pause();
  }
  if (request == "long") return std::string((1U << 20) + 1, 'x');
  return std::string(request);
}

}  // namespace

int main(int count, char** arguments) {
  tenure::ChildOptions options;
  options.says_ready = count > 1 && std::string_view(arguments[1]) == "--ready";
  options.frame_bytes_max = 1U << 20;
  const tenure::Status served = tenure::serve_calls(work, options);
  if (served) return 0;
  return served.error().code == tenure::Errc::invalid ? 2 : 1;
}
