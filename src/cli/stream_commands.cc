// The commands about streams, as a part of the table of commands.

#include "cli/command.h"
#include "cli/run.h"

namespace tenure::cli {

namespace {

std::vector<Command> event_commands() {
  const Flag topic{"topic", "T", "only events with this topic; * and ? stand for any characters and for one (all)"};
  return {
      {.name = "stream add",
       .words = "NAME [PAYLOAD|-]",
       .words_min = 1,
       .words_max = 2,
       .summary = "add an event to a stream",
       .text = "Creates the stream if it does not exist. If the payload is -, it is read from standard input. With "
               "--lines each line of standard input is an event; prints the position of each.",
       .flags = {{"topic", "T", "the event's topic within the stream (none)"},
                 {"name", "N", "the event's name (none)"},
                 {"key", "K", "the event's key: a pool that is fed from the stream keeps the order of a key (none)"},
                 {"lines", "", "each line of standard input is an event"}},
       .examples = {{"tenure stream add orders '{\"id\":7}' --key customer-3 --topic eu", ""},
                    {"seq 1000 | tenure stream add numbers --lines", "a thousand events"}},
       .run = run_stream_add},
      {.name = "stream read",
       .words = "NAME",
       .words_min = 1,
       .words_max = 1,
       .summary = "print the events of a stream that are there now",
       .text = "Says on standard error which events were lost because the stream was trimmed.",
       .flags = {{"from", "WHERE", "oldest, newest, a position, a time such as 2026-11-19T17:00:00Z, or -15m (oldest)"},
                 topic,
                 {"limit", "N", "at most N events (100)"}},
       .examples = {{"tenure stream read orders --from -15m --json", "the last quarter of an hour"}},
       .run = run_stream_read},
      {.name = "stream tail",
       .words = "NAME",
       .words_min = 1,
       .words_max = 1,
       .summary = "print the events of a stream as they come",
       .text = "Ends on SIGINT or SIGTERM. If the stream is deleted and made again, goes on with the new one, and says "
               "so on standard error.",
       .flags = {{"from", "WHERE", "oldest, newest, a position, a time such as 2026-11-19T17:00:00Z, or -15m (newest)"},
                 topic,
                 {"limit", "N", "end after N events (no limit)"}},
       .examples = {{"tenure stream tail orders --topic 'eu.*'", ""}},
       .run = run_stream_tail},
  };
}

// About a stream as a whole.
std::vector<Command> whole_stream_commands() {
  return {
      {.name = "stream info",
       .words = "NAME",
       .words_min = 1,
       .words_max = 1,
       .summary = "show how many events a stream has, and its bound",
       .examples = {{"tenure stream info orders --json", ""}},
       .run = run_stream_info},
      {.name = "stream trim",
       .words = "NAME",
       .words_min = 1,
       .words_max = 1,
       .summary = "drop the oldest events of a stream",
       .text =
           "With --taken, drops the events that a pool on the same engine has taken in as tasks (--pool): what it has "
           "yet to take in stays. If several pools or readers follow the stream, use the lowest of their positions.",
       .flags = {{"before", "WHERE", "drop the events below this position, or before this time (as --from has it)"},
                 {"taken", "SOURCE", "drop what the pool has taken in from this source ('tenure source list')"}},
       .examples = {{"tenure stream trim orders --before -1d", "keep one day"},
                    {"tenure stream trim orders --taken orders --pool shipping",
                     "keep what the pool has yet to take in"}},
       .run = run_stream_trim},
      {.name = "stream limit",
       .words = "NAME",
       .words_min = 1,
       .words_max = 1,
       .summary = "bound the number of events that a stream keeps",
       .text =
           "The bound belongs to the stream and holds for every program that adds events with Tenure, and on SQLite "
           "for all others, too. Creates the stream if it does not exist.",
       .flags = {{"events", "N", "how many events; 0 for no bound"},
                 {.name = "at-bound",
                  .value = "POLICY",
                  .help = "refuse more events (pool_full), or drop the oldest (refuse)",
                  .choices = "refuse|drop"}},
       .examples = {{"tenure stream limit orders --events 100000 --at-bound drop", ""}},
       .run = run_stream_limit},
      {.name = "stream remove",
       .words = "NAME",
       .words_min = 1,
       .words_max = 1,
       .summary = "delete a stream with everything in it",
       .examples = {{"tenure stream remove orders", ""}},
       .run = run_stream_remove},
  };
}

}  // namespace

std::vector<Command> stream_commands() {
  std::vector<Command> commands = event_commands();
  for (Command& command : whole_stream_commands()) commands.push_back(std::move(command));
  return commands;
}

}  // namespace tenure::cli
