/* The lease protocol of Tenure over a shared log: join, beat, grant, release, expire, end and self-fence, for one key.
 *
 * The log is modelled by its fold: the state that every reader has at the log's end. A record is judged by the fold when
 * it is appended, and a refused record changes nothing. A node learns of records through flags that it reads at any time,
 * one by one, in any order that a slow reader could see. Records in flight are in slots of their sender and are appended
 * at any later time: after the sender's death, after its next life has begun, or never. A copy of a record that took
 * effect may stay in flight (its answer was lost and it was sent again).
 *
 * Time is a tick that may come at any moment, so every process may be paused for any time. Timers count down
 * in ticks: a node's own lease from the first sending of its last confirmed beat, an observer's from the append of the
 * beat, which is the earliest time it could receive it. A slow clock of the holder stretches its lease by DRIFT ticks.
 *
 * README.md says what is left out. ./run checks every configuration, and that every MUT_ below is caught.           */

#ifndef NODES
#define NODES 2
#endif
#ifndef LEASE
#define LEASE 3
#endif
#ifndef DRIFT
#define DRIFT 1    /* How much longer a lease is on the slowest clock than on the fastest. */
#endif
#ifndef MARGIN
#define MARGIN DRIFT
#endif
#ifndef LIVES
#define LIVES 2    /* Incarnations a node may have before all is calm. */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef MOVES
#define MOVES 1    /* How often the assignment wants the key elsewhere. */
#endif
#ifndef RESENDS
#define RESENDS 1  /* Copies of appended records that stay in flight. */
#endif

#ifdef MUT_SHORT_OBSERVER
#define OBSERVED (LEASE - 1)
#else
#define OBSERVED LEASE
#endif
/* A faster clock only makes the node stop earlier, so the slowest one is enough. */
#define OWNED (LEASE - MARGIN + DRIFT)

#define NOBODY NODES
#define DOWN 0
#define JOINING 1
#define UP 2
#define NONE 0
#define JOIN 1
#define BEAT 2

/* The fold of the log. A session is a node and its incarnation, counted from 1; 0 is none. */
byte session[NODES];            /* The node's living session. */
byte holder = NOBODY;           /* Who holds the key, */
byte holder_session;            /* by which of its sessions, */
byte epoch;                     /* under which epoch; it stands for the position of the grant. */
bool leaving;                   /* The holder has been asked to release. */

/* Records in flight, in slots of their sender. `_copy`: it has taken effect once already. */
byte beat_kind[NODES], beat_session[NODES]; bool beat_copy[NODES];
byte late_join[NODES];          /* A join of an earlier life. */
byte release_session[NODES], release_epoch[NODES]; bool release_copy[NODES];
byte expire_sender[NODES], expire_node[NODES], expire_session[NODES];
bool expire_sent[NODES], expire_stale[NODES];   /* stale: a newer beat was appended after the expire was sent. */
byte guard_session[NODES];      /* The guard saw this session's worker die and will say so. */

/* News in the log for the node's current session that it has not read yet. */
bool told_confirmed[NODES], told_leave[NODES], told_ended[NODES];
byte told_epoch[NODES];

/* The nodes. */
byte status[NODES], life[NODES];
bool gone[NODES];               /* It will not come back. */
bool unconfirmed[NODES];        /* A join or beat was sent and not yet seen in the log. */
byte granted[NODES];            /* The epoch it knows itself to hold, running or not. */
bool running[NODES];

/* Timers, counted down by the clock. */
byte own[NODES];                /* What is left of the node's lease by its own clock. */
byte sent[NODES];               /* What will be left of it if the beat in flight is confirmed. */
byte observed[NODES];           /* When 0, an observer may declare the node's session dead. */

/* The user's database, which refuses a writer with an older epoch than it has seen. */
byte stored_epoch; byte stored_by = NOBODY;

byte crashes = CRASHES, moves = MOVES, resends = RESENDS;
bool calm;                      /* No fault happens any more, and no step is late. */
byte calm_ticks;
byte ended[NODES];              /* Ghost: bits of the sessions that have ended. */
hidden byte i, j;

#define VALID(n) (running[n] && own[n] > 0)
#define PRESENT(n) (status[n] != DOWN && session[n] == life[n])

/* Two nodes never hold the key within their leases, and a node that does has the newest epoch. */
inline check_holders() {
  for (i : 0 .. NODES - 1) {
    for (j : 0 .. NODES - 1) { assert(j == i || !(VALID(i) && VALID(j))) }
  }
#ifndef ONLY_OVERLAP
  for (i : 0 .. NODES - 1) { assert(!VALID(i) || granted[i] == epoch) }
#endif
  i = 0; j = 0
}

/* ---- The fold ---- */

inline grant_to(m) {
  epoch++;
  holder = m; holder_session = session[m]; leaving = false;
  if
  :: PRESENT(m) -> told_epoch[m] = epoch; told_leave[m] = false
  :: else
  fi
}

/* The key is free. It goes to any member, and to `last` only if there is no other. */
inline grant_after(last) {
  holder = NOBODY; holder_session = 0; leaving = false;
  if
  :: session[0] != 0 && last != 0 -> grant_to(0)
  :: session[1] != 0 && last != 1 -> grant_to(1)
#if NODES > 2
  :: session[2] != 0 && last != 2 -> grant_to(2)
#endif
  :: else ->
     if
     :: session[last] != 0 -> grant_to(last)
     :: else
     fi
  fi
}

inline end_session(m) {
  ended[m] = ended[m] | (1 << session[m]);
  if
  :: PRESENT(m) -> told_ended[m] = true
  :: else
  fi;
  if
  :: holder == m && holder_session == session[m] -> session[m] = 0; observed[m] = 0; grant_after(m)
  :: else -> session[m] = 0; observed[m] = 0
  fi
}

inline accept_beat(m) {
  observed[m] = OBSERVED;
  for (i : 0 .. NODES - 1) {
    if
    :: expire_sent[i] && expire_node[i] == m && expire_session[i] == session[m] -> expire_stale[i] = true
    :: else
    fi
  }
  i = 0;
  if
  :: PRESENT(m) && unconfirmed[m] -> told_confirmed[m] = true
  :: else
  fi
}

/* A second session of a worker is refused while the first lives. */
inline accept_join(m, joiner) {
#ifndef FORGETFUL
  assert((ended[m] & (1 << joiner)) == 0);   /* An ended session never comes back. */
#endif
  session[m] = joiner;
  accept_beat(m);
  if
  :: holder == NOBODY -> grant_to(m)
  :: else
  fi
}

inline append_beat(m) {
  if
#ifndef MUT_NO_DEDUPE
  :: beat_copy[m] -> skip
#endif
  :: else ->
     if
     :: beat_kind[m] == JOIN && session[m] == 0 -> accept_join(m, beat_session[m])
     :: beat_kind[m] == BEAT && session[m] == beat_session[m] -> accept_beat(m)
#ifdef MUT_ENDED_BEAT
     :: beat_kind[m] == BEAT && session[m] != beat_session[m] ->
        if
        :: life[m] == beat_session[m] && unconfirmed[m] -> told_confirmed[m] = true
        :: else
        fi
#endif
     :: else
     fi
  fi
}

inline append_release(m) {
  if
  :: release_copy[m] -> skip
  :: else ->
     if
#ifdef MUT_ENDED_RELEASE
     :: holder == m -> grant_after(m)
#else
     :: holder == m && holder_session == release_session[m] && epoch == release_epoch[m] -> grant_after(m)
#endif
     :: else
     fi
  fi
}

#ifdef MUT_NO_COMPARE
#define IS_LAST_BEAT(m) true
#else
#define IS_LAST_BEAT(m) (!expire_stale[m])
#endif

inline append_expire(m) {
  if
  :: session[expire_node[m]] == expire_session[m] && IS_LAST_BEAT(m) &&
     (expire_sender[m] == 0 || expire_sender[m] == session[m]) -> end_session(expire_node[m])
  :: else
  fi;
  expire_sent[m] = false; expire_stale[m] = false; expire_sender[m] = 0; expire_node[m] = 0; expire_session[m] = 0
}

/* The assignment wants the key elsewhere: the holder is asked, and only its release grants it again. */
inline want_move() {
  moves--;
#ifdef MUT_EARLY_GRANT
  j = holder; grant_after(j); j = 0
#else
  leaving = true;
  if
  :: PRESENT(holder) && holder_session == life[holder] -> told_leave[holder] = true
  :: else
  fi
#endif
}

/* ---- A node ---- */

inline start_lease(n) {
  unconfirmed[n] = true; sent[n] = OWNED
}

inline send_join(n) {
  beat_kind[n] = JOIN; beat_session[n] = life[n]; beat_copy[n] = false;
  start_lease(n)
}

inline forget(n) {
  status[n] = DOWN; running[n] = false; granted[n] = 0; unconfirmed[n] = false; own[n] = 0; sent[n] = 0;
  told_confirmed[n] = false; told_leave[n] = false; told_ended[n] = false; told_epoch[n] = 0
}

inline crash(n) {
  crashes--;
  if
  :: guard_session[n] = life[n]
  :: skip
  fi;
  if
  :: gone[n] = true
  :: skip
  fi;
  forget(n)
}

inline confirm(n) {
  told_confirmed[n] = false; unconfirmed[n] = false; status[n] = UP;
#ifdef MUT_FROM_CONFIRM
  own[n] = OWNED;
#else
  if
  :: sent[n] > own[n] -> own[n] = sent[n]
  :: else
  fi;
#endif
  sent[n] = 0;
  check_holders()
}

/* A write of the job, which may come late: a frozen process continues with its next instruction when it wakes. */
inline write(n) {
#ifndef MUT_OPEN_STORE
  assert(own[n] == 0 || granted[n] >= stored_epoch);
  if
  :: granted[n] < stored_epoch -> skip
  :: else ->
#else
  if
  :: true ->
#endif
     assert(granted[n] >= stored_epoch);
     assert(granted[n] > stored_epoch || stored_by == n);
     stored_epoch = granted[n]; stored_by = n
  fi
}

/* A node may claim the death of others only while its own beats come back. A node that waits for the end of its worker's
 * earlier life may claim that one. */
#ifdef MUT_NO_EXPIRE
#define MAY_EXPIRE(n, m) false
#else
#define MAY_EXPIRE(n, m) \
  (!gone[n] && !expire_sent[n] && session[m] != 0 && observed[m] == 0 && \
   ((status[n] == UP && own[n] > 0 && n != m) || (status[n] != UP && n == m && !PRESENT(n))))
#endif

inline send_expire(n, m) {
  expire_sent[n] = true; expire_node[n] = m; expire_session[n] = session[m];
  expire_sender[n] = (status[n] == UP -> life[n] : 0)
}

/* The nodes are alike. If only one crash is allowed, node 0 has it. */
#define MAY_CRASH(n) (crashes > 0 && (CRASHES > 1 || n == 0))
#define MAY_KEEP_COPY(copy) (resends > 0 && !calm && !(copy))

proctype Node(byte n) {
end:
  do
  /* Life and death. */
  :: atomic { status[n] == DOWN && !gone[n] && session[n] == 0 && (life[n] < LIVES || calm) ->
       life[n]++; status[n] = JOINING;
       if
       :: beat_kind[n] == JOIN && !beat_copy[n] -> late_join[n] = beat_session[n]
       :: else
       fi;
       send_join(n) }
  :: atomic { status[n] == JOINING && beat_kind[n] == NONE && !told_confirmed[n] && session[n] == 0 && !told_ended[n] ->
       send_join(n) }                                           /* It read that its join was refused. */
  :: atomic { status[n] != DOWN && MAY_CRASH(n) && !calm -> crash(n) }

  /* The lease. */
  :: atomic { status[n] == UP && !unconfirmed[n] && !calm && own[n] < OWNED ->
       beat_kind[n] = BEAT; beat_session[n] = life[n]; beat_copy[n] = false; start_lease(n) }
  :: atomic { told_confirmed[n] -> confirm(n) }
  :: atomic { running[n] && own[n] == 0 -> running[n] = false }  /* It fences itself. */
#ifdef MUT_FROM_RESEND
  :: atomic { unconfirmed[n] && resends > 0 -> resends--; sent[n] = OWNED }
#endif

  /* The key. */
  :: atomic { told_epoch[n] != 0 && granted[n] == 0 -> granted[n] = told_epoch[n]; told_epoch[n] = 0 }
  :: atomic { granted[n] != 0 && !running[n] && own[n] > 0 -> running[n] = true; check_holders() }
#ifdef STORE
  :: atomic { running[n] && (stored_epoch != granted[n] || stored_by != n) && !(calm && granted[n] < stored_epoch) ->
       write(n) }
#endif
  :: atomic { told_leave[n] && granted[n] != 0 && told_epoch[n] == 0 ->
       told_leave[n] = false; running[n] = false;
       release_session[n] = life[n]; release_epoch[n] = granted[n]; release_copy[n] = false; granted[n] = 0 }
  :: atomic { told_ended[n] -> forget(n) }

  /* The others. */
  :: atomic { MAY_EXPIRE(n, 0) -> send_expire(n, 0) }
  :: atomic { MAY_EXPIRE(n, 1) -> send_expire(n, 1) }
#if NODES > 2
  :: atomic { MAY_EXPIRE(n, 2) -> send_expire(n, 2) }
#endif

  /* Its records reach the log. */
  :: atomic { beat_kind[n] != NONE ->
       append_beat(n);
       if
       :: MAY_KEEP_COPY(beat_copy[n]) -> resends--; beat_copy[n] = true
       :: beat_kind[n] = NONE; beat_session[n] = 0; beat_copy[n] = false
       fi }
  :: atomic { late_join[n] != 0 ->
       if
       :: session[n] == 0 -> accept_join(n, late_join[n])
       :: else
       fi;
       late_join[n] = 0 }
  :: atomic { release_session[n] != 0 ->
       append_release(n);
       if
       :: MAY_KEEP_COPY(release_copy[n]) -> resends--; release_copy[n] = true
       :: release_session[n] = 0; release_epoch[n] = 0; release_copy[n] = false
       fi }
  :: atomic { expire_sent[n] -> append_expire(n) }
  :: atomic { guard_session[n] != 0 ->
       if
       :: guard_session[n] == session[n] -> guard_session[n] = 0; end_session(n)
       :: else -> guard_session[n] = 0
       fi }
#ifdef MUT_EARLY_GUARD
  :: atomic { status[n] == UP && guard_session[n] == 0 && crashes > 0 -> crashes--; guard_session[n] = life[n] }
#endif

  /* The key is wanted elsewhere. */
  :: atomic { n == 0 && moves > 0 && holder != NOBODY && !leaving && !calm -> want_move() }
  od
}

#if NODES > 2
#define ANY(what) (what(0) || what(1) || what(2))
#define ALL(what) (what(0) && what(1) && what(2))
#else
#define ANY(what) (what(0) || what(1))
#define ALL(what) (what(0) && what(1))
#endif
#define RUNS_A_TIMER(n) (own[n] + sent[n] + observed[n] > 0)
#define IN_TOUCH(n) (status[n] == UP && session[n] == life[n])
#define WAITS_FOR_TIME(n) (session[n] != 0 && ((!IN_TOUCH(n) && observed[n] > 0) || (IN_TOUCH(n) && own[n] == 0)))

inline count_down(n) {
  if :: own[n] > 0 -> own[n]-- :: else fi;
  if :: sent[n] > 0 -> sent[n]-- :: else fi;
  if :: observed[n] > 0 -> observed[n]-- :: else fi
}

inline tick() {
  for (i : 0 .. NODES - 1) { count_down(i) }
  i = 0
}

/* During recovery, time advances only when nothing else can happen, and every beat of a living node arrives. */
inline calm_tick() {
  tick(); calm_ticks++;
  for (i : 0 .. NODES - 1) {
    if
    :: IN_TOUCH(i) -> own[i] = OWNED; observed[i] = OBSERVED
    :: else
    fi
  }
  i = 0
}

proctype Clock() {
end:
  do
  :: atomic { !calm && ANY(RUNS_A_TIMER) -> tick() }
#ifdef RECOVERY
  :: atomic { !calm -> calm = true; crashes = 0; moves = 0; resends = 0 }
  :: atomic { calm && timeout && ANY(WAITS_FOR_TIME) -> calm_tick() }
#endif
  od
}

#ifdef RECOVERY
#define SETTLED(n) (gone[n] -> session[n] == 0 : IN_TOUCH(n) && own[n] > 0)
#define IS_GONE(n) (gone[n])
/* When nothing can happen any more, the dead are expired, the living are members, and one of them runs the key. This took
 * no longer than a lease and the beat that starts it. */
proctype Monitor() {
end:
  atomic { calm && timeout && !ANY(WAITS_FOR_TIME) ->
    assert(ALL(SETTLED));
    assert(ALL(IS_GONE) || (holder != NOBODY && holder_session == session[holder] && running[holder] &&
                            granted[holder] == epoch && !leaving));
    assert(calm_ticks <= LEASE + 1) }
}
#endif

init {
  atomic {
    run Node(0); run Node(1);
#if NODES > 2
    run Node(2);
#endif
    run Clock();
#ifdef RECOVERY
    run Monitor();
#endif
  }
}
