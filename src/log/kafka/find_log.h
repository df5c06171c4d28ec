#pragma once

// Opening: finds a pool's log, or creates it.
//
// The log begins with the first birth record in the topic. Each process that creates a log writes one, and then looks
// which one came first. Readers skip records before it, and records with another id: members of an older log wrote them
// before they noticed the loss. If the beginning was trimmed, the manifest of a snapshot has the log's id.

#include <cstdint>

#include "log/kafka/history.h"
#include "log/kafka/prober.h"
#include "log/kafka/topics.h"
#include "log/open.h"

namespace tenure::kafka {

struct FoundLog {
  std::uint64_t id = 0;
  std::uint32_t shards = 1;
  Mark birth;   // offset -1 if it was trimmed
  Mark anchor;  // a record of the log
};

// Every call blocks. Used from one thread.
class FindLog {
 public:
  FindLog(const KafkaSettings& settings, const LogOptions& options, const TopicNames& names, Prober& prober)
      : settings_(settings), options_(options), names_(names), prober_(prober), topics_(settings, prober.client()) {}

  Result<FoundLog> run();

 private:
  // Nothing: look again.
  Result<std::optional<FoundLog>> look();
  Result<std::optional<FoundLog>> look_at(const Range& range);
  Result<std::optional<FoundLog>> look_for_birth(const Range& range);
  Result<std::optional<FoundLog>> take_birth(const Stored& stored) const;
  Result<std::optional<FoundLog>> take_manifest(const Stored& first);
  Result<std::optional<FoundLog>> create_topics();
  Result<std::optional<FoundLog>> give_birth();
  Status wait_for_topics();
  Status check(std::uint32_t shard, std::uint32_t shards, const std::string& pool) const;
  Failure refuse(Errc code, const std::string& what) const;

  const KafkaSettings& settings_;
  const LogOptions& options_;
  const TopicNames& names_;
  Prober& prober_;
  Topics topics_;
};

}  // namespace tenure::kafka
