// Another process that uses a stream, for the suite. Reports in lines.
//
//   actor URL add PREFIX COUNT   adds PREFIX0, PREFIX1, …; a position for each
//   actor URL read COUNT         reads so many events from the oldest on; their payloads
//   actor URL fill PREFIX        adds until the stream is full; how many it added

#include <cstdio>
#include <cstdlib>
#include <string>

#include "source/source.h"

namespace {

using namespace tenure;

int add(source::StreamWriter& stream, const std::string& prefix, int count) {
  for (int i = 0; i < count; ++i) {
    source::Event event;
    event.payload = prefix + std::to_string(i);
    const auto at = stream.add({event});
    if (!at) {
      std::fprintf(stderr, "%s\n", at.error().message().c_str());
      return 1;
    }
    std::printf("%llu\n", static_cast<unsigned long long>(at->front()));
    std::fflush(stdout);
  }
  return 0;
}

int fill(source::StreamWriter& stream, const std::string& prefix) {
  int count = 0;
  for (;;) {
    source::Event event;
    event.payload = prefix + std::to_string(count);
    const auto at = stream.add({event});
    if (!at && at.error().code != Errc::pool_full) return 1;
    if (!at) break;
    ++count;
  }
  std::printf("%d\n", count);
  return 0;
}

int read(source::Source& source, int count) {
  const BootClock clock;
  if (!source.open("0", 0, {})) return 1;
  while (count > 0) {
    const auto run = source.read("0", {});
    if (!run && run.error().code != Errc::unavailable) return 1;
    if (run && run->events.empty()) source.wait(clock.now() + std::chrono::seconds(1));
    if (!run) continue;
    for (const source::Event& event : run->events) {
      std::printf("%s\n", event.payload.c_str());
      --count;
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string url = argv[1];
  const std::string what = argv[2];
  if (what == "read") {
    const auto source = tenure::source::open_source(url);
    return source ? read(**source, std::atoi(argv[3])) : 1;
  }
  const auto stream = tenure::source::open_stream_writer(url, true);
  if (!stream) return 1;
  return what == "fill" ? fill(**stream, argv[3]) : add(**stream, argv[3], argc > 4 ? std::atoi(argv[4]) : 0);
}
