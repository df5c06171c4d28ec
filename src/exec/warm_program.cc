#include "exec/warm_program.h"

#include <sys/wait.h>

#include "machine/limits.h"

namespace tenure::exec {
namespace {

constexpr std::size_t kWarmLogBytesMax = 8U << 10;
constexpr std::size_t kWarmLineBytesMax = 8U << 20;
constexpr std::size_t kWarmTailBytes = kErrorBytesMax - 256;

}  // namespace

WarmProgram::WarmProgram(std::uint64_t own_number, std::uint64_t own_session, int own_slot,
                         const guard::WearLimits& own)
    : number(own_number),
      session(own_session),
      slot(own_slot),
      limits(own),
      lines_(kWarmLineBytesMax),
      error_lines_(kWarmLogBytesMax) {}

void WarmProgram::runs(pid_t its_process, Instant now) {
  starting = false;
  process = its_process;
  worn.started = now;
  if (worn.busy_since) worn.busy_since = now;  // it could not begin earlier
}

void WarmProgram::give(const HeldJob& job, Instant now) {
  worn.busy_since = now;
  worn.free_since.reset();
  pipes.send(json_task(job.hold.key, job.hold.epoch, job.type, job.attempt, job.payload, job.checkpoint));
  job_ = HeldJob{job.hold, job.session, job.worker, job.kind, job.attempt, job.type, {}, {}};
  answer_.reset();
  error_tail_.clear();
  seen_running = false;
  started_told = false;
}

HeldJob WarmProgram::take_job(Instant now) {
  ++worn.jobs;
  worn.busy_since.reset();
  worn.free_since = now;
  HeldJob job = std::move(*job_);
  job_.reset();
  answer_.reset();
  return job;
}

bool WarmProgram::read(Pipes::Stream stream) {
  const bool was_open = pipes.is_open(stream);
  const bool more = pipes.read(stream, [&](BytesView bytes) {
    if (stream == Pipes::output) {
      lines_.feed(bytes, [this](BytesView line, bool whole) { hear(line, whole); });
      return;
    }
    error_tail_ += bytes.size() > kWarmTailBytes ? bytes.substr(bytes.size() - kWarmTailBytes) : bytes;
    if (error_tail_.size() > kWarmTailBytes) error_tail_.erase(0, error_tail_.size() - kWarmTailBytes);
    error_lines_.feed(bytes, [this](BytesView line, bool) { said_.emplace_back(line); });
  });
  // A program that has closed its output is useless. Usually it is about to exit, and its exit code says more.
  if (stream == Pipes::output && was_open && !pipes.is_open(stream)) ending = silent = true;
  return more;
}

void WarmProgram::hear(BytesView line, bool whole) {
  if (!whole) return break_off("the program wrote a line of more than " + std::to_string(kWarmLineBytesMax) + " bytes");
  JsonLine read = read_json_line(line);
  const bool answers = read.type == JsonLine::Type::result || read.type == JsonLine::Type::fail;
  if (answers && (!job_ || answer_)) return break_off("the program answered without a task");
  if (read.epoch && job_ && *read.epoch != job_->hold.epoch) {
    return break_off("the program answered for epoch " + std::to_string(*read.epoch) + ", which is not its task");
  }
  if (read.type == JsonLine::Type::result && read.data.size() > kResultBytesMax) {
    return break_off("its \"data\" has " + std::to_string(read.data.size()) + " bytes");
  }
  switch (read.type) {
    case JsonLine::Type::result:
      answer_ = Verdict{.what = Verdict::What::finished, .result = std::move(read.data)};
      return;
    case JsonLine::Type::fail:
      answer_ = Verdict{.what = Verdict::What::failed,
                        .result = {},
                        .next = read.retry ? HoldReports::Next::retry : HoldReports::Next::bury,
                        .error = std::move(read.data)};
      return;
    case JsonLine::Type::checkpoint:
      if (job_ && read.data.size() <= kBlobBytesMax) checkpoints.push_back(std::move(read.data));
      return;
    case JsonLine::Type::broken: return break_off("the program wrote an invalid line: " + read.data);
    case JsonLine::Type::nothing: said_.emplace_back(line.substr(0, kWarmLogBytesMax)); return;
    case JsonLine::Type::ready:
    case JsonLine::Type::emit:
    case JsonLine::Type::emitted: return break_off("the program emits tasks, and only residents can");
    case JsonLine::Type::other: return;
  }
}

void WarmProgram::break_off(Bytes error) {
  broken = true;
  ending = true;
  if (job_ && !answer_) answer_ = Verdict{.what = Verdict::What::failed, .result = {}, .error = std::move(error)};
}

std::optional<Verdict> WarmProgram::answer() { return std::exchange(answer_, std::nullopt); }

Verdict WarmProgram::verdict_at_end(int status) const {
  if (cause == Cause::stop) return {};
  if (!killed_for.empty()) {
    return {.what = Verdict::What::failed, .result = {}, .error = "the program was killed: " + killed_for};
  }
  Verdict verdict = verdict_of_exit(status, error_tail_);
  if (verdict.what != Verdict::What::finished) return verdict;
  return {.what = Verdict::What::failed, .result = {}, .error = "the program ended before it had answered"};
}

}  // namespace tenure::exec
