// The manual page and the shells' completions, made from the table of commands.

#include <map>

#include "cli/command.h"
#include "cli/failure.h"
#include "cli/run.h"

namespace tenure::cli {
namespace {

// In troff a leading dot or quote is a request, and a hyphen is not a minus.
std::string troff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\n') {
      out += "\n.PP\n";
    } else {
      out += c;
    }
  }
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

std::string troff_flags(const std::vector<Flag>& flags) {
  std::string out;
  for (const Flag& flag : flags) {
    out += ".TP\n\\fB\\-\\-" + troff(flag.name) + "\\fR";
    if (!flag.value.empty()) out += " \\fI" + troff(flag.value) + "\\fR";
    out += "\n" + troff(flag.help) + "\n";
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(by), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string names(const std::vector<Flag>& flags) {
  std::string out;
  for (const Flag& flag : flags) out += (out.empty() ? "--" : " --") + std::string(flag.name);
  return out;
}

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The second words of commands that have two, by the first: "dead" -> "list retry drop".
std::map<std::string, std::string> groups() {
  std::map<std::string, std::string> found;
  for (const Command& command : commands()) {
    const std::size_t space = command.name.find(' ');
    if (command.hidden || space == std::string_view::npos) continue;
    std::string& words = found[std::string(command.name.substr(0, space))];
    words += (words.empty() ? "" : " ") + std::string(command.name.substr(space + 1));
  }
  return found;
}

std::string bash() {
  std::string unfinished;
  for (const auto& [head, words] : groups()) unfinished += (unfinished.empty() ? "" : " || ") + ("$name == " + head);

  std::string out =
      "# bash completion for tenure\n"
      "_tenure() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} name= i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case ${COMP_WORDS[i]} in\n"
      "      --engine|--pool) ((i++)) ;;\n"
      "      -*) ;;\n"
      "      *) name=\"${name:+$name }${COMP_WORDS[i]}\"; [[ " +
      unfinished +
      " ]] || break ;;\n"
      "    esac\n"
      "  done\n"
      "  local flags=\"" +
      names(common_flags()) +
      "\"\n"
      "  case $before in\n"
      "    --from) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
      "    --exec) COMPREPLY=($(compgen -c -- \"$word\")); return ;;\n";
  for (const Command& command : commands()) {
    for (const Flag& flag : command.flags) {
      if (flag.choices.empty()) continue;
      std::string choices(flag.choices);
      for (char& c : choices) c = c == '|' ? ' ' : c;
      out += "    --" + std::string(flag.name) + ") COMPREPLY=($(compgen -W \"" + choices +
             "\" -- \"$word\")); return ;;\n";
    }
  }
  out += "  esac\n  case $name in\n";
  std::string first;
  for (const Command& command : commands()) {
    if (command.hidden) continue;
    out += "    " + shell_quoted(command.name) + ") flags+=\" " + names(command.flags) + "\"";
    if (command.name == "completion") out += "; flags+=\" bash zsh fish\"";
    out += " ;;\n";
    const std::string head(command.name.substr(0, command.name.find(' ')));
    if (first.find(" " + head) == std::string::npos) first += " " + head;
  }
  for (const auto& [head, words] : groups())
    out.append("    ").append(head).append(") flags+=\" ").append(words).append("\" ;;\n");
  out += "    '') flags+=\"" + first + " help\" ;;\n  esac\n";
  return out + "  COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n}\ncomplete -F _tenure tenure\n";
}

std::string zsh() {
  std::string out = "#compdef tenure\n_tenure() {\n  local -a commands flags\n  commands=(\n";
  for (const Command& command : commands()) {
    if (command.hidden || command.name.find(' ') != std::string_view::npos) continue;
    out += "    " + shell_quoted(std::string(command.name) + ":" + std::string(command.summary)) + "\n";
  }
  for (const auto& [head, words] : groups()) {
    out.append("    ").append(shell_quoted(std::string(head).append(":").append(words))).append("\n");
  }
  out += "  )\n";
  const auto arguments = [](const std::vector<Flag>& flags) {
    std::string list;
    for (const Flag& flag : flags) {
      std::string help(flag.help.substr(0, flag.help.find(';')));
      for (char& c : help) c = c == '[' || c == ']' || c == ':' ? ' ' : c;
      std::string line = "--" + std::string(flag.name) + "[" + help + "]";
      if (!flag.choices.empty()) {
        line += ":value:(";
        for (const std::string_view choice : split(flag.choices, '|')) line += std::string(choice) + " ";
        line += ")";
      } else if (!flag.value.empty()) {
        line += flag.name == "from" ? ":file:_files" : ":" + std::string(flag.value) + ":";
      }
      list += " " + shell_quoted(line);
    }
    return list;
  };
  out += "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n  case ${words[2]} in\n";
  for (const Command& command : commands()) {
    if (command.hidden || command.name.find(' ') != std::string_view::npos) continue;
    out += "    " + std::string(command.name) + ") _arguments" + arguments(command.flags) + arguments(common_flags()) +
           (command.name == "completion" ? " '2:shell:(bash zsh fish)'" : "") + " ;;\n";
  }
  for (const auto& [head, words] : groups())
    out.append("    ").append(head).append(") _arguments '2:what:(").append(words).append(")' ;;\n");
  return out + "  esac\n}\n_tenure \"$@\"\n";
}

std::string fish() {
  std::string out = "# fish completion for tenure\ncomplete -c tenure -f\n";
  const auto flags = [&](const std::vector<Flag>& list, const std::string& when) {
    for (const Flag& flag : list) {
      out += "complete -c tenure" + when + " -l " + std::string(flag.name);
      if (!flag.value.empty()) out += flag.name == "from" ? " -r -F" : " -x";
      if (!flag.choices.empty()) {
        std::string choices(flag.choices);
        for (char& c : choices) c = c == '|' ? ' ' : c;
        out += " -a " + shell_quoted(choices);
      }
      out += " -d " + shell_quoted(flag.help) + "\n";
    }
  };
  flags(common_flags(), "");
  for (const Command& command : commands()) {
    if (command.hidden) continue;
    const std::size_t space = command.name.find(' ');
    const std::string head(command.name.substr(0, space));
    if (space == std::string_view::npos) {
      out += "complete -c tenure -n __fish_use_subcommand -a " + head + " -d " + shell_quoted(command.summary) + "\n";
    } else {
      out += "complete -c tenure -n '__fish_seen_subcommand_from " + head + "' -a " +
             std::string(command.name.substr(space + 1)) + " -d " + shell_quoted(command.summary) + "\n";
    }
    flags(command.flags, " -n '__fish_seen_subcommand_from " + head + "'");
  }
  return out + "complete -c tenure -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n";
}

}  // namespace

int run_man(const Call& /*call*/) {
  std::string out =
      ".TH TENURE 1\n.SH NAME\ntenure \\- worker pools in which every key has exactly one live holder\n"
      ".SH SYNOPSIS\n.B tenure\n.I COMMAND\n[flags]\n.SH COMMANDS\n";
  for (const Command& command : commands()) {
    if (command.hidden) continue;
    out += ".SS tenure " + troff(command.name) + " " + troff(command.words) + "\n" + troff(command.summary) + ".\n";
    if (!command.text.empty()) out += ".PP\n" + troff(command.text) + "\n";
    out += troff_flags(command.flags);
    for (const Example& example : command.examples) {
      out += ".PP\n.RS\n.nf\n" + troff(example.command) + "\n.fi\n";
      if (!example.says.empty()) out += troff(example.says) + "\n";
      out += ".RE\n";
    }
  }
  out += ".SH FLAGS OF ALL COMMANDS\n" + troff_flags(common_flags());
  out += ".SH EXIT STATUS\n" + troff(exit_codes_text()) + ".";
  print_page(out);
  return kDone;
}

int run_completion(const Call& call) {
  const std::string& shell = call.words[0];
  if (shell == "bash") {
    print_page(bash());
  } else if (shell == "zsh") {
    print_page(zsh());
  } else if (shell == "fish") {
    print_page(fish());
  } else {
    return report_usage(call, {Errc::invalid, "", "no such shell: " + shell + "; there are bash, zsh and fish"});
  }
  return kDone;
}

}  // namespace tenure::cli
