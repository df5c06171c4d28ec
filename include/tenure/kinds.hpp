#pragma once

// The words that callbacks and listings use for what a job is, where it stands, and why it is asked to stop.

#include <cstdint>
#include <string_view>

namespace tenure {

enum class JobKind : std::uint8_t {
  resident,  // is started on its holder and runs until it is stopped
  task,      // runs to completion and is gone; tasks of one key run one after the other
};

enum class JobState : std::uint8_t {
  idle,         // the key has delayed tasks only
  queued,       // wants a holder
  starting,     // granted; the handler has not said yet that it runs
  running,      //
  stopping,     // the holder was asked to stop it for good
  moving,       // the holder was asked to stop it so that the key can be granted anew
  waiting,      // wants a holder later
  dead,         // out of attempts; only residents stay with their key
  quarantined,  // killed too many holders; only residents stay with their key
};

// What has become of a ticket: accepted or refused first, then the steps of the job it stands for.
enum class TicketState : std::uint8_t { accepted, refused, started, done, failed, stopped };

// Why a holder is asked to stop a job.
enum class StopReason : std::uint8_t {
  stop,           // somebody stopped it for good
  move,           // another worker is to hold the key
  start_timeout,  // it took longer to start than a pending job may
  shutdown,       // the pool is ending
};

// How the worker of a key is found. Rendezvous moves the fewest keys when workers come and go.
enum class Assignment : std::uint8_t {
  rendezvous = 1,
  jump = 2,    // jump consistent hash over the workers sorted by age
  chosen = 3,  // by the user's own function
};

std::string_view to_string(JobKind kind);
std::string_view to_string(JobState state);
std::string_view to_string(TicketState state);
std::string_view to_string(StopReason reason);

}  // namespace tenure
