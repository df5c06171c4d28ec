// The table of the kinds of sources: the only place that knows which there are.

#include <algorithm>
#include <array>

#include "log/engines.h"
#include "source/memory/memory_source.h"
#include "source/source.h"
#ifdef TENURE_WITH_KAFKA
#include "source/kafka/bare_rate.h"
#include "source/kafka/kafka_source.h"
#include "source/kafka/topic_writer.h"
#endif
#ifdef TENURE_WITH_REDIS
#include "source/redis/redis_source.h"
#endif
#ifdef TENURE_WITH_SQLITE
#include "source/sqlite/sqlite_source.h"
#endif

namespace tenure::source {
namespace {

// One row for each engine by its name in the table of engines.
constexpr std::array kKinds = {
#ifdef TENURE_WITH_KAFKA
    Kind{.name = "kafka",
         .open = open_kafka_source,
         .open_writer = open_kafka_stream,
         .measure_bare_rate = measure_kafka_rate},
#endif
    Kind{.name = "memory", .open = memory::open_source, .open_writer = memory::open_writer},
#ifdef TENURE_WITH_REDIS
    Kind{.name = "redis", .open = redis::open_source, .open_writer = redis::open_writer},
#endif
#ifdef TENURE_WITH_SQLITE
    Kind{.name = "sqlite", .open = sqlite::open_source, .open_writer = sqlite::open_writer},
#endif
};

Result<const Kind*> kind_of(std::string_view url) {
  const Result<const Engine*> engine = built_engine_of(url);
  if (!engine) return Failure(engine.error());
  const auto* const found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.name == (*engine)->name; });
  if (found == kKinds.end()) {
    return fail(Errc::refused, "open source", "this build has no sources on " + std::string((*engine)->name));
  }
  return found;
}

}  // namespace

Result<std::unique_ptr<Source>> open_source(std::string_view url) {
  const Result<const Kind*> kind = kind_of(url);
  if (!kind) return Failure(kind.error());
  return (*kind)->open(url);
}

Result<std::unique_ptr<StreamWriter>> open_stream_writer(std::string_view url, bool create) {
  const Result<const Kind*> kind = kind_of(url);
  if (!kind) return Failure(kind.error());
  return (*kind)->open_writer(url, create);
}

Result<double> measure_bare_rate(std::string_view engine_url, std::uint64_t records, std::uint64_t bytes) {
  const Result<const Kind*> kind = kind_of(engine_url);
  if (!kind) return Failure(kind.error());
  if ((*kind)->measure_bare_rate == nullptr) return fail(Errc::refused, "bench", "there is no measurement for it");
  return (*kind)->measure_bare_rate(engine_url, records, bytes);
}

}  // namespace tenure::source
