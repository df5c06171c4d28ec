// Fuzzes the entries of a log with any bytes.

#include "fuzz/exercise.h"
#include "fuzz/parts.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tenure::Machine machine;
  tenure::test::Feeder feeder(machine, 1'700'000'000'000);
  for (const tenure::Bytes& entry : tenure::test::split_parts(data, size)) {
    feeder.pass(entry.empty() ? 0 : static_cast<unsigned char>(entry.back()) * 20);
    feeder.feed(entry);
  }
  tenure::test::expect_restorable(machine);
  return 0;
}
