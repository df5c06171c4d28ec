#pragma once

// The exchange between a worker and one program, in the protocol of `tenure work --protocol`: the bytes for its
// standard input, the meaning of its output, and the meaning of its end for the job. Pure: no descriptor and no clock,
// so every row of the contract is tested without a process.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/lines.h"
#include "node/keys/host.h"
#include "node/sources/emission.h"

namespace tenure::exec {

enum class Protocol : std::uint8_t { plain, json };

// A message from a program. Small: a program that prints only line ends makes a million of them from a mebibyte.
struct Said {
  enum class What : std::uint8_t { ready, checkpoint, log, emit, emitted };
  What what;
  Bytes data;
  std::unique_ptr<Emission> emission{};  // of emit; of emitted, which asks how far a source is, only the source
};
static_assert(sizeof(Said) <= 48);

// Why a program ended.
enum class Cause : std::uint8_t {
  itself,
  stop,      // it was asked to stop, or fenced
  farewell,  // it had reported its result, and did not exit
};

// The consequence of its end for the job.
struct Verdict {
  enum class What : std::uint8_t { finished, failed, released };
  What what = What::released;
  Bytes result{};
  HoldReports::Next next = HoldReports::Next::retry;
  Bytes error{};
  Nanos delay{};
};

// The consequence of a program's end for its task, from its exit code alone: finished without a result for 0. The end
// of its standard error is the error. `status` is as from waitpid.
Verdict verdict_of_exit(int status, BytesView error_tail);

class Dialogue {
 public:
  Dialogue(Protocol protocol, const HeldJob& job);

  // Standard input: each returns the bytes to write, which may be empty. Call opening() once.
  Bytes opening();
  // The program's input is the payload and nothing else.
  bool input_is_payload() const { return protocol_ == Protocol::plain && kind_ == JobKind::task; }
  Bytes notify(BytesView message) const;
  Bytes stop(Nanos left) const;
  Bytes emitted(BytesView source, const Result<std::uint64_t>& outcome) const;

  // Standard output and error, in pieces as they arrive.
  std::deque<Said> output(BytesView bytes);
  std::deque<Said> error_output(BytesView bytes);
  // The rest without a line end.
  std::deque<Said> output_end();

  // The program breaks the protocol. Its job fails with this.
  void break_off(Bytes why);
  // The program has reported everything, and should exit by itself.
  bool settled() const { return failure_.has_value() || (result_.has_value() && kind_ == JobKind::task); }
  // `status` is as from waitpid.
  Verdict verdict(int status, Cause cause) const;

 private:
  void take_line(BytesView line, std::deque<Said>& into);

  const Protocol protocol_;
  const JobKind kind_;
  const Hold hold_;
  Bytes payload_;  // these two until opening()
  std::optional<Bytes> checkpoint_;
  Lines lines_;
  Lines error_lines_;
  Bytes plain_result_;
  Bytes error_tail_;
  std::optional<Bytes> result_;  // json
  struct Failure {
    Bytes error;
    bool retry = true;
  };
  std::optional<Failure> failure_;  // json
};

}  // namespace tenure::exec
