#pragma once

// What the operator lets an order do, and the bounds on it. The worker hands them to the program that runs an order
// (run_order.h) as a JSON document, which is one of its arguments.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "orders/order.h"

namespace tenure::orders {

constexpr std::size_t kOrderBytesDefault = 256U << 10;
constexpr std::size_t kOutputBytesDefault = 64U << 10;
// A result has up to 1 MiB, and JSON may need six characters for a byte.
constexpr std::size_t kOutputBytesMax = 128U << 10;
constexpr int kRedirectsMax = 5;

struct RunOptions {
  bool commands = false;
  bool containers = false;
  bool urls = false;
  std::vector<std::string> hosts{};    // that URLs may name: HOST, HOST:PORT, *.DOMAIN
  std::vector<std::string> handler{};  // gets every order that is not of an allowed form; empty: none
  std::vector<std::string> runtime{};  // of containers: podman or docker, and further words before the image
  std::chrono::milliseconds run_time{3'600'000};
  std::chrono::milliseconds fetch_time{30'000};
  std::size_t order_bytes = kOrderBytesDefault;
  std::size_t output_bytes = kOutputBytesDefault;

  bool allows(Form form) const;
};

// "command,container,url", each at most once, or nothing.
Status read_allowed(std::string_view text, RunOptions& into);
// "a.example,*.b.example:8443".
Status read_hosts(std::string_view text, RunOptions& into);
// Whether a URL may name this host and port. Names are compared without regard to case.
bool host_allowed(const std::vector<std::string>& hosts, std::string_view host, std::uint16_t port, bool tls);

std::string to_json(const RunOptions& options);
Result<RunOptions> read_run_options(std::string_view json);

}  // namespace tenure::orders
