#include "machine/restore_source.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "machine/machine.h"
#include "machine/sources/sources.h"
#include "tenure/v1/restore.pb.h"

namespace tenure {
namespace {

constexpr std::ptrdiff_t kSendersSentMax = 4096;

}  // namespace

RestoreSource::RestoreSource(const MachineState& remembered)
    : state_(remembered), keys_(remembered.keys, remembered.frame) {
  if (keys_.size() != 0) place_ = keys_.first(0);
}

void RestoreSource::go_on_after(const Machine& present) {
  const RestorationState& done = present.restoration();
  const bool going_on = done.under_way;
  at_ = going_on && done.any_key ? keys_.behind(done.key) : 0;
  ended_ = false;
  first_ = true;
  there_.clear();
  begun_ = going_on && at_ < keys_.size() && !done.partial.empty() && keys_.key(at_) == done.partial;
  if (begun_) present.each_ticket([this](const TicketView& view) { there_.insert(view.ticket); });
  if (at_ < keys_.size()) place_ = keys_.first(at_);
}

void RestoreSource::next(std::size_t bytes, v1::Restore& into) {
  into.set_position(state_.frame.position);
  into.set_epoch(state_.frame.epoch);
  into.set_log(state_.frame.origin);
  if (state_.frame.configured) {
    encode_config(state_.frame.config, *into.mutable_configure());
    into.mutable_configure()->set_shards(0);  // which shard it is, the log was created with
  }
  if (into.part() == 0) add_senders(into);
  if (std::exchange(first_, false)) {
    v1::SourcesState sources;
    save_sources(state_.sources, sources);
    into.mutable_sources()->Swap(sources.mutable_sources());
  }
  std::size_t size = 0;
  while (at_ < keys_.size() && size < bytes) {
    if (!take_key(bytes, size, into)) return;
    ++at_;
    begun_ = false;
    there_.clear();
    if (at_ < keys_.size()) place_ = keys_.first(at_);
  }
  ended_ = at_ == keys_.size();
  into.set_last(ended_);
}

// Who has been heard of lately: batches are not sent again after kResendMsMax.
void RestoreSource::add_senders(v1::Restore& into) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> recent;  // order, id
  state_.frame.senders.each([&](std::uint64_t id, const Sender& sender) {
    if (sender.used_ms + 2 * kResendMsMax >= state_.frame.log_time_ms) recent.emplace_back(sender.order, id);
  });
  std::sort(recent.begin(), recent.end());
  if (std::ssize(recent) > kSendersSentMax) recent.erase(recent.begin(), recent.end() - kSendersSentMax);
  for (const auto& [order, id] : recent) {
    const Sender& sender = state_.frame.senders.at(id);
    v1::SenderState& state = *into.add_senders();
    state.set_id(id);
    state.set_last(sender.last);
    state.set_seen(sender.seen);
  }
}

bool RestoreSource::take_key(std::size_t bytes, std::size_t& size, v1::Restore& into) {
  v1::RememberedKey& key = *into.add_keys();
  keys_.encode(at_, key);
  size += key.key().size() + 16;
  while (place_.list != RememberedKeys::Place::List::end && (size < bytes || key.jobs_size() == 0)) {
    v1::RememberedJob& job = *key.add_jobs();
    place_ = keys_.encode(at_, place_, job);
    if (there_.contains(job.job().ticket())) {
      key.mutable_jobs()->RemoveLast();
    } else {
      size += job.ByteSizeLong();
    }
  }
  const bool whole = place_.list == RememberedKeys::Place::List::end;
  if (!whole) key.set_more(true);
  if (whole && !begun_ && key.jobs_size() == 0) into.mutable_keys()->RemoveLast();
  begun_ = begun_ || !whole;
  return whole;
}

}  // namespace tenure
