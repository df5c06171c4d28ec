#pragma once

// The enumerations that jobs, tickets and listings use: kinds, states, stop reasons and assignments.

#include <cstdint>
#include <string_view>

namespace tenure {

enum class JobKind : std::uint8_t {
  resident,  // started on its holder; runs until it is stopped
  task,      // runs to completion; tasks of one key run one after the other
};

enum class JobState : std::uint8_t {
  idle,         // the key has delayed tasks only
  queued,       // waiting for a holder
  starting,     // granted; the handler has not confirmed the start yet
  running,      //
  stopping,     // the holder is stopping it for good
  moving,       // the holder is stopping it so that the key can move
  waiting,      // waiting for its delay or its next attempt
  dead,         // out of attempts; a dead resident keeps its key
  quarantined,  // crashed its process too often; a quarantined resident keeps its key
};

// The state of a ticket: accepted or refused, then the steps of its job.
enum class TicketState : std::uint8_t { accepted, refused, started, done, failed, stopped };

// Why a holder must stop a job.
enum class StopReason : std::uint8_t {
  stop,           // somebody stopped it for good
  move,           // the key moves to another worker
  start_timeout,  // the start took longer than pending_job_ttl
  shutdown,       // the pool is shutting down
};

// How the pool chooses a worker for each key. Rendezvous moves the fewest keys when workers join or leave.
enum class Assignment : std::uint8_t {
  rendezvous = 1,
  jump = 2,    // jump consistent hash over the workers sorted by age
  chosen = 3,  // PoolOptions::choose
};

std::string_view to_string(JobKind kind);
std::string_view to_string(JobState state);
std::string_view to_string(TicketState state);
std::string_view to_string(StopReason reason);

}  // namespace tenure
