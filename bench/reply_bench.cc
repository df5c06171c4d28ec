// Measures the parser of a server's replies with what a pool's connections receive: the answer to an append, a run of
// entries with one job each, and the chunk of a snapshot. The bytes arrive as from a socket.

#include <benchmark/benchmark.h>

#include <optional>
#include <string>

#include "log/redis/reply_parser.h"

namespace tenure::redis {
namespace {

constexpr std::size_t kReadBytes = 64U << 10;

std::string bulk(const std::string& text) { return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n"; }

// As XREAD says it.
std::string run_of_entries(std::int64_t count, std::size_t bytes) {
  std::string run =
      "*1\r\n*2\r\n" + bulk("tenure:{default}:log:0123456789abcdef") + "*" + std::to_string(count) + "\r\n";
  for (std::int64_t i = 0; i < count; ++i) {
    run += "*2\r\n" + bulk("1700000000000-" + std::to_string(i)) + "*2\r\n" + bulk("e") + bulk(std::string(bytes, 'x'));
  }
  return run;
}

// Parses the answers over and over. What is kept of each is as little as a caller keeps.
void parse(benchmark::State& state, const std::string& bytes, std::int64_t answers) {
  ReplyParser parser;
  std::int64_t met = 0;
  for (auto _ : state) {
    for (std::size_t at = 0; at < bytes.size(); at += kReadBytes) {
      parser.feed(BytesView(bytes).substr(at, kReadBytes));
      for (;;) {
        const Result<std::optional<Reply>> next = parser.next();
        if (!next) return state.SkipWithError(next.error().message().c_str());
        if (!*next) break;
        ++met;
        benchmark::DoNotOptimize((*next)->value().size());
      }
    }
  }
  if (met != answers * state.iterations()) state.SkipWithError("not every answer came");
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

void answer_to_an_append(benchmark::State& state) { parse(state, bulk("1700000000000-0"), 1); }
BENCHMARK(answer_to_an_append);

void answers_to_appends(benchmark::State& state) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += bulk("1700000000000-" + std::to_string(i));
  parse(state, bytes, 256);
}
BENCHMARK(answers_to_appends);

void run(benchmark::State& state) {
  parse(state, run_of_entries(state.range(0), static_cast<std::size_t>(state.range(1))), 1);
}
BENCHMARK(run)->Args({1, 256})->Args({64, 256})->Args({1024, 1024})->Args({4, 256 << 10});

void chunk_of_a_snapshot(benchmark::State& state) { parse(state, bulk(std::string(1U << 20, 'x')), 1); }
BENCHMARK(chunk_of_a_snapshot);

}  // namespace
}  // namespace tenure::redis

BENCHMARK_MAIN();
