#pragma once

// The whole state of a machine, decoded from its snapshot, with everything that the machine does not expose.

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "machine/machine.h"
#include "tenure/v1/snapshot.pb.h"

namespace tenure::test {

inline std::vector<Bytes> save(Machine& machine) {
  std::vector<Bytes> chunks;
  const auto source = machine.begin_snapshot();
  while (auto chunk = source->next()) chunks.push_back(std::move(*chunk));
  return chunks;
}

struct Image {
  v1::GlobalState global;
  std::map<Bytes, v1::KeyState> keys;
  std::map<std::uint32_t, v1::JobState> jobs;        // by the number that is stored, one more than the machine's
  std::map<std::uint32_t, v1::WorkerState> workers;  // by index, as it stands in keys less one

  const v1::WorkerState* target(const v1::KeyState& key) const {
    return key.target() == 0 ? nullptr : &workers.at(key.target() - 1);
  }
  // It takes keys.
  bool open(const v1::WorkerState& worker) const {
    const bool replaced = worker.successor() != 0 && !workers.at(worker.successor() - 1).fitness().unfit();
    return !worker.draining() && !replaced && !worker.fitness().unfit();
  }
  const v1::WorkerState* holder(const v1::KeyState& key) const {
    return key.holder() == 0 ? nullptr : &workers.at(key.holder() - 1);
  }
};

inline Image image_of(Machine& machine) {
  Image image;
  Bytes global;
  for (const Bytes& bytes : save(machine)) {
    v1::SnapshotChunk chunk;
    EXPECT_TRUE(chunk.ParseFromString(bytes));
    global += chunk.global();
    for (const Bytes& part : chunk.items()) {
      v1::Item item;
      EXPECT_TRUE(item.ParseFromString(part));
      if (item.has_key()) image.keys[item.key().key()] = item.key();
      if (item.has_job()) image.jobs[item.job().job()] = item.job();
    }
  }
  EXPECT_TRUE(image.global.ParseFromString(global));
  for (const v1::WorkerState& worker : image.global.keys().workers()) image.workers[worker.index()] = worker;
  return image;
}

}  // namespace tenure::test
