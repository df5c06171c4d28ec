/*
 * The handover of a checkout pool: the fast path of checkouts and checkins against threads that are about to wait, and
 * against a thread that suspends the pool (src/checkout/core.h).
 *
 * HOLDERS threads hold a slot each, give it back, and take one again, ROUNDS times. WAITERS threads start without a slot,
 * so there are not enough for all. With SUSPEND another thread closes the pool, looks at the slots, and opens it again.
 *
 * A checkin's store goes through a store buffer of one entry, as on a machine with total store order; a
 * read-modify-write and the mutex wait until the thread's own buffer is empty, and the heavy fence empties those of all
 * threads. The slow path is left at once when nobody waits. The program waits for a while first, which is the easier case.
 *
 * What must hold:
 *   - a slot has at most one holder;
 *   - nobody sleeps forever: a thread that is still in the queue when nothing can move is an invalid end state;
 *   - threads in the queue are served in order, and before every thread that came after them;
 *   - no claim is kept that was made after the suspender has looked.
 *
 * Mutants: NO_FENCE, the waiter looks at the slots without the heavy fence. FENCE_ONCE, only when the slow path is taken
 * for the first time. NO_SECOND_LOOK, a checkin does not look at the pool after its store. BARGE, a checkout looks at
 * the gate neither before nor after its claim. NO_GIVE_BACK: not after it. LATE_GATE: the suspender's look at the slots
 * overtakes its own store to the gate, as it could on ARM without the fence that follows the store.
 */

#ifndef HOLDERS
#define HOLDERS 2
#endif
#ifndef WAITERS
#define WAITERS 1
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#define SLOTS HOLDERS
#define THREADS (HOLDERS + WAITERS + 1)

/* Slots and threads are numbered from one; zero is none. */
bool free[SLOTS + 1];
byte owner[SLOTS + 1];
byte buffered[THREADS + 1]; /* the slot that its thread has made free, and others do not see yet */

bool mutex, slow, gate, suspended, fenced_once;
byte queue[THREADS + 1];
byte queued;
byte granted[THREADS + 1];

/* For the assertions. */
byte joined, served, ticket[THREADS + 1];
bool looked, seen_held[SLOTS + 1];
byte at, index;

#define LOCK                                        \
  atomic {                                          \
    !mutex && buffered[me] == 0 -> mutex = true     \
  }
#define UNLOCK mutex = false

inline empty_buffers() {
  d_step {
    at = 1;
    do
    :: at <= THREADS ->
      if
      :: buffered[at] != 0 -> free[buffered[at]] = true; buffered[at] = 0
      :: else
      fi;
      at++
    :: else -> break
    od;
    at = 0
  }
}

/* With the mutex, or by a compare-and-swap on one slot after the other. */
inline claim_any() {
  got = 0;
  i = 1;
  do
  :: i <= SLOTS && got == 0 ->
    atomic {
      buffered[me] == 0;
      if
      :: free[i] -> free[i] = false; assert(owner[i] == 0); owner[i] = me; got = i
      :: else
      fi;
      i++
    }
  :: else -> break
  od;
  i = 0
}

/* With the mutex: the slot goes to the first in the queue, or is free. */
inline give(slot) {
  d_step {
    if
    :: queued > 0 && !suspended ->
      at = queue[1];
      owner[slot] = at;
      granted[at] = slot;
      assert(ticket[at] == served + 1);
      served++;
      index = 1;
      do
      :: index < queued -> queue[index] = queue[index + 1]; index++
      :: else -> break
      od;
      queue[queued] = 0;
      queued--;
      gate = queued > 0;
      at = 0;
      index = 0
    :: else ->
      owner[slot] = 0;
      free[slot] = true;
      if
      :: !gate -> slow = false
      :: else
      fi
    fi
  }
}

inline checkin(slot) {
  if
  :: slow || gate ->
    LOCK;
    give(slot);
    UNLOCK
  :: else ->
    /* It may be interrupted here, for any time. */
    atomic { buffered[me] == 0 -> owner[slot] = 0; buffered[me] = slot }
#ifndef NO_SECOND_LOOK
    if
    :: slow || gate ->
      LOCK;
      got = 0;
      d_step {
        if
        :: free[slot] -> free[slot] = false; owner[slot] = me; got = slot
        :: else
        fi
      }
      if
      :: got != 0 -> give(slot)
      :: else
      fi;
      got = 0;
      UNLOCK
    :: else
    fi
#endif
  fi
}

inline slow_down() {
#ifdef FENCE_ONCE
  if
  :: !slow && !fenced_once -> slow = true; empty_buffers(); fenced_once = true
  :: else -> slow = true
  fi
#else
  if
  :: !slow ->
    slow = true;
#ifndef NO_FENCE
    empty_buffers()
#endif
  :: else
  fi
#endif
}

/* With the mutex: a free slot, or a place in the queue and finally a slot. */
inline wait_for_slot() {
  LOCK;
  slow_down();
  got = 0;
  if
  :: queued == 0 && !suspended -> claim_any()
  :: else
  fi;
  if
  :: got != 0 -> UNLOCK
  :: else ->
    d_step {
      joined++;
      ticket[me] = joined;
      queued++;
      queue[queued] = me;
      gate = true
    };
    UNLOCK;
    granted[me] != 0; /* asleep */
    d_step {
      got = granted[me];
      granted[me] = 0;
      assert(owner[got] == me)
    }
  fi
}

inline checkout() {
  got = 0;
  before = joined;
#ifdef BARGE
  claim_any();
#else
  if
  :: gate
  :: else -> claim_any()
  fi;
#endif
  if
  :: got == 0 -> wait_for_slot()
  :: else ->
#if defined(BARGE) || defined(NO_GIVE_BACK)
    assert(served >= before);
    assert(!looked || seen_held[got])
#else
    if
    :: gate ->
      held = got;
      LOCK;
      give(held);
      UNLOCK;
      wait_for_slot()
    :: atomic { else -> assert(served >= before); assert(!looked || seen_held[got]) }
    fi
#endif
  fi
}

proctype Holder(byte me; byte held) {
  byte got = 0, i = 0, rounds = 0, before = 0;
  do
  :: rounds < ROUNDS ->
    checkin(held);
    checkout();
    held = got;
    rounds++
  :: else -> break
  od;
  checkin(held)
}

proctype Waiter(byte me) {
  byte got = 0, i = 0, held = 0, before = 0;
  checkout();
  held = got;
  checkin(held)
}

proctype Suspender(byte me) {
  byte got = 0, i = 0;
  LOCK;
  slow_down();
#ifndef LATE_GATE
  d_step { suspended = true; gate = true };
#endif
  d_step {
    i = 1;
    do
    :: i <= SLOTS -> seen_held[i] = owner[i] != 0; i++
    :: else -> break
    od;
    i = 0;
    looked = true
  };
#ifdef LATE_GATE
  d_step { suspended = true; gate = true };
#endif
  UNLOCK;
  LOCK;
  d_step { looked = false; suspended = false; gate = queued > 0 };
  do
  :: queued == 0 -> break
  :: else ->
    claim_any();
    if
    :: got == 0 -> break
    :: else -> give(got)
    fi
  od;
  UNLOCK
}

/* At some time the processor writes the buffered store. */
proctype Processor(byte me) {
end:
  do
  :: d_step { buffered[me] != 0 -> free[buffered[me]] = true; buffered[me] = 0 }
  od
}

init {
  byte n = 1;
  atomic {
    do
    :: n <= SLOTS -> owner[n] = n; run Holder(n, n); run Processor(n); n++
    :: n > SLOTS && n < THREADS -> run Waiter(n); run Processor(n); n++
    :: n == THREADS -> break
    od;
#ifdef SUSPEND
    run Suspender(n)
#endif
  }
}
