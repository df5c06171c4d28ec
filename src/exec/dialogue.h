#pragma once

// What is said between a worker and one program, in the protocol of `tenure work --protocol`: which bytes go to its
// standard input, what its output means, and what its end means for the job. Pure: no descriptor, no clock, so that
// every row of the contract is tested without a process.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/lines.h"
#include "node/keys/host.h"

namespace tenure::exec {

enum class Protocol : std::uint8_t { plain, json };

// What a program said.
struct Said {
  enum class What : std::uint8_t { ready, checkpoint, log };
  What what;
  Bytes data;
};

// Why a program ended.
enum class Cause : std::uint8_t {
  itself,
  stop,      // it was asked to, or fenced
  farewell,  // it had said how its job went, and did not end
};

// What its end means for the job.
struct Verdict {
  enum class What : std::uint8_t { finished, failed, released };
  What what = What::released;
  Bytes result{};
  HoldReports::Next next = HoldReports::Next::retry;
  Bytes error{};
  Nanos delay{};
};

// What the end of a program means for its task, from its exit code alone: finished, without a result, for 0. The end of
// its standard error is the error. `status` is as from waitpid.
Verdict verdict_of_exit(int status, BytesView error_tail);

class Dialogue {
 public:
  Dialogue(Protocol protocol, const HeldJob& job);

  // Standard input. What is returned is to be written; an empty answer writes nothing. The opening is asked for once.
  Bytes opening();
  bool input_ends_after_opening() const { return protocol_ == Protocol::plain && kind_ == JobKind::task; }
  Bytes notify(BytesView message) const;
  Bytes stop(Nanos left) const;

  // Standard output and error, as they come.
  std::deque<Said> output(BytesView bytes);
  std::deque<Said> error_output(BytesView bytes);
  // What was left without a line end.
  std::deque<Said> output_end();

  // The program has said all it has to say, and should end by itself.
  bool settled() const { return failure_.has_value() || (result_.has_value() && kind_ == JobKind::task); }
  // `status` is as from waitpid.
  Verdict verdict(int status, Cause cause) const;

 private:
  void take_line(BytesView line, std::deque<Said>& into);

  const Protocol protocol_;
  const JobKind kind_;
  const Hold hold_;
  Bytes payload_;  // these two until the opening
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
