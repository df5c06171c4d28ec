#include "exec/dialogue.h"

#include <sys/wait.h>

#include <cstring>

#include "exec/json_lines.h"
#include "machine/limits.h"

namespace tenure::exec {
namespace {

using namespace std::chrono_literals;

constexpr int kExitTryLater = 75;  // EX_TEMPFAIL
constexpr int kExitNeverTry = 65;  // EX_DATAERR
constexpr Nanos kTryLater = 1s;

constexpr std::size_t kLogLineBytesMax = 8U << 10;
// A checkpoint or a result of 1 MiB with every byte escaped.
constexpr std::size_t kJsonLineBytesMax = 8U << 20;
static_assert(kJsonLineBytesMax > 6 * kBlobBytesMax && kJsonLineBytesMax > 6 * kResultBytesMax);

// Leaves room for the sentence before it.
constexpr std::size_t kTailBytes = kErrorBytesMax - 256;

Bytes describe_exit(int status, BytesView error_tail) {
  Bytes text = "the program ";
  if (WIFEXITED(status)) {
    text += "ended with exit code " + std::to_string(WEXITSTATUS(status));
  } else {
    const int number = WTERMSIG(status);
    const char* name = sigabbrev_np(number);
    text +=
        "was killed by signal " + std::to_string(number) + (name == nullptr ? "" : std::string(" (SIG") + name + ")");
  }
  while (!error_tail.empty() && (error_tail.back() == '\n' || error_tail.back() == ' ')) error_tail.remove_suffix(1);
  if (!error_tail.empty()) text += ": " + Bytes(error_tail);
  return text;
}

// A line of the json protocol may be longer than a log line.
void log(std::deque<Said>& into, BytesView line) {
  into.push_back({Said::What::log, Bytes(line.substr(0, kLogLineBytesMax))});
}

}  // namespace

Verdict verdict_of_exit(int status, BytesView error_tail) {
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == 0) return {.what = Verdict::What::finished};
  Verdict verdict{.what = Verdict::What::failed, .result = {}, .error = describe_exit(status, error_tail)};
  if (code == kExitTryLater) {
    verdict.next = HoldReports::Next::requeue;
    verdict.delay = kTryLater;
  }
  if (code == kExitNeverTry) verdict.next = HoldReports::Next::bury;
  return verdict;
}

Dialogue::Dialogue(Protocol protocol, const HeldJob& job)
    : protocol_(protocol),
      kind_(job.kind),
      hold_(job.hold),
      payload_(job.payload),
      checkpoint_(job.checkpoint),
      lines_(protocol == Protocol::json ? kJsonLineBytesMax : kLogLineBytesMax),
      error_lines_(kLogLineBytesMax) {}

Bytes Dialogue::opening() {
  const Bytes payload = std::exchange(payload_, {});
  const std::optional<Bytes> checkpoint = std::exchange(checkpoint_, std::nullopt);
  if (protocol_ == Protocol::json) return json_start(hold_.key, hold_.epoch, payload, checkpoint);
  return {};
}

Bytes Dialogue::notify(BytesView message) const {
  if (protocol_ == Protocol::json) return json_notify(message);
  return kind_ == JobKind::task ? Bytes() : Bytes(message) + "\n";
}

Bytes Dialogue::stop(Nanos left) const {
  return protocol_ == Protocol::json ? json_stop(std::max<std::int64_t>(to_ms(left), 0)) : Bytes();
}

Bytes Dialogue::emitted(BytesView source, const Result<std::uint64_t>& outcome) const {
  return protocol_ == Protocol::json ? json_emitted(source, outcome) : Bytes();
}

void Dialogue::break_off(Bytes why) {
  if (!failure_) failure_ = {std::move(why), true};
}

std::deque<Said> Dialogue::output(BytesView bytes) {
  std::deque<Said> said;
  if (protocol_ == Protocol::plain && kind_ == JobKind::task) {
    plain_result_ += bytes.substr(0, kResultBytesMax - plain_result_.size());
    return said;
  }
  lines_.feed(bytes, [&](BytesView line, bool whole) {
    if (protocol_ == Protocol::plain) return log(said, line);
    if (!whole) {
      failure_ = {"the program wrote a line of more than " + std::to_string(kJsonLineBytesMax) + " bytes", true};
      return;
    }
    take_line(line, said);
  });
  return said;
}

std::deque<Said> Dialogue::output_end() {
  std::deque<Said> said;
  lines_.finish([&](BytesView line, bool whole) {
    if (protocol_ == Protocol::json && whole) return take_line(line, said);
    log(said, line);
  });
  error_lines_.finish([&](BytesView line, bool) { log(said, line); });
  return said;
}

std::deque<Said> Dialogue::error_output(BytesView bytes) {
  error_tail_ += bytes.size() > kTailBytes ? bytes.substr(bytes.size() - kTailBytes) : bytes;
  if (error_tail_.size() > kTailBytes) error_tail_.erase(0, error_tail_.size() - kTailBytes);
  std::deque<Said> said;
  error_lines_.feed(bytes, [&](BytesView line, bool) { log(said, line); });
  return said;
}

void Dialogue::take_line(BytesView line, std::deque<Said>& into) {
  JsonLine read = read_json_line(line);
  const bool too_long = (read.type == JsonLine::Type::checkpoint && read.data.size() > kBlobBytesMax) ||
                        (read.type == JsonLine::Type::result && read.data.size() > kResultBytesMax);
  if (too_long)
    read = {.type = JsonLine::Type::broken, .data = "its \"data\" has " + std::to_string(read.data.size()) + " bytes"};
  switch (read.type) {
    case JsonLine::Type::ready: into.push_back({Said::What::ready, {}}); return;
    case JsonLine::Type::checkpoint: into.push_back({Said::What::checkpoint, std::move(read.data)}); return;
    case JsonLine::Type::emit:
      into.push_back({Said::What::emit, {}, std::make_unique<Emission>(std::move(read.emission))});
      return;
    case JsonLine::Type::emitted:
      into.push_back({Said::What::emitted, {}, std::make_unique<Emission>(std::move(read.emission))});
      return;
    case JsonLine::Type::result: result_ = std::move(read.data); return;
    case JsonLine::Type::fail: failure_ = {std::move(read.data), read.retry}; return;
    case JsonLine::Type::broken:
      failure_ = {"the program wrote a line that cannot be read: " + read.data, true};
      return;
    case JsonLine::Type::other: return;
    // A library's warning on standard output must not fail a job.
    case JsonLine::Type::nothing: return log(into, line);
  }
}

Verdict Dialogue::verdict(int status, Cause cause) const {
  if (cause == Cause::stop && kind_ == JobKind::resident) return {};
  if (failure_) {
    return {.what = Verdict::What::failed,
            .result = {},
            .next = failure_->retry ? HoldReports::Next::retry : HoldReports::Next::bury,
            .error = failure_->error,
            .delay = {}};
  }
  const bool done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (done || (cause == Cause::farewell && result_)) {
    return {.what = Verdict::What::finished, .result = result_.value_or(plain_result_)};
  }
  if (cause == Cause::stop) return {};
  return verdict_of_exit(status, error_tail_);
}

}  // namespace tenure::exec
