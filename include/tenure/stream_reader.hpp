#pragma once

// Follows streams. Each reader sees all events. Nothing is acknowledged, and no trace of the reader is kept.
//
//     tenure::Result<tenure::StreamReader> reader = tenure::StreamReader::open(engine, {"orders"}, {.topics = {"eu"}});
//     while (reader) {
//       tenure::Result<tenure::StreamItem> item = reader->next(std::chrono::seconds(10));
//       if (!item) break;
//       if (auto* event = std::get_if<tenure::StreamEvent>(&*item)) handle(*event);
//       if (auto* lost = std::get_if<tenure::StreamLoss>(&*item)) warn(lost->count);
//     }

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tenure/result.hpp>
#include <tenure/stream.hpp>

namespace tenure {

// Events that can never be read any more, because the stream was trimmed before they were: those at these positions,
// first and last included.
struct StreamLoss {
  std::string stream{};
  std::string partition{};
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t count = 0;  // exact, or an upper bound where the engine cannot tell
};

// The stream is not the one that was read.
struct StreamChange {
  std::string stream{};
  std::string partition{};
  // True: it was deleted and made again, and is read from its oldest event on. False: it has lost its last events, and
  // may have other ones since; it is read from behind the last event that is still the same.
  bool anew = false;
  std::uint64_t resumed = 0;  // the position behind which it is read
};

using StreamItem = std::variant<StreamEvent, StreamLoss, StreamChange>;

// How far a partition was read. A plain value, to be stored and given to a later reader.
struct StreamPosition {
  std::string stream{};
  std::string partition{};
  std::uint64_t position = 0;
  // Of the event at this position, by its content: shows the later reader that the stream is still the same. Zero:
  // none.
  std::uint64_t proof = 0;
};

// Where reading starts.
struct StreamStart {
  enum class At : std::uint8_t { newest, oldest, position, time } at = At::newest;
  std::uint64_t position = 0;  // the first event that is wanted
  std::int64_t time_ms = 0;    // the first event with this time or a later one
};

struct StreamReaderOptions {
  // For partitions that `resume` does not name. The newest event is looked up when the reader is opened.
  StreamStart start{};
  // What StreamReader::positions() of an earlier reader has returned.
  std::vector<StreamPosition> resume{};
  // Only events with one of these topics, or with a topic that matches the pattern (`*` any characters, `?` one, `\`
  // before one of them means itself). Both empty: all events. The others are passed over, and count as read.
  std::vector<std::string> topics{};
  std::string topic_pattern{};
  // How many items may wait for next(), in all. Above it, fetching stops.
  std::size_t buffered_max = 1024;
};

// Each stream is fetched by a thread of its own. stop() may be called by any thread, the rest by one at a time.
class StreamReader {
 public:
  // Errc::no_such_key if one of the streams does not exist. Up to 64 streams.
  static Result<StreamReader> open(std::string_view engine, const std::vector<std::string>& streams,
                                   const StreamReaderOptions& options = {});
  StreamReader(StreamReader&&) noexcept;
  StreamReader& operator=(StreamReader&&) noexcept;
  ~StreamReader();

  // The next event of any of the streams, or what happened to one of them. Events of a partition come in order.
  // Errc::timed_out if nothing comes in time. Errc::closed after stop(). Other errors say why a stream cannot be read
  // at the moment; the reader goes on trying, so next() may be called again.
  Result<StreamItem> next(std::chrono::nanoseconds timeout);
  // How far next() has come.
  std::vector<StreamPosition> positions() const;
  // Ends a next() that waits, and all later ones.
  void stop();

 private:
  struct Impl;
  explicit StreamReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
