#pragma once

// The sessions of a pool. A session is one life of a node, and beats keep it alive. Data and lookups only.

#include <cstdint>
#include <map>
#include <vector>

#include "base/bytes.h"

namespace tenure {

struct Session {
  std::uint64_t id = 0;
  Bytes node;
  Bytes host;
  std::uint32_t pid = 0;
  std::uint32_t lease_ms = 0;
  std::uint32_t speaks = 0;
  std::uint64_t age = 0;        // smaller is older
  std::uint64_t last_beat = 0;  // the position of its last beat, or of its join
  std::uint64_t beat_number = 0;
  std::int64_t joined_ms = 0;  // log time
  bool chooses = false;        // it has the users' function that chooses workers
  // Of a log of the pool that was lost: the last entry that the node had applied, by its position and time.
  std::uint64_t remembers = 0;
  std::int64_t remembers_ms = 0;
  bool restores = false;              // and it will put that state back
  bool fragment = false;              // which is only what came after an earlier loss
  std::vector<std::uint64_t> former;  // its sessions in that log: nothing of them runs any more
  bool newcomer = true;               // it remembers no log, and did not mean to join another one
};

struct SessionTable {
  std::map<std::uint64_t, Session> all;  // by id
  std::uint64_t ages = 0;                // the last age
  std::uint64_t chooser = 0;             // derived: the eldest session that chooses; zero if none does

  Session* find(std::uint64_t id) {
    const auto found = all.find(id);
    return found == all.end() ? nullptr : &found->second;
  }
  const Session* find(std::uint64_t id) const { return const_cast<SessionTable*>(this)->find(id); }

  // The eldest session speaks for the pool. Null if there is none.
  const Session* eldest() const {
    const Session* best = nullptr;
    for (const auto& [id, session] : all) {
      if (best == nullptr || session.age < best->age) best = &session;
    }
    return best;
  }

  std::uint64_t find_chooser() const {
    const Session* best = nullptr;
    for (const auto& [id, session] : all) {
      if (session.chooses && (best == nullptr || session.age < best->age)) best = &session;
    }
    return best == nullptr ? 0 : best->id;
  }

  // How many sessions are older than this one. They speak first.
  std::size_t rank(const Session& session) const {
    std::size_t elder = 0;
    for (const auto& [id, other] : all) elder += other.age < session.age ? 1 : 0;
    return elder;
  }
};

}  // namespace tenure
