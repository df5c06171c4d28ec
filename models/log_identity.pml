/* A log that is replaced under its readers. The engine's key `meta` names the log that newcomers are given. It can be
 * deleted, and can be made to name another log and back again, while the members of either log go on reading, appending
 * and beating there. Each log has one member, which holds the same key under its own log's rules, since neither log
 * knows of the other.
 *
 * A beat is appended in one step with the proof that meta names this log. Where meta is gone, the beat writes it again.
 * A member's lease runs from the sending of its last confirmed beat. Ticks may come at any moment, so that a beat can be
 * on its way, and its confirmation unread, for any time.
 *
 * It must hold that two members both have a lease for no longer than one lease after meta has last changed. ./run checks
 * it, and that each MUT_ below is caught. What is left out: the margin between two clocks (tenure_lease.pml has it), so
 * that a lease is exact.                                                                                             */

#ifndef LEASE
#define LEASE 3
#endif
#ifndef CHANGES
#define CHANGES 3  /* How often somebody tampers with meta. */
#endif

#define GONE 2
#define IDLE 0
#define SENT 1
#define TAKEN 2

byte meta = 0;
byte named = 0;           /* What meta named last, if it is gone. */
byte changes = CHANGES;
byte since = LEASE + 1;   /* Ticks since meta last named another log, up to LEASE + 1. */
byte left[2];             /* Of each member's lease. */
byte beat[2];             /* Its beat, of which one at a time is under way, */
byte age[2];              /* and the ticks since that was sent, up to LEASE. */

inline point_to(log) {
  if :: named != log -> since = 0 :: else fi;
  named = log;
  meta = log
}

active proctype Time() {
  byte i;
  do
  :: atomic {
       for (i : 0 .. 1) {
         if :: left[i] > 0 -> left[i]-- :: else fi;
         if :: beat[i] != IDLE && age[i] < LEASE -> age[i]++ :: else fi
       };
       if :: since <= LEASE -> since++ :: else fi;
       i = 0
     };
     /* Just before a tick is when a lease is still counted whole. */
     assert(left[0] == 0 || left[1] == 0 || since <= LEASE)
  od
}

active proctype Tamperer() {
  do
  :: atomic { changes > 0 && meta != GONE -> changes--; meta = GONE }
  :: atomic { changes > 0 && named == 0 -> changes--; point_to(1) }
  :: atomic { changes > 0 && named == 1 -> changes--; point_to(0) }
  od
}

/* A newcomer joins the log that meta names, or makes the second one where meta is gone. Joining is a beat. */
proctype Member(byte me) {
end:
  do
  :: atomic { me == 1 && meta == GONE -> point_to(1) }
  :: atomic { beat[me] == IDLE && (left[me] > 0 || meta == me) -> beat[me] = SENT; age[me] = 0 }
  :: atomic {
       beat[me] == SENT ->
#ifdef MUT_UNPROVEN
       beat[me] = TAKEN
#else
       if
       :: meta == me -> beat[me] = TAKEN
       :: meta == GONE -> point_to(me)
       :: else -> beat[me] = IDLE
       fi
#endif
     }
  :: atomic {
       beat[me] == TAKEN ->
#ifdef MUT_FROM_CONFIRM
       age[me] = 0;
#endif
       if :: LEASE - age[me] > left[me] -> left[me] = LEASE - age[me] :: else fi;
       beat[me] = IDLE
     }
  od
}

init {
  atomic { run Member(0); run Member(1) }
}
