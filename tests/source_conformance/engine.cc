#include "source_conformance/engine.h"

#include <algorithm>

namespace tenure::conformance {
namespace {

std::vector<TestSource>& registered_sources() {
  static std::vector<TestSource> all;
  return all;
}

}  // namespace

RegisteredSource::RegisteredSource(TestSource source) { registered_sources().push_back(std::move(source)); }

std::vector<TestSource> test_sources() {
  std::vector<TestSource> all = registered_sources();
  std::sort(all.begin(), all.end(), [](const TestSource& a, const TestSource& b) { return a.name < b.name; });
  return all;
}

std::vector<TestSource> test_sources_across_processes() {
  std::vector<TestSource> some = test_sources();
  std::erase_if(some, [](const TestSource& source) { return !source.across_processes; });
  return some;
}

std::unique_ptr<source::StreamWriter> SourceConformance::writer(const std::string& stream) const {
  auto opened = source::open_stream_writer(url(stream), true);
  EXPECT_TRUE(opened) << opened.error().message();
  return opened ? std::move(*opened) : nullptr;
}

std::unique_ptr<source::Source> SourceConformance::reader(const std::string& stream) const {
  auto opened = source::open_source(url(stream));
  EXPECT_TRUE(opened) << opened.error().message();
  return opened ? std::move(*opened) : nullptr;
}

Reading SourceConformance::reading(std::uint64_t after, std::vector<source::Mark> marks,
                                   const std::string& stream) const {
  Reading reading(reader(stream));
  const Status opened = reading.source().open("0", after, std::move(marks));
  EXPECT_TRUE(opened) << opened.error().message();
  reading.position = after;
  return reading;
}

}  // namespace tenure::conformance
