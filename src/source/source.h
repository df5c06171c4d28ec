#pragma once

// The source port: everything that a feeder needs from an ordered sequence outside the pool, such as a Kafka topic, a
// Redis stream or a Tenure stream on any engine. A source has one or more partitions. Each partition is a sequence of
// events with growing positions. A source promises:
//
//   1. Positions grow along a partition, from 1 on, below 2^62. They need not be dense. The same event always has the
//   same position.
//   2. Events are read in the order of their positions. None is left out silently: a Run says which positions were lost
//      before they could be read (retention, a trim), and which never had an event for readers (aborted transactions,
//      compaction, markers), which is no loss.
//   3. A partition that is no longer the one that was read (a topic that was deleted and made again, or that lost its
//      tail) is noticed by content, with the help of marks, and reported as Change::anew or Change::cut.
//   4. Nothing is buffered without a bound. A partition that is not read for a while stops fetching.
//
// tests/source_conformance tests these promises for every kind of source.
//
//   feeder ─ open, read ─▶ Source (one per process and source) ─▶ its connections
//
// One thread uses a Source: it calls read() for its partitions in turn and sleeps in wait(). Only wake() may be called
// from other threads. `read` never blocks; the functions that ask the server (partitions, ends, find) block for the
// URL's timeout at most.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"

namespace tenure::source {

struct Event {
  std::uint64_t position = 0;
  std::int64_t time_ms = 0;    // as the source has it
  std::optional<Bytes> key{};  // order is kept among events of one key
  Bytes name{};                // of the event, and its topic within the stream; streams only
  Bytes topic{};
  Bytes payload{};
  // Further facts, which are written for other programs: headers on Kafka, fields on Redis, the column `headers` on
  // SQLite. They are not read again.
  std::vector<std::pair<Bytes, Bytes>> headers{};
  std::size_t bytes() const;
};

// The event at a position, by content. A feeder saves a few marks with its position. They prove to its successor that
// the partition is still the same. A hash of zero proves nothing.
struct Mark {
  std::uint64_t position = 0;
  std::uint64_t hash = 0;
  friend bool operator==(const Mark&, const Mark&) = default;
};
// Over position, time, key and payload; never zero.
Mark mark_of(const Event& event);

// Positions whose events are gone, first and last included. `count` is exact where positions are dense or the
// source can tell, and an upper bound otherwise.
struct Loss {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t count = 0;
};

enum class Change : std::uint8_t {
  none,
  anew,  // the partition was deleted and made again: its positions mean other events, and reading starts at its oldest
  cut,   // it lost its tail, and may have grown a new one: reading goes on behind the last mark that still holds
};

// The result of read(): events in order, or nothing new.
struct Run {
  std::vector<Event> events{};
  // Every position up to here was read or is lost. At least the position of the last event. Zero: nothing new.
  std::uint64_t position = 0;
  // What was lost before the first of these events.
  std::optional<Loss> lost{};
  // Set in the first run after an open() whose marks did not hold. `resumed` is the position behind which reading goes
  // on.
  Change change = Change::none;
  std::uint64_t resumed = 0;
  // After a cut: the mark at `resumed`, if it is not one that open() was given.
  std::optional<Mark> anchor{};
};

struct ReadLimits {
  std::size_t events = 1024;
  std::size_t bytes = 1U << 20;  // at least one event is returned, whatever its size
};

// The positions of the oldest event that is kept and of the newest. With first > last the partition is empty; then
// `last` is that of the last event that there was.
struct Ends {
  std::uint64_t first = 1;
  std::uint64_t last = 0;
};

// Where to start reading a source for the first time.
struct StartAt {
  enum class Kind : std::uint8_t { oldest, newest, position, time } kind = Kind::oldest;
  std::uint64_t position = 0;  // the first event that is wanted
  std::int64_t time_ms = 0;    // the first event with this time or a later one
};
// "oldest", "newest", a position, or a time: 2026-11-19T17:00:00Z, or a duration back from now as "-15m".
Result<StartAt> parse_start(std::string_view text, std::int64_t now_ms);
// The position behind which reading starts, or nothing for a time, which only the source can find.
std::optional<std::uint64_t> start_behind(const StartAt& at, const Ends& ends);

class Source {
 public:
  virtual ~Source() = default;

  // What other programs call the event at a position: Kafka's offset, the id of a Redis entry, SQLite's row. The same
  // position always has the same name, of digits and dashes.
  virtual Bytes event_name(std::uint64_t position) const { return std::to_string(position); }

  // The names of the partitions, "0" if there is but one. More may be there the next time, never fewer.
  virtual Result<std::vector<Bytes>> partitions() = 0;
  virtual Result<Ends> ends(BytesView partition) = 0;
  // The position behind which reading starts.
  virtual Result<std::uint64_t> find(BytesView partition, const StartAt& at) = 0;

  // Begins to fetch behind `after`. `marks` are in ascending order, at or below `after`; they are checked before the
  // first run is returned. Opening an open partition starts it over.
  virtual Status open(BytesView partition, std::uint64_t after, std::vector<Mark> marks) = 0;
  virtual void close(BytesView partition) = 0;
  // Returns events that were fetched. Errc::unavailable: try again later; the source reconnects by itself.
  // Errc::no_such_key: it does not exist. Errc::refused, Errc::invalid: a person has to act; the text says how.
  virtual Result<Run> read(BytesView partition, const ReadLimits& limits) = 0;
  // Returns when an open partition may have something to read, after wake(), or at this time.
  virtual void wait(Instant until) = 0;
  virtual void wake() = 0;

  // Tells the source's own monitoring how far it was read (a Kafka group's offsets), if its URL asks for it. Best
  // effort.
  virtual void note_read(BytesView /*partition*/, std::uint64_t /*position*/) {}
};

// Changes a stream. Thread-safe; the functions block until the engine has answered, for the URL's
// timeout at most.
struct StreamLimits {
  std::uint64_t events_max = 0;  // zero: no bound
  // At the bound: refuse more (Errc::pool_full), or drop the oldest.
  enum class AtBound : std::uint8_t { refuse, drop_oldest } at_bound = AtBound::refuse;
};
struct StreamInfo {
  std::uint64_t events = 0;  // that are kept; an upper bound where positions are not dense
  Ends ends{};
  std::uint64_t bytes = 0;  // zero: the engine does not tell
  std::uint32_t partitions = 1;
  StreamLimits limits{};
};

// The bounds of one call of add().
constexpr std::size_t kAddEventsMax = 4096;
constexpr std::size_t kAddBytesMax = 8U << 20;

class StreamWriter {
 public:
  virtual ~StreamWriter() = default;
  // Appends the events in order and returns the position of each. `position` and `time_ms` of the events are ignored.
  // After Errc::unknown they may or may not be in the stream. After Errc::pool_full none of them is.
  virtual Result<std::vector<std::uint64_t>> add(const std::vector<Event>& events) = 0;
  // The same, but returns PARTITION/NAME of each, as Source::event_name() has it.
  virtual Result<std::vector<Bytes>> add_named(const std::vector<Event>& events);
  // Drops the events below this position. Returns how many, as far as the engine tells.
  virtual Result<std::uint64_t> trim(std::uint64_t before) = 0;
  virtual Result<StreamInfo> info() = 0;
  virtual Status set_limits(const StreamLimits& limits) = 0;
  // Deletes the stream and its events.
  virtual Status remove() = 0;
};

// Errc::invalid above the bounds of add().
Status check_added(const std::vector<Event>& events);
// For a source with one partition, "0". Errc::no_such_key for any other name.
Status check_only_partition(BytesView partition);

// One row for each kind of source, in kinds.cc, as engines.cc has one for each engine. All functions take the whole
// URL:
//
//   kafka://HOST,…/TOPIC[?OPTIONS]           or ?stream=TOPIC
//   redis://HOST/DB?stream=KEY[&OPTIONS]     every form of the engine's URLs
//   sqlite:PATH?stream=NAME   memory:NAME?stream=NAME
//
// OPTIONS are those of the engine's URLs, and for feeders start=, order=key|none, type=, which the caller has taken
// out. A topic's URL also takes partitions= and group= (kafka/topic_url.h).
struct Kind {
  std::string_view name{};
  Result<std::unique_ptr<Source>> (*open)(std::string_view url) = nullptr;
  Result<std::unique_ptr<StreamWriter>> (*open_writer)(std::string_view url, bool create) = nullptr;
  // Records a second that go through the bare engine, for comparison; null where nobody measured it. Takes the engine's
  // URL.
  Result<double> (*measure_bare_rate)(std::string_view url, std::uint64_t records, std::uint64_t bytes) = nullptr;
};

// By the scheme. Errc::invalid for one that no engine has, Errc::refused for an engine that this build lacks.
Result<std::unique_ptr<Source>> open_source(std::string_view url);
Result<std::unique_ptr<StreamWriter>> open_stream_writer(std::string_view url, bool create);
// For benchmarks. Errc::refused if the kind has no such measurement.
Result<double> measure_bare_rate(std::string_view engine_url, std::uint64_t records, std::uint64_t bytes);

}  // namespace tenure::source
