#pragma once

// Snapshots, in a topic of their own. The chunks are written first, to one partition, and then a manifest to the other.
// What a newer snapshot replaces is dropped, except for the last one before it, which somebody may be reading.
//
// A compacted topic would seem to suit, but its newest records are never compacted away.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "log/kafka/manifest.h"
#include "log/kafka/prober.h"
#include "log/kafka/topics.h"
#include "log/log.h"

namespace tenure::kafka {

// Every call blocks. Used from one thread.
class Snapshots {
 public:
  Snapshots(const KafkaSettings& settings, const TopicNames& names, Prober& prober)
      : settings_(settings), names_(names), prober_(prober) {}

  // Of this log, from the oldest to the newest by position, as far as their chunks are all there.
  Result<std::vector<Manifest>> stored(std::uint64_t log);
  // The newest one whose entry the log still has with its content.
  Result<std::optional<Manifest>> newest(std::uint64_t log);
  // Nothing if the snapshot was replaced meanwhile.
  Result<std::optional<Snapshot>> load(const Manifest& manifest);
  // `manifest` says all but the chunks' place.
  Status store(Manifest manifest, const std::vector<Bytes>& chunks);

 private:
  void drop_older(const Manifest& kept);

  const KafkaSettings& settings_;
  const TopicNames& names_;
  Prober& prober_;
};

}  // namespace tenure::kafka
