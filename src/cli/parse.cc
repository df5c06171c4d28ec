#include "cli/parse.h"

#include <algorithm>
#include <numeric>

#include "cli/command.h"

namespace tenure::cli {
namespace {

// The number of letters that must change to get from one word to the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string suggestion(std::string_view word, const std::vector<std::string_view>& known, std::string_view prefix) {
  const auto nearest = std::min_element(known.begin(), known.end(), [&](std::string_view a, std::string_view b) {
    return distance(word, a) < distance(word, b);
  });
  if (nearest == known.end() || distance(word, *nearest) > 2) return "";
  return "; did you mean " + std::string(prefix) + std::string(*nearest) + "?";
}

const Flag* find_flag(const Command* command, std::string_view name) {
  const auto in = [&](const std::vector<Flag>& flags) -> const Flag* {
    const auto found = std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) { return flag.name == name; });
    return found == flags.end() ? nullptr : &*found;
  };
  if (const Flag* common = in(common_flags())) return common;
  return command == nullptr ? nullptr : in(command->flags);
}

// The command that these words name (one word or two). Null if there is none.
const Command* find_command(const std::vector<std::string>& words, std::size_t& used) {
  const Command* best = nullptr;
  used = 0;
  for (const Command& command : commands()) {
    const std::size_t space = command.name.find(' ');
    const bool two = space != std::string_view::npos;
    const bool fits = two ? words.size() > 1 && words[0] == command.name.substr(0, space) &&
                                words[1] == command.name.substr(space + 1)
                          : !words.empty() && words[0] == command.name;
    if (!fits) continue;
    best = &command;
    used = two ? 2 : 1;
  }
  return best;
}

bool group(std::string_view word) {
  return std::any_of(commands().begin(), commands().end(), [&](const Command& command) {
    return !command.hidden && command.name.starts_with(std::string(word) + " ");
  });
}

// The words that choose the command: the first word that is neither a flag nor a flag's value, and the one after it.
// The command is not known yet, so flags are looked up in all commands.
std::vector<std::string> leading_words(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < arguments.size() && words.size() < 2; ++i) {
    if (!arguments[i].starts_with("--")) {
      words.push_back(arguments[i]);
      continue;
    }
    if (arguments[i] == "--") break;
    const std::string_view name = std::string_view(arguments[i]).substr(2);
    const Flag* flag = find_flag(nullptr, name);
    for (const Command& command : commands()) {
      if (flag == nullptr) flag = find_flag(&command, name);
    }
    if (flag != nullptr && flag->takes_rest) break;
    if (flag != nullptr && !flag->value.empty()) ++i;
  }
  return words;
}

class Parser {
 public:
  Parser(const std::vector<std::string>& arguments, Call& call) : arguments_(arguments), call_(call) {}

  Status run() {
    for (; at_ < arguments_.size(); ++at_) {
      const std::string& argument = arguments_[at_];
      if (argument == "--" && !only_words_) {
        only_words_ = true;
      } else if (argument.starts_with("--") && !only_words_) {
        if (Status taken = take_flag(std::string_view(argument).substr(2)); !taken) return taken;
      } else if (argument == "-h" && !only_words_) {
        call_.flags["help"];
      } else if (argument.size() > 1 && argument[0] == '-' && !only_words_) {
        return misused("unknown flag " + argument + "; words that begin with '-' go after --");
      } else {
        call_.words.push_back(argument);
      }
    }
    return {};
  }

 private:
  Status take_flag(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string name(text.substr(0, equals));
    const Flag* flag = find_flag(call_.command, name);
    if (flag == nullptr) return misused("unknown flag --" + name + suggest(name));
    std::vector<std::string>& values = call_.flags[name];
    if (flag->takes_rest) {
      if (equals != std::string_view::npos) return misused("--" + name + " takes the rest of the line, without '='");
      call_.rest.assign(arguments_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, arguments_.end());
      at_ = arguments_.size();
      return call_.rest.empty() ? misused("--" + name + " needs a command to run") : Status();
    }
    if (flag->value.empty()) {
      return equals == std::string_view::npos ? Status() : misused("--" + name + " takes no value");
    }
    if (equals != std::string_view::npos) {
      values.emplace_back(text.substr(equals + 1));
    } else if (at_ + 1 < arguments_.size()) {
      values.push_back(arguments_[++at_]);
      while (flag->repeats && at_ + 1 < arguments_.size() && !arguments_[at_ + 1].starts_with("--")) {
        values.push_back(arguments_[++at_]);
      }
    } else {
      return misused("--" + name + " needs a value: " + std::string(flag->value));
    }
    return check_choice(*flag, values.back());
  }

  static Status check_choice(const Flag& flag, std::string_view value) {
    if (flag.choices.empty()) return {};
    const std::string among = "|" + std::string(flag.choices) + "|";
    if (among.find("|" + std::string(value) + "|") != std::string::npos) return {};
    return misused("--" + std::string(flag.name) + " must be one of " + std::string(flag.choices));
  }

  std::string suggest(std::string_view name) const {
    std::vector<std::string_view> known;
    for (const Flag& flag : common_flags()) known.push_back(flag.name);
    if (call_.command != nullptr) {
      for (const Flag& flag : call_.command->flags) known.push_back(flag.name);
    }
    return suggestion(name, known, "--");
  }

  const std::vector<std::string>& arguments_;
  Call& call_;
  std::size_t at_ = 0;
  bool only_words_ = false;
};

Status check_words(const Call& call) {
  const Command& command = *call.command;
  if (call.words.size() < command.words_min) {
    return misused("tenure " + std::string(command.name) + " needs " + std::string(command.words));
  }
  if (call.words.size() > command.words_max) {
    return misused("'" + call.words[command.words_max] + "' is one argument too many" +
                   (command.words.empty() ? "" : "; put text with spaces in quotes"));
  }
  return {};
}

}  // namespace

Result<Call> parse(const std::vector<std::string>& arguments) {
  Call call;
  std::size_t used = 0;
  const std::vector<std::string> leading = leading_words(arguments);
  call.command = find_command(leading, used);
  if (Status parsed = Parser(arguments, call).run(); !parsed) return Failure(parsed.error());
  if (call.command == nullptr) {
    if (leading.empty() || leading[0] == "help") return call;
    if (group(leading[0])) {
      if (call.has("help") && call.words.size() == 1) {
        call.words = {"help", leading[0]};
        return call;
      }
      return misused("tenure " + leading[0] + " needs a subcommand; see tenure help " + leading[0]);
    }
    std::vector<std::string_view> known;
    for (const Command& command : commands()) known.push_back(command.name.substr(0, command.name.find(' ')));
    return misused("unknown command " + leading[0] + suggestion(leading[0], known, "tenure "));
  }
  call.words.erase(call.words.begin(), call.words.begin() + static_cast<std::ptrdiff_t>(used));
  if (call.has("help")) return call;
  if (Status fits = check_words(call); !fits) return Failure(fits.error());
  return call;
}

}  // namespace tenure::cli
