#pragma once

// Sources that a pool reads by itself (docs/sources.md): each event becomes a task of the pool, exactly once.
//
//     pool.add_source({.url = "kafka://broker:9092/orders"}).value();
//     pool.add_worker([](tenure::Job& job) { return ship(job.payload()); });
//
// A source is a Kafka topic, a Redis stream or a stream of Tenure's. Its partitions are spread among all processes that
// have added it; when one of them ends or dies, the others take its partitions over. Plain values; not thread-safe.

#include <chrono>
#include <cstdint>
#include <string>

namespace tenure {

enum class SourceOrder : std::uint8_t {
  by_key,  // an event's key is its task's key, so events of one key are done in order; events without a key run freely
  none,    // each event has a key of its own: all run freely
};

struct SourceOptions {
  // kafka://HOST,…/TOPIC, redis://HOST/DB?stream=KEY, sqlite:PATH?stream=NAME, memory:NAME?stream=NAME. Each process
  // uses its own: the pool keeps no address and no login. Its query may have name=, order=, start= and type= for the
  // fields below; then these count.
  std::string url{};
  // Of the source in the pool; up to 200 bytes without a slash. Empty: that of the stream or topic.
  std::string name{};
  SourceOrder order = SourceOrder::by_key;
  // Where it begins, if the pool has read nothing of it yet: oldest, newest, a position, a time such as
  // 2026-11-19T17:00:00Z, or -15m.
  std::string start = "oldest";
  // Of the tasks, as in DispatchOptions.
  std::string type{};
  std::uint32_t max_attempts = 0;
  // How long to wait for the pool to accept the source.
  std::chrono::milliseconds timeout{30'000};
};

}  // namespace tenure
