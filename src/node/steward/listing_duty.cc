#include "node/steward/listing_duty.h"

#include <utility>

#include "node/keys/listing.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

constexpr std::size_t kQuestionsMax = 16;  // of one entry; the loop waits while each is answered

}  // namespace

// A question beyond the limit gets no answer. Its client loads the state itself, as without any member.
void ListingDuty::asked(const At& /*at*/, const v1::Ask& ask) {
  if (ask.has_remembered()) return;  // the healer's
  if (questions_.size() < kQuestionsMax) questions_.push_back(ask.SerializeAsString());
}

void ListingDuty::serve(const Machine& machine) {
  for (const Bytes& question : std::exchange(questions_, {})) {
    v1::Ask ask;
    if (!appender_.has_room() || !ask.ParseFromString(question)) continue;
    v1::Record record;
    *record.mutable_told() = tell(machine, observer_, ask, kToldMax, kToldBytesMax);
    appender_.offer(record);
  }
}

}  // namespace tenure
