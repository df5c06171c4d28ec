#pragma once

// The table of commands. The parser, the help, the manual page and the shell completions all read it, so they cannot
// differ.

#include <string>
#include <string_view>
#include <vector>

#include "cli/call.h"

namespace tenure::cli {

struct Flag {
  std::string_view name;   // without dashes
  std::string_view value;  // the name of its value in texts; empty if it has none
  std::string_view help;
  std::string_view choices = {};  // separated by '|'
  bool repeats = false;           // takes every word up to the next flag
  bool takes_rest = false;        // takes the rest of the line, with flags
};

struct Example {
  std::string_view command;
  std::string_view says;
};

struct Command {
  std::string_view name;        // "dead list" has two words
  std::string_view words = {};  // "KEY [PAYLOAD|-]"
  std::size_t words_min = 0;
  std::size_t words_max = 0;
  std::string_view summary;    // a line
  std::string_view text = {};  // paragraphs
  std::vector<Flag> flags = {};
  std::vector<Example> examples = {};
  int (*run)(const Call&) = nullptr;
  bool hidden = false;
};

const std::vector<Command>& commands();
// The part of the table about checkout pools.
std::vector<Command> checkout_commands();
// Those about benchmarks.
std::vector<Command> bench_commands();
// The part of the table about streams.
std::vector<Command> stream_commands();
// The part about sources.
std::vector<Command> partition_commands();
std::vector<Command> source_commands();
// The part about orders.
std::vector<Command> orders_commands();
const std::vector<Flag>& common_flags();
std::string_view exit_codes_text();

// Runs a command line. `tenure help dispatch` is the same as `tenure dispatch --help`.
int run_program(const std::vector<std::string>& arguments);

}  // namespace tenure::cli
