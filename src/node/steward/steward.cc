#include "node/steward/steward.h"

namespace tenure {

Steward::Steward(Loop& loop, Appender& appender, const Observer& observer, ChooseWorker choose, NodeEvents& events)
    : log_time_(loop, appender),
      answers_(appender),
      listings_(appender, observer),
      choices_(appender, std::move(choose), events),
      version_(appender),
      eldest_duties_{&answers_, &listings_, &version_} {}

void Steward::listen_to(EffectsTee& tee) {
  tee.add_pool(listings_);
  tee.add_keys(choices_);
}

void Steward::look(const Machine& machine, std::uint64_t session, std::optional<std::size_t> rank, Instant applied_at) {
  if (!rank) return reset();
  log_time_.look(machine, *rank, applied_at);
  choices_.look(machine, session);
  if (*rank != 0) return stand_down();
  for (EldestDuty* duty : eldest_duties_) duty->serve(machine);
}

void Steward::reset() {
  log_time_.stop();
  choices_.stand_down();
  stand_down();
}

void Steward::stand_down() {
  for (EldestDuty* duty : eldest_duties_) duty->stand_down();
}

}  // namespace tenure
