// Compares the engines with the bare disk, in one run: appends that are durable when they are answered.

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>

#include "log/open.h"

namespace tenure {
namespace {

constexpr std::size_t kRecordBytes = 256;

// A folder on the disk that the project lies on: a temporary folder may be in memory, where fdatasync costs nothing.
class Folder {
 public:
  Folder() : path_(std::filesystem::current_path() / ("log_bench_" + std::to_string(getpid()))) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

void count(benchmark::State& state, std::int64_t records) {
  state.counters["records_per_s"] = benchmark::Counter(static_cast<double>(records), benchmark::Counter::kIsRate);
}

// The limit: `batch` records written with one call, then fdatasync.
void raw_append_fdatasync(benchmark::State& state) {
  const Folder folder;
  const int file = open(folder.file("raw").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  const std::string data(kRecordBytes * static_cast<std::size_t>(state.range(0)), 'x');
  std::int64_t records = 0;
  for (auto _ : state) {
    if (write(file, data.data(), data.size()) != static_cast<ssize_t>(data.size()) || fdatasync(file) != 0) {
      state.SkipWithError("the disk refused");
    }
    records += state.range(0);
  }
  close(file);
  count(state, records);
}
BENCHMARK(raw_append_fdatasync)->Arg(1)->Arg(64)->Arg(1024)->UseRealTime()->MinTime(2);

// `batch` appends under way at a time: the engine's group commit makes of them what it can.
void engine_append(benchmark::State& state, const std::string& url) {
  Result<std::unique_ptr<Log>> log = open_log(url, {});
  if (!log) return state.SkipWithError(log.error().message().c_str());
  const std::string data(kRecordBytes, 'x');
  std::mutex mutex;
  std::condition_variable answered;
  std::int64_t under_way = 0;
  std::int64_t records = 0;
  bool failed = false;
  for (auto _ : state) {
    {
      std::unique_lock lock(mutex);
      answered.wait(lock, [&] { return under_way == 0; });
      under_way = state.range(0);
    }
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      (*log)->append(Lane::data, data, [&](const Result<Position>& position) {
        std::lock_guard lock(mutex);
        failed = failed || !position;
        if (--under_way == 0) answered.notify_one();
      });
    }
    records += state.range(0);
  }
  std::unique_lock lock(mutex);
  answered.wait(lock, [&] { return under_way == 0; });
  if (failed) state.SkipWithError("an append failed");
  count(state, records);
}

void sqlite_full(benchmark::State& state) {
  const Folder folder;
  engine_append(state, "sqlite:" + folder.file("pool.db"));
}
BENCHMARK(sqlite_full)->Arg(1)->Arg(64)->Arg(1024)->UseRealTime()->MinTime(2);

void sqlite_normal(benchmark::State& state) {
  const Folder folder;
  engine_append(state, "sqlite:" + folder.file("pool.db") + "?sync=normal");
}
BENCHMARK(sqlite_normal)->Arg(1)->Arg(64)->Arg(1024)->UseRealTime()->MinTime(2);

void memory(benchmark::State& state) { engine_append(state, "memory:log_bench"); }
BENCHMARK(memory)->Arg(1)->Arg(64)->Arg(1024)->UseRealTime();

}  // namespace
}  // namespace tenure

BENCHMARK_MAIN();
