#pragma once

// Where a reader is in a Redis stream, and what it has lost: pure rules, without a server.
//
// Redis neither tells a reader that a trim has overtaken it, nor that the key was deleted and made again. But it counts
// the entries that were ever added. The reader counts, too: `added_` is the number of entries that were ever added up
// to its position. So if the stream begins behind the reader's position, the difference is what was lost, and if there
// are fewer entries than it has read, the stream is another one.
//
// The count is known from the beginning of the stream on, and from its end. A reader that starts in between counts the
// entries in front of it, if these are not too many (stream_scripts.h). Otherwise it reports an upper bound until it
// has reached the end.

#include <cstdint>
#include <optional>
#include <vector>

#include "source/continuity.h"
#include "source/redis/stream_look.h"
#include "source/source.h"

namespace tenure::source::redis {

class StreamCourse {
 public:
  // `resumed`: somebody has read up to here, so that what is missing behind is a loss.
  void begin(std::uint64_t after, bool resumed);

  std::uint64_t position() const { return position_; }

  // The stream as it was found when it was (re)opened, and what its marks say. `ahead` is the number of entries behind
  // the position, if it was counted. Returns what the reader has to know.
  Run resume(const StreamLook& look, const Continuity& judged, std::optional<std::uint64_t> ahead);

  enum class Step : std::uint8_t {
    take,    // the entries follow the last ones
    closer,  // something may be missing: read again in one step with the look
    resume,  // another stream, or one that lost its tail
  };
  // `count` entries were read before the look, the last one at `last`.
  Step judge(const StreamLook& look, std::uint64_t count, std::uint64_t last) const;
  // The same for entries that were read in one step with the look. Never `closer`.
  Step judge_exact(const StreamLook& look) const;

  // After Step::resume: the counts may be wrong.
  void doubt() { doubted_ = true; }

  // Takes entries that were read before the look.
  Run take(const StreamLook& look, std::vector<Event> events);
  // Takes entries that were read in one step with the look.
  Run take_exact(const StreamLook& look, std::vector<Event> events);

 private:
  bool contradicts(const StreamLook& look) const;
  void count_from(const StreamLook& look, std::optional<std::uint64_t> ahead);
  std::optional<Loss> find_loss(const StreamLook& look);

  std::uint64_t position_ = 0;
  std::optional<std::uint64_t> added_;  // entries that were ever added up to position_, if known
  std::uint64_t dropped_ = 0;           // entries that were missing at the last look
  bool resumed_ = false;
  bool doubted_ = false;
};

}  // namespace tenure::source::redis
