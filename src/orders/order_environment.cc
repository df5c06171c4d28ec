#include "orders/order_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace tenure::orders {
namespace {

constexpr std::array<std::string_view, 8> kPlain = {"PATH", "HOME",   "LANG", "LC_ALL",
                                                    "TZ",   "TMPDIR", "USER", "LOGNAME"};
constexpr std::array<std::string_view, 8> kJob = {"TENURE_POOL", "TENURE_KEY",  "TENURE_EPOCH", "TENURE_WORKER",
                                                  "TENURE_TYPE", "TENURE_KIND", "TENURE_DIR",   "TENURE_ATTEMPT"};

bool is_of_the_job(std::string_view name) { return std::find(kJob.begin(), kJob.end(), name) != kJob.end(); }

std::string order_variable() {
  const char* const key = std::getenv("TENURE_KEY");
  return "ORDER=" + std::string(key == nullptr ? "" : key);
}

template <class Wanted>
std::vector<std::string> chosen_variables(Wanted wanted) {
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view pair = *at;
    const std::string_view name = pair.substr(0, pair.find('='));
    if (name != "ORDER" && wanted(name)) variables.emplace_back(pair);
  }
  variables.push_back(order_variable());
  return variables;
}

}  // namespace

std::vector<std::string> environment_of_handler() {
  return chosen_variables([](std::string_view) { return true; });
}

std::vector<std::string> environment_of_command(const std::vector<std::pair<std::string, std::string>>& pairs) {
  const auto given = [&](std::string_view name) {
    return std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == name; });
  };
  std::vector<std::string> variables = chosen_variables([&](std::string_view name) {
    return is_of_the_job(name) || (std::find(kPlain.begin(), kPlain.end(), name) != kPlain.end() && !given(name));
  });
  for (const auto& [name, value] : pairs) {
    if (!is_of_the_job(name) && name != "ORDER") variables.push_back(name + "=" + value);
  }
  return variables;
}

std::vector<std::string> environment_of_runtime() {
  return chosen_variables([](std::string_view name) {
    return is_of_the_job(name) || (!name.starts_with("TENURE_") && name != "KAFKA_URL");
  });
}

}  // namespace tenure::orders
