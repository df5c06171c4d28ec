#pragma once

// The reports of a host that all shards of a pool share. Each report goes to the node of its key's shard.

#include <cstdint>
#include <functional>

#include "node/keys/host.h"

namespace tenure {

class Shards;

// As thread-safe as the nodes' own reports.
class ShardReports final : public HoldReports {
 public:
  explicit ShardReports(Shards& shards) : shards_(shards) {}

  void started(const Hold& hold) override;
  void begun(const Hold& hold) override;
  void finished(const Hold& hold, Bytes result) override;
  void failed(const Hold& hold, Next next, Bytes error, Nanos delay) override;
  void released(const Hold& hold) override;
  void released(const Hold& hold, Bytes blob) override;
  void checkpoint(const Hold& hold, Bytes data) override;
  void handled(const Hold& hold, std::uint64_t message_number) override;
  void message_failed(const Hold& hold, std::uint64_t message_number, Bytes error) override;
  void together(const std::function<void()>& reports) override { together_from(0, reports); }

 private:
  HoldReports& of(const Hold& hold) const;
  void together_from(std::uint32_t shard, const std::function<void()>& reports);

  Shards& shards_;
};

}  // namespace tenure
