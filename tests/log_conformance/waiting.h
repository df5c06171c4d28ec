#pragma once

// Blocking calls of the port. Every wait has a deadline, which only a broken engine reaches.

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "log/log.h"

namespace tenure::conformance {

constexpr std::chrono::seconds kDeadline{30};

// A promise that callbacks share: a callback is a std::function and must be copyable.
template <class T>
class Answer {
 public:
  std::function<void(T)> callback() {
    return [promise = promise_](T value) { promise->set_value(std::move(value)); };
  }
  bool ready_within(std::chrono::nanoseconds span) { return future_.wait_for(span) == std::future_status::ready; }

  // Errc::timed_out after the deadline, Errc::closed if the callback was destroyed unrun.
  T get() {
    promise_.reset();
    if (!ready_within(kDeadline)) return fail(Errc::timed_out, "answer");
    try {
      return future_.get();
    } catch (const std::future_error&) {
      return fail(Errc::closed, "answer");
    }
  }

 private:
  std::shared_ptr<std::promise<T>> promise_ = std::make_shared<std::promise<T>>();
  std::future<T> future_ = promise_->get_future();
};

inline Result<Position> append(Log& log, Bytes data, Lane lane = Lane::data) {
  Answer<Result<Position>> answer;
  log.append(lane, std::move(data), answer.callback());
  return answer.get();
}

inline Result<std::vector<Entry>> read(Log& log, Cursor after) {
  Answer<Result<std::vector<Entry>>> answer;
  log.read(after, answer.callback());
  return answer.get();
}

// Reads on from the cursor, moving it, until `count` entries have come or a read fails.
inline Result<std::vector<Entry>> read_on(Log& log, Cursor& cursor, std::size_t count) {
  std::vector<Entry> all;
  while (all.size() < count) {
    auto run = read(log, cursor);
    if (!run) return run;
    for (Entry& entry : *run) all.push_back(std::move(entry));
    cursor = Cursor::at(all.back());
  }
  return all;
}

inline Result<Snapshot> load_snapshot(Log& log, IfGone if_gone = IfGone::create) {
  Answer<Result<Snapshot>> answer;
  log.load_snapshot(if_gone, answer.callback());
  return answer.get();
}

inline Status store_snapshot(Log& log, Cursor at, std::vector<Bytes> chunks) {
  Answer<Status> answer;
  const auto writer = log.begin_snapshot(at);
  for (Bytes& chunk : chunks) writer->add(std::move(chunk));
  writer->commit(answer.callback());
  return answer.get();
}

inline Status trim(Log& log, Position before) {
  Answer<Status> answer;
  log.trim(before, answer.callback());
  return answer.get();
}

inline Status remove(Log& log) {
  Answer<Status> answer;
  log.remove(answer.callback());
  return answer.get();
}

// The code of a failure; zero for success.
template <class T>
Errc code_of(const Result<T>& result) {
  return result ? Errc{} : result.error().code;
}

}  // namespace tenure::conformance
