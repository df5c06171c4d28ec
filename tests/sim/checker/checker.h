#pragma once

// Judges a history. The checker knows what a pool promises, but not how it is built: it reads no state of a machine and
// shares no code with one. The promises have letters, which violations name:
//
//   a  no two lease-valid tenures of a key overlap
//   b  epochs of a key only grow, whatever was lost or restarted, and no tenure begins twice
//   c  no write of an older epoch is accepted after a newer tenure wrote; the rightful holder's writes are accepted
//   d  a running process has ended every hold by its lease's deadline, and begins none without a lease
//   e  a key is granted anew only when its last holder has stopped, died, or lost its lease
//   f  an accepted job ends as done, failed, buried or stopped, or is held at the end, and is settled once
//   g  tasks of a key run one at a time, in the order of their acceptance
//   h  a key never has two live jobs if one is resident; refusals for that reason are true
//   i  the bounds are exact: nothing is accepted beyond them, and `pool_full` comes only when one is reached. One
//      counts jobs that no handler has begun, the other jobs whose delay is not over
//   j  all nodes that applied the same entry have the same digest
//   k  once all faults are over, every resident job is held again in time
//   l  log and snapshot are bounded
//   m  messages reach the holder in order and without gaps
//   n  a holder gets the last checkpoint or blob that was in the log before its grant
//   o  without faults nobody is declared dead, and no process dies
//   p  no node gives up for good, because every fault here is temporary
//   q  every request of a living process gets its outcome
//   r  without faults, the end of a hold is soon in the log
//   t  a worker gets only jobs that it takes
//   s  a log that lost everything is put back by a member that lived within its lease, with all that it knew, once, and
//      not after the pool was removed
//   x  a job is quarantined only if it crashed its processes, or was alone in them whenever they died
//   H  no task waits while a worker that helps, and takes it, has room
//   y  a job that the log names as having crashed its process too often is not granted again
//   u  a resident that has run ends by a stop, by itself or as a dead letter, and never because a start failed
//   v  a worker whose starts keep failing gets no keys but for a try now and then
//   w  a key is held by a worker that serves it, or by the one that the users' function chose
//   z  a pool that is shut down starts no resident any more, does all its tasks, and is gone soon, its log with it: at
//      the latest when its last member leaves
//   E  a source's tasks are accepted exactly once and in order, none is missing below its position, and only the
//      present tenure emits; where a log is put back, the position comes back with the tasks
//   P  a partition is held by a worker of its rank, of several with the same rank by the one with the fewest; in the
//      end by its primary; and never together with one of another number of partitions
//   D  without faults, a delayed task is granted when its delay is over
//   T  a start that takes too long counts as an attempt, so it is not tried for ever
//   M  a message that its handler refused is never reported as handled, and each is settled when its job is over

#include <cstdint>
#include <string>
#include <vector>

#include "base/shard.h"
#include "sim/checker/choice.h"
#include "sim/checker/history.h"

namespace tenure::sim {

// A log that loses acknowledged entries breaks an assumption of leases. A node that was granted a key in the lost tail,
// or had its beat confirmed there, may believe so for a lease, while others, who never read of it, continue. During
// that time a, e and, for messages sent then, m are not required, and only the epochs (b, c) protect the user's data;
// they always hold.
struct Expectations {
  Time lease = 0;                    // the longest in the pool
  Time watchdog_slack = 5 * kMilli;  // how late a hold may end after its deadline
  Time resume_slack = 5 * kMilli;    // and how late after a resume, where its process was paused at the deadline
  Time recovery = 30 * kSecond;      // after Healed
  std::uint32_t queue_bound = 1000;
  std::uint32_t delayed_bound = 100'000;
  std::uint32_t quarantine_after = 0;  // crashes; zero: never
  Shard shard{};                       // of whose epochs the remainder tells the shard
  std::uint64_t bytes_since_snapshot_max = UINT64_MAX;
  std::uint64_t log_entries_max = UINT64_MAX;
  bool all_answered = true;      // the run was long enough for every answer
  bool calm = false;             // nothing went wrong in the run
  Time telling = INT64_MAX;      // from the end of a hold until it is in the log, in such a run
  Time ending = 60 * kSecond;    // from a shutdown, or from Healed, until the log is removed
  Time placing = 60 * kSecond;   // until every key is held where it belongs
  Choice choice{};               // the users' function, if there is one
  Ring ring{};                   // the partitions of the pool in the end
  Time ranking = 120 * kSecond;  // until every partition is held by its primary
  bool engine_steps = false;     // the engine's clock may jump: a delay may be over early
  bool all_settled = true;       // the run was long enough for every task to end
  bool begins_late = false;  // between the last look at the lease and a hold's beginning the process may stand still
};

struct Violation {
  char promise;
  Time at;
  std::string text;
};

std::vector<Violation> check(const History& history, const Expectations& expected);

// "b at 12.345678 s: …"
std::string to_string(const Violation& violation);

}  // namespace tenure::sim
