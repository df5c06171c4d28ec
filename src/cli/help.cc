#include "cli/help.h"

#include <algorithm>

#include "cli/command.h"

namespace tenure::cli {
namespace {

constexpr std::size_t kWidth = 96;

// Breaks at spaces. Every line begins with `indent` spaces, except the first, which starts at column `at`.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t at) {
  std::string out;
  std::size_t column = at;
  bool first = true;
  while (!text.empty()) {
    if (text.front() == '\n') {
      out += "\n" + std::string(indent, ' ');
      column = indent;
      first = true;
      text.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    if (!first && column + 1 + word.size() > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
    text.remove_prefix(end);
    if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  return out + "\n";
}

std::string flag_lines(const std::vector<Flag>& flags) {
  std::size_t widest = 0;
  const auto head = [](const Flag& flag) {
    return "--" + std::string(flag.name) + (flag.value.empty() ? "" : " " + std::string(flag.value));
  };
  for (const Flag& flag : flags) widest = std::max(widest, head(flag).size());
  std::string out;
  for (const Flag& flag : flags) {
    const std::string left = head(flag);
    out += "  " + left + std::string(widest - left.size() + 2, ' ') + wrapped(flag.help, widest + 4, widest + 4);
  }
  return out;
}

std::string usage_of(const Command& command) {
  std::string line = "tenure " + std::string(command.name);
  if (!command.words.empty()) line += " " + std::string(command.words);
  for (const Flag& flag : command.flags) {
    if (flag.takes_rest) continue;
    line += " [--" + std::string(flag.name) + (flag.value.empty() ? "" : " " + std::string(flag.value)) + "]";
  }
  for (const Flag& flag : command.flags) {
    if (flag.takes_rest) line += " --" + std::string(flag.name) + " " + std::string(flag.value);
  }
  return line;
}

}  // namespace

std::string help_overview() {
  std::string out =
      "tenure: worker pools in which every key has exactly one live holder.\n\n"
      "Try it:\n"
      "  tenure work --exec sh -c 'echo \"$TENURE_KEY is mine\"; exec sleep 1000' &\n"
      "  tenure dispatch tenant-1\n"
      "  tenure explain tenant-1\n\n"
      "Commands:\n";
  std::size_t widest = 0;
  for (const Command& command : commands()) {
    if (!command.hidden) widest = std::max(widest, command.name.size());
  }
  for (const Command& command : commands()) {
    if (command.hidden) continue;
    out += "  " + std::string(command.name) + std::string(widest - command.name.size() + 2, ' ') +
           wrapped(command.summary, widest + 4, widest + 4);
  }
  out += "\nEverywhere:\n" + flag_lines(common_flags());
  out += "\nExit codes: " + wrapped(exit_codes_text(), 2, 12);
  return out + "\n'tenure help COMMAND' shows the details, with examples.\n";
}

std::string help_of(const Command& command) {
  std::string out = wrapped(usage_of(command), 4, 0) + "\n" + wrapped(command.summary, 0, 0);
  if (!command.text.empty()) out += "\n" + wrapped(command.text, 0, 0);
  if (!command.flags.empty()) out += "\nFlags:\n" + flag_lines(command.flags);
  out += "\nEverywhere:\n" + flag_lines(common_flags());
  if (!command.examples.empty()) out += "\nExamples:\n";
  for (const Example& example : command.examples) {
    out += "  " + std::string(example.command) + "\n";
    if (!example.says.empty()) out += "      " + std::string(example.says) + "\n";
  }
  return out;
}

std::string help_of_group(std::string_view word) {
  std::string out;
  for (const Command& command : commands()) {
    const bool in = command.name == word || command.name.starts_with(std::string(word) + " ");
    if (in) out += (out.empty() ? "" : "\n\n") + help_of(command);
  }
  return out;
}

}  // namespace tenure::cli
