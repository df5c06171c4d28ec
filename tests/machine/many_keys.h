#pragma once

// A pool with many resident jobs, and their holders.

#include <map>
#include <string>

#include "machine/pool.h"

namespace tenure::test {

constexpr int kKeys = 200;

inline Bytes key(int i) { return "key" + std::to_string(i); }

inline void run_keys(TestPool& pool) {
  for (int i = 0; i < kKeys; ++i) pool.resident(key(i));
  pool.settle();
}

inline std::map<Bytes, Bytes> holders(const TestPool& pool) {
  std::map<Bytes, Bytes> map;
  pool.machine().each_job(0, [&](const JobInfo& job) {
    map[Bytes(job.key)] = Bytes(job.worker);
    return true;
  });
  return map;
}

}  // namespace tenure::test
