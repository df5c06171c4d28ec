// The commands about orders, as a part of the table of commands.

#include <algorithm>
#include <array>

#include "cli/command.h"
#include "cli/orders_settings.h"
#include "cli/run.h"
#include "orders/run_order.h"

namespace tenure::cli {
namespace {

// The flags of these settings. Those that every command has are not among them.
std::vector<Flag> setting_flags(const std::vector<std::string_view>& wanted = {}) {
  static constexpr std::array<std::string_view, 3> kCommon = {"engine", "pool", "json"};
  std::vector<Flag> flags;
  for (const OrderSetting& setting : order_settings()) {
    const bool common = std::find(kCommon.begin(), kCommon.end(), setting.flag) != kCommon.end();
    const bool named = wanted.empty() || std::find(wanted.begin(), wanted.end(), setting.flag) != wanted.end();
    if (!common && named) flags.push_back({setting.flag, setting.value, setting.help});
  }
  return flags;
}

std::vector<Flag> work_flags() {
  std::vector<Flag> flags = setting_flags();
  flags.push_back({.name = "exec",
                   .value = "CMD…",
                   .help = "the handler and its arguments: the rest of the line",
                   .takes_rest = true});
  return flags;
}

int run_one_order(const Call& call) { return orders::run_order_main(call.words); }
int run_fetch_order(const Call& call) { return orders::fetch_order_main(call.words); }

}  // namespace

std::vector<Command> orders_commands() {
  const Flag timeout{"timeout", "D", "how long to wait, e.g. 500ms, 10s, 2m"};
  std::vector<Flag> send = setting_flags({"orders"});
  send.push_back({"lines", "", "each line is an order"});
  send.push_back({"key", "K", "the event's key; on Kafka it decides about the partition"});
  return {
      {.name = "orders send",
       .words = "[FILE|-]",
       .words_max = 1,
       .summary = "send an order to the orders topic",
       .text = "The file, or standard input, is the order. Prints its name, TOPIC/PARTITION/OFFSET. Any other producer "
               "of the engine does as well.",
       .flags = send,
       .examples = {{"echo 'convert in.png out.jpg' | tenure orders send", "a command line"},
                    {"tenure orders send order.json --orders work_orders", "a JSON document"}},
       .run = run_orders_send},
      {.name = "orders work",
       .summary = "do orders, each once",
       .text =
           "Reads the orders topic together with all other workers, and does each order once. The coordination topic "
           "is the pool's log: who claimed an order, committed to it, yielded or completed it. Orders go to the "
           "handler on standard input, or are executed themselves as far as --allow says so. Nothing is allowed by "
           "default. The settings may also be in the environment, as pool_worker has them: ORDERS_TOPIC, "
           "COORDINATION_TOPIC (--pool), KAFKA_URL (--engine) and so on.",
       .flags = work_flags(),
       .examples = {{"tenure orders work --engine kafka://broker:9092 --exec ./ship.sh", "a handler"},
                    {"tenure orders work --allow command --dead failed_orders --concurrency 4", "command lines"}},
       .run = run_orders_work},
      {.name = "orders list",
       .summary = "list outstanding orders, and those that were over lately",
       .text = "Of an order that was completed: exit code, duration and output. The log has them back to its newest "
               "snapshot.",
       .flags = {{"orders", "TOPIC", "the topic with the orders (work_orders)"},
                 {"limit", "N", "at most N lines (100)"},
                 timeout},
       .examples = {{"tenure orders list --json | jq '.orders[] | select(.state == \"dead\")'", ""}},
       .run = run_orders_list},
      {.name = "orders explain",
       .words = "ORDER",
       .words_min = 1,
       .words_max = 1,
       .summary = "show who claimed an order, and what became of it",
       .text = "ORDER is TOPIC/PARTITION/OFFSET. The history comes from the log, back to its newest snapshot.",
       .flags = {{"orders", "TOPIC", "the topic with the orders (work_orders)"}, timeout},
       .examples = {{"tenure orders explain work_orders/0/17", ""}},
       .run = run_orders_explain},
      {.name = orders::kRunWord,
       .words = "OPTIONS",
       .words_min = 1,
       .words_max = 1,
       .summary = "runs one order; `orders work` starts it",
       .run = run_one_order,
       .hidden = true},
      {.name = orders::kFetchWord,
       .words = "OPTIONS URL",
       .words_min = 2,
       .words_max = 2,
       .summary = "fetches one order",
       .run = run_fetch_order,
       .hidden = true},
  };
}

}  // namespace tenure::cli
