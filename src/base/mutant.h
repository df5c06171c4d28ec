#pragma once

// Deliberate bugs, to test the simulator: it must catch every mutant. In ordinary builds MUTANT(name) is the constant
// false, and the bug is not compiled in. Only the simulator's variant of the libraries (TENURE_MUTANTS) can switch one
// on.

#include <array>
#include <cstdint>
#include <string_view>

namespace tenure {

#define TENURE_MUTANT_LIST(X)                                                                                   \
  X(grant_before_release)      /* a moving key is granted before its old holder has stopped */                  \
  X(accept_ended_session)      /* a tenure's records count although its session has ended */                    \
  X(no_dedupe)                 /* a batch that was sent twice is applied twice */                               \
  X(deadline_from_confirm)     /* the own lease runs from the answer, not from the sending */                   \
  X(observer_lease_short)      /* an observer waits half a lease */                                             \
  X(watchdog_off)              /* nobody stops the jobs when the lease runs out */                              \
  X(fence_forgets_jobs)        /* a node that finds itself expired rejoins and leaves jobs running */           \
  X(lost_history_ignored)      /* a node continues after the log lost entries */                                \
  X(lost_records_ignored)      /* a node continues after its own records were lost unread */                    \
  X(epoch_from_position)       /* epochs restart when the log lost entries */                                   \
  X(queue_bound_off_by_one)    /* one job too many is accepted */                                               \
  X(granted_not_counted)       /* a granted job leaves the queue bound before a handler begins it */            \
  X(delayed_not_counted)       /* delayed jobs have no bound */                                                 \
  X(start_timeout_uncounted)   /* a start that timed out is tried again for ever */                             \
  X(message_refusal_swallowed) /* a message that was refused is said to be handled */                           \
  X(queue_trims_oldest)        /* a full queue drops its oldest job and says nothing */                         \
  X(key_exists_unchecked)      /* a second resident job is accepted, and nothing done */                        \
  X(retry_lost)                /* a failed task is forgotten instead of tried again */                          \
  X(orphan_lost)               /* a dead worker's running jobs are forgotten */                                 \
  X(checkpoint_not_restored)   /* the next holder starts without the checkpoint */                              \
  X(snapshot_forgets_timers)   /* a restored node knows no retries */                                           \
  X(local_time_in_machine)     /* a decision depends on who applies it */                                       \
  X(beat_confirms_any)         /* any session's beat renews the own lease */                                    \
  X(beats_unproven)            /* a log that was replaced still accepts beats */                                \
  X(tasks_overlap)             /* the next task of a key is granted before the last is done */                  \
  X(stale_epoch_accepted)      /* a holder's record counts whatever epoch it names */                           \
  X(unsent_forgotten)          /* a batch whose answer was lost is not sent again */                            \
  X(notify_dropped_on_move)    /* messages to a key that is moving are dropped */                               \
  X(rule_ahead_of_version)     /* a node applies a new rule as soon as it speaks it */                          \
  X(failed_start_drops)        /* a resident that ran is dropped when it fails to start elsewhere */            \
  X(unfit_gets_keys)           /* a worker whose starts keep failing gets keys like others */                   \
  X(unfit_for_ever)            /* a worker that was unfit never gets keys again */                              \
  X(placement_ignores_takes)   /* a job is granted to a worker that does not take it */                         \
  X(helpers_idle)              /* a task waits for a full worker while a helper has room */                     \
  X(joins_unseat_residents)    /* a newcomer unseats residents that it does not take */                         \
  X(restored_twice)            /* a second member puts the pool back again after it was restored */             \
  X(restored_epochs_low)       /* a restored pool gives epochs that were given before */                        \
  X(restore_forgets_dead)      /* buried jobs are not put back */                                               \
  X(restores_ended_pool)       /* a pool that was shut down is put back */                                      \
  X(restore_left_unfinished)   /* nobody goes on when the member that puts a pool back has died */              \
  X(restore_brings_jobs_again) /* the next member brings jobs that are back, and have ended since */            \
  X(restore_leaves_key_cut)    /* a resident whose key came in parts waits on */                                \
  X(blames_all_young)          /* a death without evidence counts against every young job there */              \
  X(evidence_ignored)          /* a job that crashes its process is never blamed */                             \
  X(foreign_culprit)           /* evidence counts against a job that another session holds */                   \
  X(choice_by_holder)          /* a choice is not written if the holder is the worker chosen */                 \
  X(choice_of_other_workers)   /* a choice counts that was made for workers of before */                        \
  X(choice_gives_nothing)      /* where the function fails, nothing is written */                               \
  X(serving_ends_unasked)      /* a key that is served no more stays with its server */                         \
  X(shutdown_starts_residents) /* residents that nobody holds are kept in a shutdown */                         \
  X(shutdown_leaves_drained)   /* drained workers take no tasks in a shutdown */                                \
  X(shutdown_waits_forever)    /* a task may put itself off for ever in a shutdown */                           \
  X(shutdown_left_early)       /* members leave a pool that has ended, whoever is still in it */                \
  X(shutdown_keeps_log)        /* the log of a pool that is gone is left to others */                           \
  X(log_removed_too_soon)      /* a log is removed before the engine's clock has passed its epochs */           \
  X(removes_next_log)          /* a removal without an answer goes on after the node has loaded the next log */ \
  X(ticks_only_when_due)       /* log time is not kept going until a timer is due */                            \
  X(emit_position_ignored)     /* an emit counts although its position was reached before */                    \
  X(emit_of_any_epoch)         /* an emit counts although its tenure is over */                                 \
  X(emit_gap_accepted)         /* an emit counts although the log lost what was before it */                    \
  X(emit_taken_in_part)        /* an emit for which there is no room is taken in in part */                     \
  X(emit_loss_counted_again)   /* events that a source lost count again with an emit that is repeated */        \
  X(own_types_taken_by_all)    /* a worker that takes every job of users takes those of the library, too */     \
  X(emit_first_shard_for_all)  /* the next holder goes on from the first shard's position */                    \
  X(restore_forgets_sources)   /* positions of sources are not put back */                                      \
  X(handback_unreleased)       /* a primary gets its partition before the secondary has released it */          \
  X(secondary_never_yields)    /* a secondary keeps the partition when its primary is back */                   \
  X(primary_never_settles)     /* nothing happens when a primary has waited long enough */                      \
  X(partition_load_of_holders) /* partitions on their way to a worker do not count as its load */               \
  X(partitions_of_two_numbers) /* a resize does not wait for partitions of the old number */                    \
  X(surge_never_returns)       /* a part on loan stays there when its backlog has gone */                       \
  X(surge_without_backlog)     /* parts are lent although their partition is not behind */

enum class Mutant : std::uint8_t {
  none,
#define TENURE_MUTANT_NAME(name) name,
  TENURE_MUTANT_LIST(TENURE_MUTANT_NAME)
#undef TENURE_MUTANT_NAME
};

#define TENURE_MUTANT_TEXT(name) #name,
constexpr auto kMutantNames = std::to_array<std::string_view>({"none", TENURE_MUTANT_LIST(TENURE_MUTANT_TEXT)});
#undef TENURE_MUTANT_TEXT

#ifdef TENURE_MUTANTS
// Set before a simulation begins. One per thread, so that simulations can run in parallel.
inline thread_local Mutant active_mutant = Mutant::none;
#define MUTANT(name) (::tenure::active_mutant == ::tenure::Mutant::name)
#else
#define MUTANT(name) false
#endif

}  // namespace tenure
