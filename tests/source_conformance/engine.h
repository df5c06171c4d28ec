#pragma once

// The kinds of sources that the suite tests, and the fixture of its tests. A new kind needs one source file that
// registers what it can do. The tests do not change.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "source/source.h"
#include "source_conformance/reading.h"

namespace tenure::conformance {

// A place for streams, gone with the object.
class StreamPlace {
 public:
  virtual ~StreamPlace() = default;
  // The URL of a stream, which nobody has made yet. Different names are different streams.
  virtual std::string url(const std::string& stream) = 0;
  // The same in two parts: the engine, and the stream's name there.
  virtual std::string engine() {
    std::string one = url("x");
    return one.erase(one.find("stream=x") - 1);
  }
  virtual std::string name_of(const std::string& stream) { return stream; }
  // Makes a stream with so many partitions. Only for kinds that have more than one.
  virtual void make_partitions(const std::string& stream, std::uint32_t count) {
    (void)stream;
    (void)count;
  }
};

struct TestSource {
  std::string name;
  bool across_processes = false;  // processes share a stream
  bool dense = false;             // positions are consecutive, so every loss is counted exactly
  bool limits = false;            // a stream can be bounded
  bool partitions = false;        // a stream can have several
  bool fetches = false;           // events are fetched in advance, from another process
  std::function<std::unique_ptr<StreamPlace>()> make_place{};

  friend std::ostream& operator<<(std::ostream& out, const TestSource& source) { return out << source.name; }
};

template <class Kind>
std::unique_ptr<StreamPlace> make_stream_place() {
  return std::make_unique<Kind>();
}

// Adds a kind to the list below. Made before main() begins, as a constant of the kind's own file.
struct RegisteredSource {
  explicit RegisteredSource(TestSource source);
};

// In the order of their names.
std::vector<TestSource> test_sources();
std::vector<TestSource> test_sources_across_processes();

// Each test has streams of its own, in a place of its own.
class SourceConformance : public testing::TestWithParam<TestSource> {
 protected:
  std::string url(const std::string& stream = "events") const { return place_->url(stream); }
  StreamPlace& place() const { return *place_; }
  // Makes the stream unless it is there.
  std::unique_ptr<source::StreamWriter> writer(const std::string& stream = "events") const;
  std::unique_ptr<source::Source> reader(const std::string& stream = "events") const;
  // A reader with its partition open from the beginning.
  Reading reading(std::uint64_t after = 0, std::vector<source::Mark> marks = {},
                  const std::string& stream = "events") const;

 private:
  std::unique_ptr<StreamPlace> place_ = GetParam().make_place();
};

// The same, for kinds whose streams processes share.
class SourceAcrossProcesses : public SourceConformance {};

}  // namespace tenure::conformance
