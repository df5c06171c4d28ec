#pragma once

// Fetches a stream's entries on a connection of its own: a blocking XREAD, and behind it a look at the stream, which
// shows whether the entries follow the last ones (stream_course.h). If that is in doubt, entries and look are read once
// more in one step.
//
//   stopped ── begin ──▶ checking marks ──▶ reading ──▶ full ── go_on ──▶ reading …
//                           ▲     ▲            │
//                           │     └── broken, another stream
//                           └──── after a pause, while there is no stream, no server, or no right

#include <functional>
#include <optional>
#include <vector>

#include "base/loop.h"
#include "log/redis/connection.h"
#include "source/redis/stream_course.h"
#include "source/redis/stream_look.h"
#include "source/source.h"

namespace tenure::source::redis {

// Belongs to the loop.
class StreamFetcher {
 public:
  // Takes what was fetched, or why nothing is. An empty run only says that the last trouble is over. After a run that
  // returns false, nothing is fetched until go_on().
  using Deliver = std::function<bool(Result<Run>)>;

  StreamFetcher(const tenure::redis::World& world, const tenure::redis::RedisSettings& settings, Bytes key,
                Deliver deliver);

  void begin(std::uint64_t after, std::vector<Mark> marks);
  void go_on();
  void stop();

 private:
  // Requests a look and up to `count` entries in one step, and each entry at a mark. Without a stream calls `missing`.
  void fetch(std::size_t count, const std::vector<Mark>& marks, void (StreamFetcher::*take)(tenure::redis::Value),
             void (StreamFetcher::*missing)());
  void check_marks();
  void report_missing();
  void take_marks(tenure::redis::Value reply);
  void read();
  void look_again();
  void read_exactly();
  void take_exactly(tenure::redis::Value reply);
  void hand_over(Run run);
  void remember(const std::vector<Event>& events);
  Result<std::vector<Event>> parse(tenure::redis::Value entries);
  void adapt(tenure::redis::Value entries);
  void fail_for_now(const Error& error);

  Loop& loop_;
  const tenure::redis::RedisSettings& settings_;
  const Bytes key_;
  const Deliver deliver_;
  tenure::redis::Connection connection_;
  Timer retry_;
  StreamCourse course_;
  std::vector<Mark> marks_;     // of events that were read, the oldest first
  std::uint64_t question_ = 0;  // makes the answers to earlier requests obsolete
  bool asking_ = false;
  bool full_ = false;
  std::size_t count_;                       // how many entries to request
  std::optional<Error> bad_entry_;          // behind the entries that were read
  std::optional<std::vector<Event>> read_;  // until the look has come
};

}  // namespace tenure::source::redis
