#pragma once

// The part `sessions`: nodes join, beat and end. Other nodes expire a session without a beat for a lease. The frame
// tells the other parts when a session has ended.

#include <cstdint>
#include <optional>

#include "machine/effects.h"
#include "machine/sessions/session_table.h"

namespace tenure {

namespace v1 {
class Beat;
class End;
class Expire;
class Join;
class SessionsState;
}  // namespace v1

class Context;

struct EndedSession {
  std::uint64_t id;
  SessionEnd how;
  const v1::End* said = nullptr;  // of a crash: the record, which may carry evidence
};

class Sessions {
 public:
  Sessions(SessionTable& table, Context& context) : table_(table), context_(context) {}

  // True if the node is in the pool from now on. `gone`: the pool has ended; `version`: the node's version.
  bool on(const v1::Join& record, bool gone, std::uint32_t version);
  void on(const v1::Beat& record);
  // Return the session to end, if the record is valid.
  std::optional<EndedSession> on(const v1::Expire& record);
  std::optional<EndedSession> on(const v1::End& record);
  // Called when the other parts have released it.
  void end(const EndedSession& ended);

  bool all_speak(std::uint32_t version) const;

 private:
  SessionTable& table_;
  Context& context_;
};

// For snapshots.
void save_sessions(const SessionTable& table, v1::SessionsState& into);
bool load_sessions(const v1::SessionsState& from, SessionTable& into);
bool sessions_are_sound(const SessionTable& table, std::uint64_t position);

}  // namespace tenure
