#pragma once

// Makes logs to measure a machine with: the entries that a real pool would have written.

#include <cstdint>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

struct LogEntry {
  std::uint64_t position;
  std::int64_t time_ms;
  Bytes data;

  EntryView view() const { return {position, time_ms, data}; }
};

// Appends batches to a log and applies them to a machine as it goes, so that what holders answer fits.
class PoolLog final : private Effects {
 public:
  PoolLog();

  Machine& machine() { return machine_; }
  // Adds a record to the batch that is being gathered.
  v1::Record& add() { return *batch_.add_records(); }
  int gathered() const { return batch_.records_size(); }
  // Writes the batch as an entry, applies it, and returns it.
  LogEntry flush();

  // The next entry is that much later; every entry is a millisecond later than the one before.
  void pass(std::int64_t ms) { time_ms_ += ms; }

  void add_node(std::uint64_t session);
  void add_worker(std::uint64_t session, const std::string& id, std::uint32_t window = kWindowDefault);

  // The tenures granted by the last entry.
  struct Granted {
    Bytes key;
    std::uint64_t epoch;
    JobKind kind;
  };
  std::vector<Granted> granted_now;
  // The tenures that were asked to stop by the last entry.
  std::vector<Granted> stopping_now;

 private:
  void granted(const At&, const Grant& grant) override;
  void stop_asked(const At&, const TenureRef& tenure, StopReason reason) override;

  Machine machine_;
  v1::Batch batch_;
  std::uint64_t sequence_ = 0;
  std::uint64_t position_ = 0;
  std::int64_t time_ms_ = 1'000'000;
};

}  // namespace tenure
