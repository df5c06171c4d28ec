#pragma once

// Which jobs a worker takes: for each kind every job, or only those of certain types. Types of the library itself have
// to be named: a worker that takes every job of a kind takes every job of its users (machine/own_names.h).

#include <array>
#include <vector>

#include "base/bytes.h"
#include "machine/effects.h"

namespace google::protobuf {
template <class Message>
class RepeatedPtrField;
}  // namespace google::protobuf

namespace tenure {

namespace v1 {
class Takes;
}  // namespace v1

class Takes {
 public:
  // Everything, unless something is added.
  Takes() = default;
  static Takes nothing();

  // Adds to what is taken. Meant for nothing(): everything has these already.
  void add_all(JobKind kind);
  void add_type(JobKind kind, BytesView type);

  bool everything() const { return *this == Takes(); }
  // Every job of users of the kind, whatever its type.
  bool all(JobKind kind) const { return of(kind).all; }
  // Some job of the kind.
  bool any(JobKind kind) const { return of(kind).all || !of(kind).types.empty(); }
  bool has(JobKind kind, BytesView type) const;
  // Some job of users.
  bool users(JobKind kind) const;

  bool operator==(const Takes&) const = default;
  // How many kinds and types it names.
  std::size_t size() const;

  // False if it is over a bound or malformed. An empty list is everything.
  bool load(const google::protobuf::RepeatedPtrField<v1::Takes>& from);
  void save(google::protobuf::RepeatedPtrField<v1::Takes>& into) const;
  // For people: "task", "resident:x", one for each part. Empty for everything.
  std::vector<Bytes> texts() const;

 private:
  struct OfKind {
    bool all = true;
    std::vector<Bytes> types{};  // sorted, each once; beside all only those of the library

    bool operator==(const OfKind&) const = default;
  };

  const OfKind& of(JobKind kind) const { return kinds_[static_cast<std::size_t>(kind)]; }
  OfKind& of(JobKind kind) { return kinds_[static_cast<std::size_t>(kind)]; }

  std::array<OfKind, 2> kinds_{};
};

}  // namespace tenure
