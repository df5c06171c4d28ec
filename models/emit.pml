/* Residents that emit the tasks of a source into a pool of two shards, while tenures take over from each other. An event
 * is a number, and has one task, which belongs to one shard. Each shard keeps the position up to which it has all tasks,
 * and the highest epoch that it has heard. Shard 0 holds the resident, and knows when a tenure is over; shard 1 knows
 * epochs only.
 *
 * A holder asks both shards how far they are, goes on from the lower position, and sends each shard its tasks. It has one
 * record under way to each shard, which may be applied at any time, also when the holder is long over: a holder that is
 * never scheduled again has died. Once, the second shard may lose the tail of its log.
 *
 * In every state of a shard, each task at or below its position is there once, and none above it. No emit of an epoch
 * counts once a higher one was heard. ./run checks this, and that each MUT_ below is caught. Left out: the bound of the
 * queue, which refuses a whole record, like a tenure that is over; and shards that are told of a position without tasks. */

#ifndef EVENTS
#define EVENTS 4
#endif
#ifndef HOLDERS
#define HOLDERS 2
#endif
#ifndef LOSSES
#define LOSSES 1
#endif

#define SHARD_OF(event) ((event) % 2)

#define IDLE 0
#define ASKS 1
#define EMITS 2
#define TAKEN 3      /* the answers: */
#define REFUSED 4    /* a later tenure was heard, or this one is over; */
#define GAP 5        /* the shard is not as far as the sender knows */

byte position[2];
byte heard[2];               /* The highest epoch. */
byte there[EVENTS + 1];      /* How often the task of an event was accepted. */
byte tenure = 1;             /* The present one; its number is its epoch. */

/* What the second shard will be thrown back to. */
byte losses = LOSSES;
bool kept = false;
byte kept_position;
byte kept_heard;
byte kept_there[EVENTS + 1];

/* The record of a holder to a shard, and then its answer. */
#define AT(holder, shard) ((holder) * 2 + (shard))
byte state[2 * HOLDERS + 2];
byte from[2 * HOLDERS + 2];  /* The emit has the events behind this one, */
byte to[2 * HOLDERS + 2];    /* up to this one. */
byte after[2 * HOLDERS + 2]; /* The shard has been there. */

inline check(s) {
  for (e : 1 .. EVENTS) {
    assert(SHARD_OF(e) != s || (e <= position[s] && there[e] == 1) || (e > position[s] && there[e] == 0))
  };
  e = 0
}

inline take(me, s) {
  assert(me >= heard[s]);
  heard[s] = me;
  if
  :: state[AT(me, s)] == EMITS ->
       for (e : 1 .. EVENTS) {
         if
#ifdef MUT_NO_POSITION
         :: SHARD_OF(e) == s && e > from[AT(me, s)] && e <= to[AT(me, s)] -> there[e]++
#else
         :: SHARD_OF(e) == s && e > from[AT(me, s)] && e <= to[AT(me, s)] && e > position[s] -> there[e]++
#endif
         :: else
         fi
       };
       e = 0;
       if :: to[AT(me, s)] > position[s] -> position[s] = to[AT(me, s)] :: else fi
  :: else
  fi;
  to[AT(me, s)] = position[s];
  state[AT(me, s)] = TAKEN;
  check(s)
}

inline apply_emit(me, s) {
  if
#ifndef MUT_ANY_EPOCH
  :: me < heard[s] || (s == 0 && me != tenure) -> state[AT(me, s)] = REFUSED
#endif
#ifndef MUT_NO_AFTER
  :: else -> if
     :: after[AT(me, s)] > position[s] -> state[AT(me, s)] = GAP
     :: else -> take(me, s)
     fi
#else
  :: else -> take(me, s)
#endif
  fi
}

inline select_sender(me, s) {
  if
  :: state[AT(1, s)] == ASKS || state[AT(1, s)] == EMITS -> me = 1
  :: state[AT(2, s)] == ASKS || state[AT(2, s)] == EMITS -> me = 2
#if HOLDERS > 2
  :: state[AT(3, s)] == ASKS || state[AT(3, s)] == EMITS -> me = 3
#endif
  fi
}

/* To a shard that has a task of these events, and lacks it. */
inline send(s) {
  state[AT(me, s)] = IDLE;
  if
  :: goal > known[s] && (SHARD_OF(goal) == s || goal > reached + 1) ->
       state[AT(me, s)] = EMITS;
       from[AT(me, s)] = reached; to[AT(me, s)] = goal; after[AT(me, s)] = known[s]
  :: else
  fi
}

/* The log of a shard applies what has been sent, in any order of the senders. */
proctype Shard(byte s) {
  byte me, e;
end:
  do
  :: atomic {
       select_sender(me, s);
       apply_emit(me, s);
       me = 0
     }
  od
}

/* A failover: the log of the second shard is as it was at some earlier moment. What was under way may still come. */
active proctype Failover() {
  byte e;
end:
  atomic {
    losses > 0 && !kept -> kept = true;
    kept_position = position[1]; kept_heard = heard[1];
    for (e : 1 .. EVENTS) { kept_there[e] = there[e] };
    e = 0
  };
  atomic {
    losses--;
    position[1] = kept_position; heard[1] = kept_heard;
    for (e : 1 .. EVENTS) { if :: SHARD_OF(e) == 1 -> there[e] = kept_there[e] :: else fi };
    e = 0
  }
}

active proctype Takeovers() {
end:
  do
  :: atomic { tenure < HOLDERS -> tenure++ }
  od
}

#define ANSWERED(me, s) (state[AT(me, s)] == IDLE || state[AT(me, s)] >= TAKEN)

proctype Holder(byte me) {
  byte known[2];
  byte reached, goal;
end:
  tenure >= me;
asks:
  atomic { state[AT(me, 0)] = ASKS; state[AT(me, 1)] = ASKS;
           after[AT(me, 0)] = 0; after[AT(me, 1)] = 0 };
end_asked:
  atomic {
    ANSWERED(me, 0) && ANSWERED(me, 1);
    if
    :: state[AT(me, 0)] == TAKEN && state[AT(me, 1)] == TAKEN ->
         known[0] = to[AT(me, 0)]; known[1] = to[AT(me, 1)];
#ifdef MUT_FIRST_SHARD
         reached = known[0]
#else
         if :: known[0] < known[1] -> reached = known[0] :: else -> reached = known[1] fi
#endif
    :: else -> goto over
    fi
  };
emits:
  atomic {
    if
    :: reached == EVENTS -> goto over
    :: else
    fi;
    goal = reached + 1;
    do :: goal < EVENTS -> goal++ :: break od;
    send(0); send(1)
  };
end_emitted:
  atomic {
    ANSWERED(me, 0) && ANSWERED(me, 1);
    if
    :: state[AT(me, 0)] == REFUSED || state[AT(me, 1)] == REFUSED -> goto over
    :: state[AT(me, 0)] == GAP || state[AT(me, 1)] == GAP -> goto asks
    :: else ->
         if :: state[AT(me, 0)] == TAKEN -> known[0] = to[AT(me, 0)] :: else fi;
         if :: state[AT(me, 1)] == TAKEN -> known[1] = to[AT(me, 1)] :: else fi;
         reached = goal; goal = 0;
         goto emits
    fi
  };
over:
  skip
}

init {
  atomic {
    run Shard(0); run Shard(1); run Holder(1); run Holder(2);
#if HOLDERS > 2
    run Holder(3)
#endif
  }
}
