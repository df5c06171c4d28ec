#pragma once

// The coordinator of a source: finds the partitions, now and every few seconds, and dispatches a feeder for each. It
// dispatches a feeder again only from time to time, in case a user has removed it.

#include <chrono>
#include <map>
#include <memory>

#include "feeder/outside.h"
#include "feeder/spec.h"
#include "feeder/voice.h"
#include "source/source.h"

namespace tenure::feeder {

constexpr std::size_t kPartitionsMax = 1024;
constexpr Nanos kLookEvery = std::chrono::seconds(5);
constexpr Nanos kDispatchAgainEvery = std::chrono::minutes(1);

class Coordinator final : public Duty {
 public:
  Coordinator(const Spec& spec, Hold hold, source::Source& source, Outside& outside, Post post);

  bool step(Instant now) override;
  Instant due() const override;
  std::optional<Bytes> stop() override { return std::nullopt; }

 private:
  void look(Instant now);
  void dispatch(const Bytes& partition, Instant now);

  source::Source& source_;
  Outside& outside_;
  const Post post_;
  const Bytes sequence_;
  const std::shared_ptr<Emitter> emitter_;
  Voice voice_;
  Instant look_at_{};
  std::map<Bytes, Instant> again_at_;  // by partition: when to dispatch it again
};

}  // namespace tenure::feeder
