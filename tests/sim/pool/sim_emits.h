#pragma once

// How the residents of one simulated process emit: each has a source of its own, goes on from where it is, and cuts its
// events into emits as chance has it. The parts of an emit are sent one after the other, with the time between them in
// which a process may die. What is sent to which part is for production code to say (SourceBook).

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "node/keys/host.h"
#include "node/sources/source_book.h"
#include "sim/checker/sequence.h"
#include "sim/pool/recorder.h"

namespace tenure::sim {

class SimEmits {
 public:
  // Sends an emit, whose tasks have these events. `answered` runs on the process' loop once it has an outcome.
  using Answered = std::function<void(Result<std::string>)>;
  using Send = std::function<void(ShardEmission, std::vector<SequenceTask>, Answered answered)>;

  explicit SimEmits(Dice dice) : dice_(dice) {}

  void set_way(Send send) { send_ = std::move(send); }
  // The resident does its next step with its source, on its own thread.
  void step(const tenure::Hold& hold, SimLoop& thread);
  // The resident is over.
  void forget(std::uint64_t epoch) { lines_.erase(epoch); }

 private:
  struct Line {
    SourceBook book{kSourceParts};
    Bytes key;
    SimLoop* thread = nullptr;
    bool asking = false;
    std::size_t open = 0;
    bool failed = false;
    std::uint64_t position = 0;  // of the last emit
    std::vector<SourceBook::Part> last{};
    std::optional<SourceReport::Lost> lost{};  // of the last emit
  };

  std::vector<SourceBook::Part> next(Line& line);
  void emit(Line& line, std::uint64_t epoch);
  void send(Line& line, std::uint64_t epoch, SourceBook::Part part, Time after, bool emits = false);
  void answered(std::uint64_t epoch, const SourceBook::Part& part, const Result<std::string>& answer);

  Dice dice_;
  Send send_;
  std::map<std::uint64_t, Line> lines_;  // by epoch
};

}  // namespace tenure::sim
