#pragma once

// A stream in memory. It belongs to its name: all handles of the process with this name share it, and it lives as long
// as one of them. Positions are dense from 1.

#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "source/signal.h"
#include "source/source.h"

namespace tenure::source::memory {

// Thread-safe. One mutex guards everything, and every call is short.
class MemoryStream {
 public:
  // How often the stream was made and removed so far. Odd while it is there.
  using Life = std::uint64_t;

  // The stream of this name. It may not be there (yet).
  static std::shared_ptr<MemoryStream> find(std::string_view name, BytesView stream);

  // Errc::no_such_key unless it is there, or `create`.
  Status open(bool create);
  void remove();

  Result<std::vector<std::uint64_t>> add(const std::vector<Event>& events);
  Result<std::uint64_t> trim(std::uint64_t before);
  Result<StreamInfo> info() const;
  Status set_limits(const StreamLimits& limits);

  Result<Ends> ends() const;
  Result<std::uint64_t> find_start(const StartAt& at) const;

  // Where a reader is.
  struct Reader {
    std::uint64_t after = 0;
    std::vector<Mark> marks;  // to be checked with the next read
    Life life = 0;            // of the stream that was read; zero: any
  };
  Result<Run> read(Reader& reader, const ReadLimits& limits) const;
  bool has_news(const Reader& reader) const;

  // Raised with each change.
  void watch(Signal& signal);
  void forget(Signal& signal);

 private:
  bool is_there() const { return life_ % 2 == 1; }
  Status check() const;
  std::uint64_t last() const { return first_ + events_.size() - 1; }
  Run resume(Reader& reader) const;
  void drop_front();
  void changed();

  mutable std::mutex mutex_;
  // All below is guarded by mutex_.
  Life life_ = 0;
  std::deque<Event> events_;
  std::uint64_t first_ = 1;  // position of events_.front(), or of the next event if there is none
  std::size_t bytes_ = 0;
  StreamLimits limits_;
  std::set<Signal*> signals_;
};

}  // namespace tenure::source::memory
