/* A log that is replaced under its readers. The engine's key `meta` names the log that newcomers get. It can be deleted,
 * and can be changed to name another log and back again, while the members of both logs continue to read, append and
 * beat. Each log has one member. Both hold the same key by the rules of their own log, because neither log knows of the
 * other.
 *
 * A beat is appended in one step with the proof that meta names this log. If meta is gone, the beat restores it.
 * A member's lease starts when its last confirmed beat is sent. Ticks may come at any moment, so a beat can be in flight,
 * and its confirmation unread, for any time.
 *
 * Two members may both have a lease for at most one lease after meta has last changed. ./run checks this, and that each
 * MUT_ below is caught. Left out: the margin between two clocks, so leases are exact (tenure_lease.pml has the margin). */

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
     /* Just before a tick, a lease still counts as whole. */
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

/* A newcomer joins the log that meta names, or creates the second one if meta is gone. Joining is a beat. */
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
