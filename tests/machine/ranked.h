#pragma once

// A pool whose workers have ordinals, for the tests of partitions.

#include "machine/own_names.h"
#include "machine/pool.h"

namespace tenure::test {

class RankedPool : public TestPool {
 public:
  explicit RankedPool(Ring ring) : ring_(ring) {}

  // Worker "w3" has the ordinal 3.
  std::uint64_t up(std::uint32_t ordinal) { return up("w" + std::to_string(ordinal), ordinal); }
  std::uint64_t up(const Bytes& worker, std::uint32_t ordinal, const Bytes& replaces = {}) {
    return node(worker, spec(ordinal, replaces));
  }
  rec::WorkerSpec spec(std::uint32_t ordinal, const Bytes& replaces = {}) const {
    return {.replaces = replaces, .takes = rec::takes_of({"resident:.partition"}), .ring = ring_, .ordinal = ordinal};
  }
  void all_up() {
    for (std::uint32_t i = 0; i < ring_.partitions; ++i) up(i);
    settle();
  }
  void down(std::uint32_t ordinal) { crash(session_of("w" + std::to_string(ordinal))); }
  std::uint64_t resize(const Ring& ring) {
    const std::uint64_t ticket = new_ticket();
    append(rec::set_partitions(ticket, ring));
    if (outcome(ticket) == TicketState::accepted) ring_ = ring;
    return ticket;
  }
  // Whatever is asked to stop stops.
  void stop_all() {
    Records records;
    machine().each_job(0, [&](const JobInfo& job) {
      if (job.state == JobState::stopping) records.push_back(rec::released(job.key, job.epoch));
      return true;
    });
    if (!records.empty()) append(records);
  }

  Ring ring() const { return ring_; }
  static Bytes key_of(std::uint32_t partition) { return partition_key(partition); }
  Bytes held_by(std::uint32_t partition) const { return holder(key_of(partition)); }
  std::vector<Bytes> holders() const {
    std::vector<Bytes> found;
    for (std::uint32_t i = 0; i < ring_.parts(); ++i) found.push_back(held_by(i));
    return found;
  }

 private:
  Ring ring_;
};

}  // namespace tenure::test
