#include "cli/bench/work_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace tenure::cli {
namespace {

constexpr std::chrono::seconds kHeardWithin{60};

}  // namespace

WorkProcess::WorkProcess(const BenchSpot& spot, std::vector<std::string> words) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) return;
  words.insert(words.begin(), "tenure");
  for (const std::string& word : {std::string("--json"), std::string("--pool"), spot.pool}) words.push_back(word);
  for (const char* word : {"--exec", "sleep", "1000000"}) words.emplace_back(word);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  // Not on the command line, because the URL may contain a password.
  std::string engine = "TENURE_ENGINE=" + spot.url;
  std::vector<char*> environment = {engine.data()};
  for (char** one = environ; *one != nullptr; ++one) {
    if (!std::string_view(*one).starts_with("TENURE_ENGINE=")) environment.push_back(*one);
  }
  environment.push_back(nullptr);
  const int failed = posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, arguments.data(), environment.data());
  if (failed != 0) process_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  close(pipe[1]);
  reader_ = std::thread([this, in = pipe[0]] { read(in); });
}

WorkProcess::~WorkProcess() {
  kill(true);
  if (reader_.joinable()) reader_.join();
}

std::optional<WorkProcess::Time> WorkProcess::wait(const std::string& event, std::size_t count) {
  std::unique_lock lock(mutex_);
  const bool came = changed_.wait_for(lock, kHeardWithin, [&] { return events_[event].size() >= count || over_; });
  if (!came || events_[event].size() < count) return std::nullopt;
  return events_[event][count - 1];
}

std::size_t WorkProcess::count(const std::string& event) {
  std::lock_guard lock(mutex_);
  return events_[event].size();
}

void WorkProcess::kill(bool with_guard) {
  if (process_ <= 0) return;
  std::vector<pid_t> children;
  if (with_guard) {
    std::ifstream list("/proc/" + std::to_string(process_) + "/task/" + std::to_string(process_) + "/children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  ::kill(process_, SIGKILL);
  for (const pid_t child : children) ::kill(child, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

void WorkProcess::read(int in) {
  FILE* lines = fdopen(in, "r");
  char* line = nullptr;
  std::size_t room = 0;
  while (getline(&line, &room, lines) > 0) {
    const auto now = std::chrono::steady_clock::now();
    const std::string_view text(line);
    const std::size_t from = text.find("\"event\":\"") + 9;
    std::lock_guard lock(mutex_);
    events_[std::string(text.substr(from, text.find('"', from) - from))].push_back(now);
    changed_.notify_all();
  }
  std::free(line);
  std::fclose(lines);
  std::lock_guard lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

}  // namespace tenure::cli
