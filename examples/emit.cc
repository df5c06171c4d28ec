// An outbox whose rows become tasks, each exactly once, although the process that reads it is replaced in the middle.
//
// The outbox is a file whose lines only grow: "KEY PAYLOAD". The number of a line is its position.
// Usage: emit [URL]

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <tenure/tenure.hpp>
#include <thread>

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kLines = 1000;

// The lines behind a position, up to a number of them.
std::vector<tenure::EmitTask> lines_after(const std::string& path, std::uint64_t position, std::uint64_t most) {
  std::ifstream file(path);
  std::vector<tenure::EmitTask> tasks;
  std::string key;
  std::string payload;
  for (std::uint64_t line = 1; tasks.size() < most && file >> key >> payload; ++line) {
    if (line > position) tasks.push_back({.key = key, .payload = payload, .position = line});
  }
  return tasks;
}

// Reads on until it is asked to stop. `step`: lines of an emit; each process may have its own.
std::string read_outbox(tenure::Job& job, const std::string& path, std::uint64_t step) {
  tenure::Result<std::uint64_t> at = job.emitted();
  while (at && !job.stop_requested()) {
    std::vector<tenure::EmitTask> tasks = lines_after(path, *at, step);
    if (tasks.empty()) {
      std::this_thread::sleep_for(1ms);  // a real reader waits for a notification
      continue;
    }
    const std::uint64_t to = tasks.back().position;
    const tenure::Status emitted = job.emit(to, std::move(tasks));
    if (emitted) {
      at = to;
    } else if (emitted.error().code == tenure::Errc::lost_history) {
      at = job.emitted();
    } else if (emitted.error().code == tenure::Errc::refused) {
      break;  // another process has taken over
    }
    // Anything else, such as a full queue: the same once more.
  }
  return {};
}

struct Done {
  std::mutex mutex;
  std::map<std::string, std::vector<int>> by_key;
  std::size_t count = 0;

  std::size_t total() {
    const std::lock_guard lock(mutex);
    return count;
  }
};

// Every line once, and the lines of a key in their order.
bool is_complete(Done& done) {
  const std::lock_guard lock(done.mutex);
  if (done.count != kLines) return false;
  for (const auto& [key, lines] : done.by_key) {
    for (std::size_t i = 1; i < lines.size(); ++i) {
      if (lines[i - 1] >= lines[i]) return false;
    }
  }
  return true;
}

bool wait_for(Done& done, std::size_t count) {
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (done.total() < count && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
  return done.total() >= count;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string url = argc > 1 ? argv[1] : "memory:emit";
  const std::string path = std::filesystem::temp_directory_path() / ("tenure-outbox-" + std::to_string(getpid()));
  {
    std::ofstream file(path);
    for (std::uint64_t line = 1; line <= kLines; ++line) file << "tenant-" << line % 7 << ' ' << line << '\n';
  }

  Done done;
  tenure::Pool pool("outbox", url);
  pool.add_worker([&](tenure::Job& job) {
        const std::lock_guard lock(done.mutex);
        done.by_key[job.key()].push_back(std::stoi(job.payload()));
        ++done.count;
      })
      .value();

  tenure::Worker first =
      pool.add_worker(tenure::run_handler([&](tenure::Job& job) { return read_outbox(job, path, 3); })).value();
  pool.dispatch("outbox").value().wait_started(10s).value();
  bool good = wait_for(done, kLines / 4);
  // The second takes over, and cuts the lines into other emits.
  tenure::Worker second =
      pool.add_worker(tenure::run_handler([&](tenure::Job& job) { return read_outbox(job, path, 50); })).value();
  first.remove().value();
  good = wait_for(done, kLines) && is_complete(done) && good;

  std::cout << done.total() << " of " << kLines << " lines were done" << (good ? ", each once and in order" : "")
            << '\n';
  std::remove(path.c_str());
  return good ? 0 : 1;
}
