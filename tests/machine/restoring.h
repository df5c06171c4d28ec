#pragma once

// What tests of restorations share: members that remember a machine, and the records in which they put it back.

#include "machine/pool.h"

namespace tenure::test {

constexpr std::size_t kWhole = 1U << 20;

// Every part of what a machine remembers, as records of this session. Where `present` is given, what is left after
// that.
inline TestPool::Records parts_of(const Machine& old, std::uint64_t session, std::size_t bytes = kWhole,
                                  const Machine* present = nullptr) {
  TestPool::Records parts;
  const auto source = old.remembered();
  if (present != nullptr) source->go_on_after(*present);
  const std::uint64_t before = present == nullptr ? 0 : present->restoration().parts;
  while (!source->at_end()) {
    v1::Record record;
    v1::Restore& part = *record.mutable_restore();
    part.set_session(session);
    part.set_part(before + parts.size());
    source->next(bytes, part);
    parts.push_back(std::move(record));
  }
  return parts;
}

inline v1::Record survivor(std::uint64_t session, const Machine& old) {
  v1::Record record = rec::join(session);
  record.mutable_join()->set_remembers(old.position());
  record.mutable_join()->set_remembers_ms(old.engine_ms());
  record.mutable_join()->set_restores(true);
  return record;
}

// A snapshot of the state is one that can be loaded.
inline void expect_sound(TestPool& pool) {
  Machine other;
  const Status restored = other.restore(save(pool.machine()));
  EXPECT_TRUE(restored) << restored.error().message();
  EXPECT_EQ(other.state_digest(), pool.machine().state_digest());
}

}  // namespace tenure::test
