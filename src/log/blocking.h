#pragma once

// Blocking calls of a Log, for sequential programs. Never call them from a callback of the Log.

#include <future>
#include <utility>
#include <vector>

#include "log/log.h"

namespace tenure {

inline Result<Position> append_and_wait(Log& log, Bytes data) {
  std::promise<Result<Position>> answered;
  log.append(Lane::data, std::move(data), [&](Result<Position> position) { answered.set_value(std::move(position)); });
  return answered.get_future().get();
}

inline Result<std::vector<Entry>> read_and_wait(Log& log, const Cursor& after) {
  std::promise<Result<std::vector<Entry>>> came;
  log.read(after, [&](Result<std::vector<Entry>> entries) { came.set_value(std::move(entries)); });
  return came.get_future().get();
}

inline Result<Snapshot> load_and_wait(Log& log) {
  std::promise<Result<Snapshot>> came;
  log.load_snapshot([&](Result<Snapshot> snapshot) { came.set_value(std::move(snapshot)); });
  return came.get_future().get();
}

}  // namespace tenure
