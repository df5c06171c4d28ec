// The commands about sources, as a part of the table of commands.

#include "cli/command.h"
#include "cli/run.h"

namespace tenure::cli {

std::vector<Command> source_commands() {
  const Flag timeout{"timeout", "D", "how long to wait, e.g. 500ms, 10s, 2m"};
  return {
      {.name = "source list",
       .summary = "list the sources that feed the pool",
       .text =
           "Of each partition: how far it was read, where it ends, how many of its events were lost before they were "
           "read, and which worker reads it. Sources that users' residents emit are listed, too. The end is what a "
           "feeder last saw, a second ago or so.",
       .flags = {timeout},
       .examples = {{"tenure source list", ""}, {"tenure source list --json | jq '.sources[].partitions[].lag'", ""}},
       .run = run_source_list},
      {.name = "source remove",
       .words = "NAME",
       .words_min = 1,
       .words_max = 1,
       .summary = "stop a source in the whole pool, and forget how far it was read",
       .text =
           "Its tasks stay. Processes that were started with --source do not read it any more. If it is added again, "
           "it begins where its options say.",
       .flags = {timeout},
       .examples = {{"tenure source remove orders", ""}},
       .run = run_source_remove},
  };
}

}  // namespace tenure::cli
