#pragma once

// Which open workers take which jobs: derived from the workers, and looked up for every key that is placed. In most
// pools every open worker takes every job of a kind; then no look-up is needed. Workers that take only types of the
// library itself do not change that for the jobs of users.

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "assign/rendezvous.h"
#include "machine/keys/type_table.h"
#include "machine/keys/worker_table.h"

namespace tenure {

// Open workers, eldest first, and their places.
struct Crowd {
  std::vector<WorkerIx> workers;
  std::vector<Place> places;
};

class Takers {
 public:
  // To be called when the set of open workers has changed.
  void refresh(const WorkerTable& workers);
  // The number may come to mean another type.
  void forget(TypeId type);

  // Every open worker that takes jobs of users of this kind takes all of them.
  bool uniform(JobKind kind) const { return uniform_[static_cast<std::size_t>(kind)]; }
  // Whether some open worker takes jobs of users of this kind.
  bool any(JobKind kind) const { return !crowd_of_users(kind).workers.empty(); }
  // The open workers that also get tasks that wait for others, eldest first.
  const std::vector<WorkerIx>& helpers() const { return helpers_; }
  // Those that take such a job.
  const Crowd& of(JobKind kind, TypeId type, const TypeTable& types, const WorkerTable& workers) {
    return uniform(kind) && !types.is_own(type) ? crowd_of_users(kind) : find(kind, type, types, workers);
  }

 private:
  // Beyond it, crowds are looked up anew: of many types and workers they would be large.
  static constexpr std::size_t kCrowdsMax = 256;

  const Crowd& crowd_of_users(JobKind kind) const { return users_[static_cast<std::size_t>(kind)]; }
  const Crowd& find(JobKind kind, TypeId type, const TypeTable& types, const WorkerTable& workers);
  static std::uint32_t index(JobKind kind, TypeId type) {
    return std::uint32_t{type} * 2 + static_cast<std::uint32_t>(kind);
  }

  Crowd open_;
  std::vector<WorkerIx> helpers_;
  std::array<Crowd, 2> users_;               // by kind: those of the open ones that take jobs of users
  std::array<bool, 2> uniform_{true, true};  // by kind
  std::map<std::uint32_t, Crowd> crowds_;    // by kind and type, where they differ; filled when they are asked for
};

}  // namespace tenure
