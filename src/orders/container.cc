#include "orders/container.h"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "exec/find_program.h"
#include "orders/order_environment.h"

namespace tenure::orders {
namespace {

constexpr std::chrono::seconds kRemoveTime{20};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string container_name() {
  return "tenure-" + to_hex(hash_mix(hash_bytes(variable("TENURE_POOL")), hash_bytes(variable("TENURE_KEY"))));
}

// Nobody else can read what is in $TENURE_DIR.
std::string write_pairs(const Order& order) {
  const std::string path = variable("TENURE_DIR") + "/environment";
  std::string lines;
  for (const auto& [name, value] : order.environment) lines += name + "=" + value + "\n";
  for (const char* name : {"TENURE_KEY", "TENURE_EPOCH", "TENURE_ATTEMPT"}) {
    lines += std::string(name) + "=" + variable(name) + "\n";
  }
  lines += "ORDER=" + variable("TENURE_KEY") + "\nTENURE_DIR=/order\n";
  std::ofstream(path, std::ios::binary) << lines;
  return path;
}

}  // namespace

std::string find_runtime() {
  for (const char* name : {"podman", "docker"}) {
    if (exec::find_program(name)) return name;
  }
  return {};
}

ChildPlan container_plan(const Order& order, const RunOptions& options) {
  ChildPlan plan;
  plan.words = {options.runtime.front(), "run", "--rm", "--name", container_name()};
  plan.words.insert(plan.words.end(), {"--env-file", write_pairs(order)});
  plan.words.insert(plan.words.end(), {"--volume", variable("TENURE_DIR") + ":/order"});
  if (!order.input.empty()) plan.words.emplace_back("--interactive");
  plan.words.insert(plan.words.end(), options.runtime.begin() + 1, options.runtime.end());
  plan.words.insert(plan.words.end(), order.words.begin(), order.words.end());
  plan.environment = environment_of_runtime();
  plan.input = order.input;
  return plan;
}

bool remove_container(const RunOptions& options) {
  const ChildPlan plan{.words = {options.runtime.front(), "rm", "--force", container_name()},
                       .environment = environment_of_runtime(),
                       .time = kRemoveTime,
                       .quiet = true};
  const Result<ChildEnd> end = run_child(plan);
  return end && WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0;
}

}  // namespace tenure::orders
