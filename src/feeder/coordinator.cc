#include "feeder/coordinator.h"

#include <algorithm>
#include <utility>

namespace tenure::feeder {

Coordinator::Coordinator(const Spec& spec, Hold hold, source::Source& source, Outside& outside, Post post)
    : source_(source),
      outside_(outside),
      post_(std::move(post)),
      sequence_(hold.key),
      emitter_(outside.emitter(hold)),
      voice_(outside, spec.name) {}

bool Coordinator::step(Instant now) {
  if (voice_.untold() && now >= voice_.next()) {
    SourceReport report;
    voice_.add_to(report, now);
    emitter_->tell(sequence_, std::move(report));
  }
  if (now < look_at_) return false;
  look_at_ = now + kLookEvery;
  look(now);
  return true;
}

Instant Coordinator::due() const { return voice_.untold() ? std::min(look_at_, voice_.next()) : look_at_; }

void Coordinator::look(Instant now) {
  const Result<std::vector<Bytes>> partitions = source_.partitions();
  if (!partitions) return voice_.set_trouble(partitions.error().message());
  voice_.set_trouble(partitions->size() > kPartitionsMax
                         ? "it has " + std::to_string(partitions->size()) + " partitions, of which only the first " +
                               std::to_string(kPartitionsMax) + " are read"
                         : "");
  const std::size_t count = std::min(partitions->size(), kPartitionsMax);
  for (std::size_t i = 0; i < count; ++i) dispatch((*partitions)[i], now);
}

void Coordinator::dispatch(const Bytes& partition, Instant now) {
  Instant& again = again_at_[partition];
  if (again > now) return;
  again = now + kLookEvery;
  outside_.dispatch(partition, [this, partition, post = post_](Errc refusal) {
    post([this, partition, refusal] {
      if (refusal == Errc{} || refusal == Errc::key_exists) again_at_[partition] = look_at_ + kDispatchAgainEvery;
    });
  });
}

}  // namespace tenure::feeder
