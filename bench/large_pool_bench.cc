// Measures how long the program's commands take on a pool of very many resident keys. Each command is a separate
// process. Usage: large_pool_bench PROGRAM [KEYS [ROUNDS]]; prints one JSON object. A million keys take a minute.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <tenure/tenure.hpp>
#include <thread>
#include <vector>

namespace {

using std::chrono::steady_clock;

class Quiet final : public tenure::Handler {
 public:
  tenure::Outcome start(tenure::Job&) override { return {}; }
  std::optional<std::string> stop(tenure::Job&) override { return std::nullopt; }
};

class Folder {
 public:
  Folder() : path_(std::filesystem::current_path() / ("large_pool_bench_" + std::to_string(getpid()))) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string url() const { return "sqlite:" + (path_ / "pool.db").string(); }

 private:
  std::filesystem::path path_;
};

// Milliseconds from the start of the process to its end.
double run(std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0);
  }
  const auto began = steady_clock::now();
  pid_t process = 0;
  const int error = posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  if (error != 0 || waitpid(process, &status, 0) != process || status != 0) {
    throw std::runtime_error(words[0] + " " + words[1] + " failed");
  }
  return std::chrono::duration<double, std::milli>(steady_clock::now() - began).count();
}

void fill(tenure::Pool& pool, int keys) {
  std::vector<tenure::Ticket> tickets;
  tickets.reserve(static_cast<std::size_t>(keys));
  while (tickets.size() < static_cast<std::size_t>(keys)) {
    tenure::Result<tenure::Ticket> ticket = pool.dispatch("tenant-" + std::to_string(tickets.size()), "payload");
    if (ticket) {
      tickets.push_back(std::move(*ticket));
    } else if (ticket.error().code == tenure::Errc::busy) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else {
      throw std::runtime_error(ticket.error().message());
    }
  }
  for (tenure::Ticket& ticket : tickets) ticket.wait_started(std::chrono::minutes(5)).value();
}

void measure(const std::string& program, int keys, int rounds) {
  const Folder folder;
  tenure::PoolOptions options;
  options.max_queued_jobs = static_cast<std::uint32_t>(keys) + 1000;
  tenure::Pool pool("default", folder.url(), options);
  pool.add_worker(std::make_shared<Quiet>()).value();
  const auto began = steady_clock::now();
  fill(pool, keys);
  std::printf("{\"keys\":%d,\"filled_s\":%.1f", keys,
              std::chrono::duration<double>(steady_clock::now() - began).count());

  const auto times = [&](const char* name, auto command) {
    std::vector<double> taken;
    for (int round = 0; round < rounds; ++round) {
      std::vector<std::string> words = command(round);
      words.insert(words.begin(), program);
      words.insert(words.end(), {"--engine", folder.url()});
      taken.push_back(run(std::move(words)));
    }
    std::sort(taken.begin(), taken.end());
    std::printf(",\"%s_ms\":{\"p50\":%.1f,\"least\":%.1f,\"most\":%.1f}", name, taken[taken.size() / 2], taken.front(),
                taken.back());
    std::fflush(stdout);
  };
  using Words = std::vector<std::string>;
  times("dispatch", [](int round) { return Words{"dispatch", "extra-" + std::to_string(round)}; });
  times("dispatch_started",
        [](int round) { return Words{"dispatch", "more-" + std::to_string(round), "--wait", "started"}; });
  times("jobs_page", [](int) { return Words{"jobs", "--limit", "20"}; });
  times("explain", [](int) { return Words{"explain", "tenant-5"}; });
  times("workers", [](int) { return Words{"workers"}; });
  std::printf("}\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s PROGRAM [KEYS [ROUNDS]]\n", argv[0]);
    return 2;
  }
  try {
    measure(argv[1], argc > 2 ? std::atoi(argv[2]) : 1'000'000, argc > 3 ? std::max(std::atoi(argv[3]), 1) : 10);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "large_pool_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
