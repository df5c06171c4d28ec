#include "cli/command.h"
#include "cli/failure.h"
#include "cli/help.h"
#include "cli/parse.h"
#include "demo/demo.h"

namespace tenure::cli {
namespace {

int help_on(const std::vector<std::string>& words) {
  std::string name;
  for (const std::string& word : words) name += (name.empty() ? "" : " ") + word;
  const std::string text = name.empty() ? help_overview() : help_of_group(name);
  if (text.empty()) return report_usage({}, {Errc::invalid, "", "no such command: " + name});
  print_page(text);
  return kDone;
}

}  // namespace

int run_program(const std::vector<std::string>& arguments) {
  // The worker process that the demo starts. It parses its own arguments.
  if (!arguments.empty() && arguments[0] == "demo-worker") {
    return demo::run_demo_worker({arguments.begin() + 1, arguments.end()});
  }
  Result<Call> call = parse(arguments);
  if (!call) {
    Call blank;
    for (const std::string& argument : arguments) {
      if (argument == "--json") blank.flags["json"];
    }
    return report_usage(blank, call.error());
  }
  if (call->has("version")) {
    print("tenure " + std::string(TENURE_VERSION));
    return kDone;
  }
  if (call->command == nullptr) {
    std::vector<std::string> words = call->words;
    if (!words.empty()) words.erase(words.begin());
    const bool asked = !call->words.empty() || call->has("help");
    return asked ? help_on(words) : (print_note_page(help_overview()), static_cast<int>(kUsage));
  }
  if (call->has("help")) return help_on({std::string(call->command->name)});
  return call->command->run(*call);
}

}  // namespace tenure::cli
