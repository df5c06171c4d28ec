// Reverse request routing: a device is connected to one gateway, and a request for the device must reach the process
// that has the connection. The gateway serves the device's key while the device is connected; a request is a task for
// that key.

#include <iostream>
#include <memory>
#include <string>
#include <tenure/tenure.hpp>

using namespace std::chrono_literals;

namespace {

class Gateway {
 public:
  Gateway(const std::string& url, const std::string& name)
      : pool_("gateways", url),
        worker_(
            pool_
                .add_worker([name](tenure::Job& job) { return name + " asked " + job.key() + ": " + job.payload(); },
                            {.id = name})
                .value()) {}

  void connected(const std::string& device) { worker_.serve({device}).value(); }
  void disconnected(const std::string& device) { worker_.stop_serving({device}).value(); }

 private:
  tenure::Pool pool_;
  tenure::Worker worker_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string url = argc > 1 ? argv[1] : "memory:gateways";
  Gateway north(url, "north");
  Gateway south(url, "south");
  tenure::PoolOptions options;
  options.client_only = true;
  tenure::Pool caller("gateways", url, options);
  // Requests follow the device. Serving is a record in the log like any other, so a request that is sent after it has
  // been read goes the new way; until then it is answered the old way.
  const auto ask_until = [&](const std::string& device, const std::string& gateway) {
    for (int i = 0; i < 1000; ++i) {
      const std::string answer = caller.dispatch_task(device, "status?").value().wait_done(10s).value();
      if (!answer.starts_with(gateway)) continue;
      std::cout << answer << '\n';
      return true;
    }
    return false;
  };
  north.connected("device-7");
  if (!ask_until("device-7", "north")) return 1;
  north.disconnected("device-7");
  south.connected("device-7");
  return ask_until("device-7", "south") ? 0 : 1;
}
