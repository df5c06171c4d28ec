// The demo as a separate program, with the flags of `tenure demo`. The tests in this folder run it.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "demo/demo.h"

int main(int count, char** words) {
  using tenure::demo::DemoOptions;
  const std::vector<std::string> arguments(words + 1, words + count);
  if (!arguments.empty() && arguments[0] == "demo-worker") {
    return tenure::demo::run_demo_worker({arguments.begin() + 1, arguments.end()});
  }
  DemoOptions options;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string value = at + 1 < arguments.size() ? arguments[at + 1] : "";
    if (arguments[at] == "--json") {
      options.json = true;
      continue;
    }
    ++at;
    if (arguments[at - 1] == "--for") {
      options.run_for = std::chrono::seconds(std::atoi(value.c_str()));
    } else if (arguments[at - 1] == "--workers") {
      options.workers = std::atoi(value.c_str());
    } else if (arguments[at - 1] == "--tenants") {
      options.tenants = std::atoi(value.c_str());
    } else if (arguments[at - 1] == "--engine") {
      options.engine_url = value;
    } else if (arguments[at - 1] == "--script") {
      for (const char act : value) {
        if (act != ',') options.script.push_back(act);
      }
    } else {
      std::fprintf(stderr, "no such flag: %s\n", arguments[at - 1].c_str());
      return 2;
    }
  }
  const auto sound = tenure::demo::run_demo(options);
  if (sound) return *sound ? 0 : 1;
  std::fprintf(stderr, "%s\n", sound.error().message().c_str());
  return sound.error().code == tenure::Errc::invalid ? 2 : 1;
}
