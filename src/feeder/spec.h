#pragma once

// The options that all residents of a source share, and the names of these residents in the pool.
//
//   .source/NAME             the coordinator: finds the partitions, and dispatches a feeder for each
//   .source/NAME/PARTITION   the feeder of a partition, and the name of the sequence that it emits
//   .source:NAME:HASH        the type of both: only processes that have the source, with the same options, take them

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tenure::feeder {

constexpr std::size_t kNameBytesMax = 200;

struct Spec {
  Bytes name;
  Bytes kind;    // of the engine
  Bytes stream;  // or the topic
  Bytes start = "oldest";
  bool by_key = true;
  Bytes type{};  // of the tasks
  std::uint32_t max_attempts = 0;

  friend bool operator==(const Spec&, const Spec&) = default;

  // Errc::invalid for an impossible name or type.
  Status check() const;
  Bytes payload() const;
  // Of the residents.
  Bytes resident_type() const;
};

// Nothing if it is none.
std::optional<Spec> read_spec(BytesView payload);
// The difference between two specs as a text: "start is oldest, not newest".
std::string difference(const Spec& first, const Spec& second);

Bytes coordinator_key(BytesView name);
Bytes feeder_key(BytesView name, BytesView partition);

// The parsed key of a source's resident. A coordinator has an empty partition.
struct OwnKey {
  BytesView name;
  BytesView partition;
  BytesView generation;  // of the name of a sequence: "", or "3-1f…"
};
std::optional<OwnKey> read_own_key(BytesView key);
// The number at the start of a generation.
std::uint32_t number_of(BytesView generation);

}  // namespace tenure::feeder
