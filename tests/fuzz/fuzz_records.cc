// Fuzzes records, one per entry, in a valid frame so that every reader applies them. A random epoch would almost never
// be a current one, so an epoch below four stands for the current tenure.

#include "fuzz/exercise.h"

namespace {

using tenure::v1::Record;

template <class Message>
void name_present_tenure(const tenure::Machine& machine, Message& message) {
  if (message.epoch() >= 4) return;
  if (const auto job = machine.find(message.key())) message.set_epoch(job->epoch);
}

void make_apt(const tenure::Machine& machine, Record& record) {
  switch (record.kind_case()) {
    case Record::kStarted: return name_present_tenure(machine, *record.mutable_started());
    case Record::kReleased: return name_present_tenure(machine, *record.mutable_released());
    case Record::kDone: return name_present_tenure(machine, *record.mutable_done());
    case Record::kFailed: return name_present_tenure(machine, *record.mutable_failed());
    case Record::kCheckpoint: return name_present_tenure(machine, *record.mutable_checkpoint());
    case Record::kNotified: return name_present_tenure(machine, *record.mutable_notified());
    default: return;
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tenure::v1::Batch batch;
  if (size > 1U << 16 || !batch.ParseFromArray(data, static_cast<int>(size))) return 0;
  tenure::Machine machine;
  tenure::test::Feeder feeder(machine, 1'700'000'000'000);
  // The wall clock of a batch decides nothing; here it says how time passes.
  const std::int64_t step_ms = batch.wall_ms() & 0xfff;
  for (Record& record : *batch.mutable_records()) {
    make_apt(machine, record);
    feeder.pass(step_ms);
    feeder.feed(record);
  }
  tenure::test::expect_restorable(machine);
  tenure::test::exercise(machine, feeder);
  return 0;
}
