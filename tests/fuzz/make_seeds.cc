// Writes the seed inputs of the fuzz targets from random histories. Run it when a format has changed.
// Usage: fuzz_make_seeds tests/fuzz

#include <filesystem>
#include <fstream>
#include <string>

#include "fuzz/parts.h"
#include "machine/historian.h"
#include "machine/image.h"

namespace tenure::test {
namespace {

void write(const std::filesystem::path& path, const Bytes& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void make_seeds(const std::filesystem::path& folder, std::uint64_t seed) {
  const std::string name = "history-" + std::to_string(seed);
  Historian historian(seed);
  Machine machine;
  Recorder ignored;
  std::vector<Bytes> entries;
  v1::Batch records;
  records.set_wall_ms(200);
  for (int i = 0; i < 60; ++i) {
    const LoggedEntry entry = historian.entry(machine);
    machine.apply(entry.view(), ignored);
    entries.push_back(entry.data);
    v1::Batch batch;
    if (!batch.ParseFromString(entry.data)) continue;
    for (v1::Record& record : *batch.mutable_records()) {
      if (record.has_started()) record.mutable_started()->set_epoch(0);
      if (record.has_released()) record.mutable_released()->set_epoch(0);
      if (record.has_done()) record.mutable_done()->set_epoch(0);
      if (record.has_failed()) record.mutable_failed()->set_epoch(0);
      *records.add_records() = record;
    }
  }
  write(folder / "fuzz_entry" / name, join_parts(entries));
  write(folder / "fuzz_records" / name, records.SerializeAsString());
  write(folder / "fuzz_snapshot" / name, join_parts(save(machine)));
}

}  // namespace
}  // namespace tenure::test

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) tenure::test::make_seeds(argv[1], seed);
  return 0;
}
