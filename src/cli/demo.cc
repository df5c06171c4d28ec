// tenure demo: parses the command line of the demo.

#include "demo/demo.h"

#include "cli/failure.h"
#include "cli/run.h"

namespace tenure::cli {
namespace {

// "k,z,r,b" as a list of acts.
Result<std::vector<char>> read_script(const std::string& text) {
  std::vector<char> acts;
  for (const char c : text) {
    if (c == ',') continue;
    if (std::string_view(demo::kActs).find(c) == std::string_view::npos) {
      return fail(Errc::invalid, "read --script", std::string("unknown act '") + c + "'; use k, z, r, b, + and -");
    }
    acts.push_back(c);
  }
  return acts;
}

}  // namespace

int run_demo_command(const Call& call) {
  demo::DemoOptions options;
  const Result<std::uint64_t> workers = call.number("workers", 4, demo::kWorkersMax);
  if (!workers) return report_usage(call, workers.error());
  const Result<std::uint64_t> tenants = call.number("tenants", 64, demo::kTenantsMax);
  if (!tenants) return report_usage(call, tenants.error());
  const Result<std::vector<char>> script = read_script(call.value("script").value_or(""));
  if (!script) return report_usage(call, script.error());
  if (call.has("for")) {
    const Result<std::chrono::milliseconds> run_for = call.duration("for", {});
    if (!run_for) return report_usage(call, run_for.error());
    options.run_for = *run_for;
  }
  options.workers = static_cast<int>(*workers);
  options.tenants = static_cast<int>(*tenants);
  options.script = *script;
  options.json = call.json();
  options.engine_url = call.value("engine").value_or("");
  if (const Status sound = demo::check(options); !sound) return report_usage(call, sound.error());
  const Result<bool> sound = demo::run_demo(options);
  if (!sound) return report(call, sound.error());
  return *sound ? kDone : kOther;
}

}  // namespace tenure::cli
