#pragma once

// Streams: ordered sequences of events on any engine. A stream is what the engine itself calls one: a Redis stream, a
// table in a SQLite file, a Kafka topic. Other programs may write and read it. See docs/streams.md.
//
//     tenure::Result<tenure::Stream> orders = tenure::Stream::open("redis://localhost", "orders");
//     if (orders) orders->add({.topic = "eu", .key = "customer-7", .payload = "…"});
//
// To handle each event once, with retries and dead letters, feed a pool from the stream (Pool::add_source). To follow a
// stream without a trace, use a StreamReader (stream_reader.hpp).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/result.hpp>

namespace tenure {

struct StreamEvent {
  std::string name{};  // what happened; may be empty
  std::string topic{};
  std::optional<std::string> key{};  // a pool that is fed from the stream keeps the order among events of one key
  std::string payload{};
  // Only of an event that was read.
  std::uint64_t position = 0;
  std::int64_t time_ms = 0;  // when it was added, since 1970
  std::string stream{};      // its name
  std::string partition{};   // "0", unless the stream is a Kafka topic with several
};

// How many events a stream keeps. The bound belongs to the stream, not to the handle, and is exact whoever adds events.
struct StreamBound {
  std::uint64_t events_max = 0;  // zero: no bound
  // At the bound: refuse more events (Errc::pool_full), or drop the oldest ones. Only the second can take away an event
  // that somebody has yet to read, who is then told so.
  enum class Policy : std::uint8_t { refuse, drop_oldest } policy = Policy::refuse;
};

struct StreamState {
  std::uint64_t events = 0;  // that are kept
  std::uint64_t first = 1;   // position of the oldest; above `last` if there is none
  std::uint64_t last = 0;    // position of the newest that there ever was
  std::uint64_t bytes = 0;   // zero: the engine does not tell
  std::uint32_t partitions = 1;
  StreamBound bound{};
};

struct StreamOptions {
  bool create = true;  // false: Errc::no_such_key if there is no such stream
};

// The bounds of one call of add_all().
inline constexpr std::size_t kStreamAddEventsMax = 4096;
inline constexpr std::size_t kStreamAddBytesMax = 8U << 20;

// A handle to a stream. Thread-safe. The functions block until the engine has answered, or for the timeout of its URL.
class Stream {
 public:
  // `engine` is a URL as a pool has it. `name` has up to 512 bytes; on Redis it is the key, on Kafka the topic.
  static Result<Stream> open(std::string_view engine, std::string_view name, const StreamOptions& options = {});
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  // Returns the position. After Errc::unknown the event may or may not be in the stream.
  Result<std::uint64_t> add(const StreamEvent& event);
  // Adds all of them or, with Errc::pool_full or Errc::invalid, none. Returns the position of each.
  Result<std::vector<std::uint64_t>> add_all(const std::vector<StreamEvent>& events);
  // Drops the events below this position. Returns how many there were.
  Result<std::uint64_t> trim(std::uint64_t before);
  Result<StreamState> state();
  Status set_bound(const StreamBound& bound);
  // Deletes the stream with everything in it.
  Status remove();

 private:
  struct Impl;
  explicit Stream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
