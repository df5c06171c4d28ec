#include "cli/bench_engine.h"

#include <unistd.h>

#include <filesystem>
#include <future>

#include "log/open.h"
#include "node/appender.h"

namespace tenure::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kHops = 200;

Result<Position> append_and_wait(Log& log, Bytes data) {
  std::promise<Result<Position>> answered;
  log.append(Lane::data, std::move(data), [&](Result<Position> position) { answered.set_value(std::move(position)); });
  return answered.get_future().get();
}

// From the moment an entry is handed to one handle to the moment another one has it.
Status measure_hops(const std::string& url, Log& writer, Cursor at, Distribution& into) {
  const Result<std::unique_ptr<Log>> reader = open_log(url, {});
  if (!reader) return Failure(reader.error());
  for (int i = 0; i < kHops; ++i) {
    std::promise<Result<std::vector<Entry>>> came;
    (*reader)->read(at, [&](Result<std::vector<Entry>> entries) { came.set_value(std::move(entries)); });
    const auto began = SteadyClock::now();
    if (const Result<Position> sent = append_and_wait(writer, Bytes(64, 'x')); !sent) return Failure(sent.error());
    const Result<std::vector<Entry>> entries = came.get_future().get();
    if (!entries) return Failure(entries.error());
    into.add(SteadyClock::now() - began);
    at = Cursor::at(entries->back());
  }
  (*reader)->close();
  return {};
}

}  // namespace

Result<BenchPlace> BenchPlace::of(const Call& call) {
  const std::string engine = call.value("engine").value_or("sqlite:");
  if (engine.starts_with("memory:")) return BenchPlace("memory:", "");
  if (!engine.starts_with("sqlite:")) {
    return fail(Errc::invalid, "bench", "benchmarks run on sqlite: and memory: in this version");
  }
  const std::size_t query = engine.find('?');
  const std::string options = query == std::string::npos ? "" : engine.substr(query);
  const std::string path = engine.substr(7, query == std::string::npos ? query : query - 7);
  const std::filesystem::path parent = path.empty() ? std::filesystem::current_path() : std::filesystem::path(path);
  std::string folder = (parent / "tenure-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return fail(Errc::refused, "make a folder in " + parent.string(),
                "name a folder that can be written: sqlite:FOLDER");
  }
  return BenchPlace("sqlite:" + options, folder);
}

BenchPlace::BenchPlace(BenchPlace&& other) noexcept
    : engine_(std::move(other.engine_)), folder_(std::exchange(other.folder_, "")) {}

BenchPlace::~BenchPlace() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

std::string BenchPlace::url(const std::string& name) const {
  if (folder_.empty()) return "memory:bench-" + std::to_string(getpid()) + "-" + name;
  return "sqlite:" + folder_ + "/" + name + ".db" + engine_.substr(7);
}

Result<Baseline> measure_baseline(const std::string& url, std::uint64_t records, std::size_t record_bytes) {
  Result<std::unique_ptr<Log>> log = open_log(url, {});
  if (!log) return Failure(log.error());
  const std::size_t per_batch = std::max<std::size_t>(1, kBatchBytes / record_bytes);
  Baseline baseline;
  baseline.what = "appends of " + std::to_string(per_batch) + " records of " + std::to_string(record_bytes) +
                  " bytes, one at a time";
  const auto began = SteadyClock::now();
  Position last = 0;
  std::uint64_t sent = 0;
  for (; sent < records; sent += per_batch) {
    const Result<Position> appended = append_and_wait(**log, Bytes(per_batch * record_bytes, 'x'));
    if (!appended) return Failure(appended.error());
    last = *appended;
  }
  const std::chrono::duration<double> took = SteadyClock::now() - began;
  baseline.per_s = static_cast<double>(sent) / took.count();
  if (Status hops = measure_hops(url, **log, {last, 0}, baseline.hop); !hops) return Failure(hops.error());
  (*log)->close();
  return baseline;
}

}  // namespace tenure::cli
