#include "demo/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string_view>

namespace tenure::demo {
namespace {

// In the form that exec() needs.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> found;
  found.reserve(texts.size() + 1);
  for (const std::string& text : texts) found.push_back(const_cast<char*>(text.c_str()));
  found.push_back(nullptr);
  return found;
}

}  // namespace

Result<pid_t> spawn(const std::vector<std::string>& arguments, const SpawnOptions& options) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (options.input >= 0) {
    posix_spawn_file_actions_adddup2(&files, options.input, STDIN_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const std::string error_path = options.error_path.empty() ? "/dev/null" : options.error_path;
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, error_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  // A new session has a new process group already.
  const int grouping = options.session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
  posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | grouping));

  const std::vector<char*> words = pointers(arguments);
  std::vector<std::string> variables = options.environment;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view variable = *one;
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    const auto& own = options.environment;
    if (std::none_of(own.begin(), own.end(), [&](const std::string& other) { return other.starts_with(name); })) {
      variables.emplace_back(variable);
    }
  }
  const std::vector<char*> environment = pointers(variables);
  pid_t process = 0;
  const int error = posix_spawn(&process, words[0], &files, &attributes, words.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return fail(Errc::unavailable, "start " + arguments[0], std::strerror(error));
  return process;
}

}  // namespace tenure::demo
