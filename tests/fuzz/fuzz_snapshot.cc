// Fuzzes a snapshot: the bytes as they are, and once more with a corrected sum, so that later checks are reached. A
// restored machine must pass the same exercises as any other.

#include "fuzz/exercise.h"
#include "fuzz/parts.h"
#include "fuzz/snapshot_sum.h"

namespace {

using tenure::Bytes;

std::vector<Bytes> with_sum_put_right(const std::vector<Bytes>& chunks) {
  Bytes global;
  std::vector<Bytes> items;
  for (const Bytes& bytes : chunks) {
    tenure::v1::SnapshotChunk chunk;
    if (!chunk.ParseFromString(bytes)) return {};
    global += chunk.global();
    items.insert(items.end(), chunk.items().begin(), chunk.items().end());
  }
  return {tenure::test::snapshot_of(global, items)};
}

void try_restore(const std::vector<Bytes>& chunks) {
  tenure::Machine machine;
  if (!machine.restore(chunks)) return;
  tenure::test::expect_restorable(machine);
  tenure::test::Feeder feeder(machine, 1'800'000'000'000);
  tenure::test::exercise(machine, feeder);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<Bytes> chunks = tenure::test::split_parts(data, size);
  try_restore(chunks);
  try_restore(with_sum_put_right(chunks));
  return 0;
}
