#include "cli/bench/baseline.h"

#include <algorithm>
#include <functional>
#include <future>

#include "base/entropy.h"
#include "log/blocking.h"
#include "log/open.h"
#include "machine/decode.h"
#include "node/appender.h"
#include "node/batch_head.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kHops = 200;
constexpr std::uint64_t kFullBatches = 64;

// Appends an entry that changes nothing, to find the end of the log.
Result<Position> mark(Log& log) {
  v1::Batch batch = empty_batch(SystemEntropy().id(), 1, BootClock().wall_ms());
  batch.add_records()->mutable_tick();
  return append_and_wait(log, batch.SerializeAsString());
}

std::uint64_t tasks_in(const v1::Batch* batch) {
  if (batch == nullptr) return 0;
  return static_cast<std::uint64_t>(std::count_if(batch->records().begin(), batch->records().end(),
                                                  [](const v1::Record& r) { return r.has_done(); }));
}

// Appends entries of these sizes one after the other, and reads them through the same handle, as a node does. Returns
// the time from the first append until the last entry is read.
Result<double> seconds_for(const BenchSpot& spot, const std::vector<std::uint32_t>& sizes) {
  Result<std::unique_ptr<Log>> log = open_log(spot.url, {.pool = spot.pool});
  if (!log) return Failure(log.error());
  const Bytes data(*std::max_element(sizes.begin(), sizes.end()), 'x');
  const auto began = SteadyClock::now();
  auto follower = std::async(std::launch::async, [&]() -> Status {
    Cursor at;
    for (std::size_t read = 0; read < sizes.size();) {
      const Result<std::vector<Entry>> entries = read_and_wait(**log, at);
      if (!entries) return Failure(entries.error());
      read += entries->size();
      at = Cursor::at(entries->back());
    }
    return {};
  });
  for (const std::uint32_t size : sizes) {
    if (const Result<Position> sent = append_and_wait(**log, data.substr(0, size)); !sent) {
      (*log)->remove([](const Status&) {});  // ends the follower's wait
      follower.wait();
      return Failure(sent.error());
    }
  }
  if (const Status followed = follower.get(); !followed) return Failure(followed.error());
  const std::chrono::duration<double> took = SteadyClock::now() - began;
  (*log)->close();
  return took.count();
}

// Measures the time from an append through one handle until another handle has read the entry.
Status measure_hops(const BenchSpot& spot, Samples& into) {
  const Result<std::unique_ptr<Log>> writer = open_log(spot.url, {.pool = spot.pool});
  if (!writer) return Failure(writer.error());
  const Result<std::unique_ptr<Log>> reader = open_log(spot.url, {.pool = spot.pool});
  if (!reader) return Failure(reader.error());
  Cursor at;
  for (int i = 0; i < kHops; ++i) {
    std::promise<Result<std::vector<Entry>>> came;
    (*reader)->read(at, [&](Result<std::vector<Entry>> entries) { came.set_value(std::move(entries)); });
    const auto began = SteadyClock::now();
    if (const Result<Position> sent = append_and_wait(**writer, Bytes(64, 'x')); !sent) return Failure(sent.error());
    const Result<std::vector<Entry>> entries = came.get_future().get();
    if (!entries) return Failure(entries.error());
    into.add(SteadyClock::now() - began);
    at = Cursor::at(entries->back());
  }
  (*reader)->close();
  (*writer)->close();
  return {};
}

}  // namespace

Result<LogTap> LogTap::begin(const BenchSpot& spot, const Shard& shard) {
  Result<std::unique_ptr<Log>> log = open_log(spot.url, {.pool = spot.pool, .shard = shard});
  if (!log) return Failure(log.error());
  const Result<Position> from = mark(**log);
  if (!from) return Failure(from.error());
  return LogTap(*std::move(log), *from);
}

Result<RunLog> LogTap::end() {
  const Result<Position> last = mark(*log_);
  if (!last) return Failure(last.error());
  RunLog run;
  Decoder decoder;
  for (Cursor at{from_, 0}; at.position < *last;) {
    const Result<std::vector<Entry>> entries = read_and_wait(*log_, at);
    if (!entries && entries.error().code == Errc::trimmed) {
      const Result<Snapshot> snapshot = load_and_wait(*log_);
      if (!snapshot) return Failure(snapshot.error());
      at = snapshot->cursor;
      continue;
    }
    if (!entries) return Failure(entries.error());
    for (const Entry& entry : *entries) {
      if (entry.position >= *last) break;
      run.entry_bytes.push_back(static_cast<std::uint32_t>(entry.data.size()));
      run.bytes += entry.data.size();
      run.tasks += tasks_in(decoder.decode(entry.data));
    }
    at = Cursor::at(entries->back());
  }
  log_->close();
  return run;
}

Result<Baseline> measure_baseline(const BenchPlace& place, const std::vector<RunLog>& runs) {
  Baseline baseline;
  std::uint64_t tasks = 0;
  std::vector<std::future<Result<double>>> same;
  for (const RunLog& run : runs) {
    baseline.entries += run.entry_bytes.size();
    baseline.bytes += run.bytes;
    tasks += run.tasks;
    if (run.entry_bytes.empty()) continue;  // a shard without keys
    const BenchSpot spot = place.spot("same-" + std::to_string(same.size()));
    same.push_back(std::async(std::launch::async, seconds_for, spot, std::cref(run.entry_bytes)));
  }
  if (same.empty()) return fail(Errc::corrupt, "bench", "the run left no entries in its log");
  double longest = 0;
  for (std::future<Result<double>>& one : same) {
    const Result<double> seconds = one.get();
    if (!seconds) return Failure(seconds.error());
    longest = std::max(longest, *seconds);
  }
  baseline.per_s = static_cast<double>(tasks) / longest;
  const std::vector<std::uint32_t> full(kFullBatches, kBatchBytes);
  const Result<double> most = seconds_for(place.spot("full"), full);
  if (!most) return Failure(most.error());
  baseline.full_batches_bytes_per_s = static_cast<double>(kFullBatches * kBatchBytes) / *most;
  const BenchSpot hops = place.spot("hops");
  if (Status measured = measure_hops(hops, baseline.hop); !measured) return Failure(measured.error());
  return baseline;
}

std::string Baseline::what() const {
  return "the log alone with the " + std::to_string(entries) + " entries of this run, " + std::to_string(bytes) +
         " bytes: each appended and answered before the next, and all of them read";
}

}  // namespace tenure::cli
