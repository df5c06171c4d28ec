// The main() of pool_worker: a worker for orders that is configured by its environment alone.

#include <algorithm>
#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include "base/mask_login.h"
#include "base/output.h"
#include "cli/command.h"
#include "cli/failure.h"
#include "cli/first_process.h"
#include "cli/orders_settings.h"
#include "cli/output.h"
#include "cli/run.h"

namespace tenure::cli {
namespace {

constexpr std::string_view kAbout =
    "pool_worker does work orders from a topic, each once, together with all others that run.\n"
    "\n"
    "It has no arguments. It is configured by its environment, and should be restarted when it exits:\n"
    "\n";

constexpr std::string_view kMore =
    "\n"
    "ORDERS_TOPIC, COORDINATION_TOPIC, INSTANCE_NUMBER, KAFKA_URL, and HANDLER or ALLOW are needed. Logins may be in "
    "the "
    "URL, or as the engines take them: TENURE_KAFKA_USER, TENURE_KAFKA_PASSWORD, TENURE_KAFKA_PASSWORD_FILE.\n"
    "\n"
    "  KAFKA_URL=kafka://broker:9092 ORDERS_TOPIC=work_orders COORDINATION_TOPIC=work_claims \\\n"
    "    INSTANCE_NUMBER=1 HANDLER=./ship.sh pool_worker\n"
    "\n"
    "SIGTERM lets it finish or hand back its orders. Exit codes are those of `tenure`: 0 done, 2 wrong settings, 3 "
    "the\n"
    "instance number is taken, 8 the engine is unreachable.\n";

std::string help_text() {
  std::string text(kAbout);
  for (const OrderSetting& setting : order_settings()) {
    std::string head = "  " + std::string(setting.variable);
    if (!setting.value.empty()) head += "=" + std::string(setting.value);
    if (setting.value.empty()) head += "=1";
    head.resize(std::max<std::size_t>(head.size() + 1, 28), ' ');
    text += head + std::string(setting.help) + "\n";
  }
  return text.append(kMore);
}

int run_words(const std::vector<std::string>& words) {
  // What this program starts of itself.
  if (!words.empty() && (words[0] == "guard-main" || words[0].starts_with("order-"))) return run_program(words);
  if (words == std::vector<std::string>{"--help"} || words == std::vector<std::string>{"-h"}) {
    print_page(help_text());
    return kDone;
  }
  if (words == std::vector<std::string>{"--version"}) return run_program(words);
  if (words.empty()) return run_pool_worker(Call());
  return report_usage(Call(), {Errc::invalid, "", "pool_worker takes no arguments; see pool_worker --help"});
}

}  // namespace
}  // namespace tenure::cli

int main(int count, char** arguments) {
  // Writing to a pipe without a reader must be an error of that write, and must not end the workers.
  std::signal(SIGPIPE, SIG_IGN);
  // So must be a file that would become larger than `ulimit -f`: it counts as a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  tenure::cli::split_first_process();
  try {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    std::for_each(arguments + 1, arguments + count, tenure::mask_login_in_place);
    return tenure::cli::run_words(words);
  } catch (const std::exception& error) {
    tenure::warn_line(std::string("pool_worker: ") + error.what());
    return 1;
  }
}
