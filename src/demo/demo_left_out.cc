// Replaces the demo in builds without SQLite, which its ledger needs.

#include "base/output.h"
#include "demo/demo.h"

namespace tenure::demo {
namespace {

Error left_out() {
  return {Errc::refused, "demo",
          "this build has no demo, because the demo needs SQLite; build with -DTENURE_SQLITE=ON"};
}

}  // namespace

Status check(const DemoOptions& /*options*/) { return {}; }

Result<bool> run_demo(const DemoOptions& /*options*/) { return Failure(left_out()); }

int run_demo_worker(const std::vector<std::string>& /*arguments*/) {
  warn_line(left_out().message());
  return 1;
}

}  // namespace tenure::demo
