/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory orders of src/canal (README.md there), on a machine weaker than x86-64: each location has
 * all its writes in one order, and each process a view of it, the oldest write that it may still read.
 * A relaxed access moves the view of its own location alone. A release write carries the views of
 * its process, and an acquire read that meets it takes them over; a full barrier does so with all
 * barriers before it. Swaps act on the last write. These are the rules of C11 without values from the
 * future: no load here decides a store except by acquire or by a swap.
 *
 * count.pml and keys.pml have the protocol in one order, with more processes. Here are its three
 * arguments that need an order: COUNT, of S1 and S2 with a holder that dies anywhere; KEY, of a key
 * that is compared while its slot is given away; WAIT, of a waiter and a release.
 *
 * Each order can be left out: SWAP_RELEASE, SWAP_FENCE, READ_ACQUIRE, KEY_FENCE, WAIT_FENCE = 0.
 */
#ifndef SWAP_RELEASE
#define SWAP_RELEASE 1 /* the swap is a release */
#endif
#ifndef SWAP_FENCE
#define SWAP_FENCE 1 /* and a full barrier */
#endif
#ifndef READ_ACQUIRE
#define READ_ACQUIRE 1
#endif
#ifndef KEY_FENCE
#define KEY_FENCE 1
#endif
#ifndef WAIT_FENCE
#define WAIT_FENCE 1
#endif

#define LOCATIONS 3
#define WRITES 8
#define PROCESSES 3

byte value[LOCATIONS * WRITES];
byte carried[LOCATIONS * WRITES * LOCATIONS]; /* the views that a write carries */
byte last[LOCATIONS];
byte sees[PROCESSES * LOCATIONS];     /* the view */
byte met[PROCESSES * LOCATIONS];     /* with what relaxed reads have met: for a fence */
byte barrier[PROCESSES * LOCATIONS]; /* at the last barrier: carried by relaxed writes */
byte all[LOCATIONS];                 /* of all barriers */

#define CARRIED(at, write, k) carried[((at) * WRITES + (write)) * LOCATIONS + (k)]
#define RAISE(one, other) if :: one < other -> one = other :: else fi
#define JOIN(set, from, k) RAISE(set[me * LOCATIONS + k], from)

#define TAKE(set, at) \
    JOIN(set, CARRIED(at, write, 0), 0); \
    JOIN(set, CARRIED(at, write, 1), 1); \
    JOIN(set, CARRIED(at, write, 2), 2)

inline load(at, is_acquire) {
    atomic {
        write = sees[me * LOCATIONS + at];
        do
        :: write < last[at] -> write++
        :: break
        od;
        d_step {
            got = value[at * WRITES + write];
            sees[me * LOCATIONS + at] = write;
            TAKE(met, at);
            RAISE(met[me * LOCATIONS + at], write);
            if :: is_acquire -> TAKE(sees, at) :: else fi;
            write = 0
        }
    }
}

inline append(at, what, k0, k1, k2) {
    last[at]++;
    assert(last[at] < WRITES);
    value[at * WRITES + last[at]] = what;
    CARRIED(at, last[at], 0) = k0;
    CARRIED(at, last[at], 1) = k1;
    CARRIED(at, last[at], 2) = k2;
    CARRIED(at, last[at], at) = last[at];
    sees[me * LOCATIONS + at] = last[at];
    met[me * LOCATIONS + at] = last[at]
}

inline store(at, what, is_release) {
    d_step {
        if
        :: is_release -> append(at, what, sees[me * 3], sees[me * 3 + 1], sees[me * 3 + 2])
        :: else -> append(at, what, barrier[me * 3], barrier[me * 3 + 1], barrier[me * 3 + 2])
        fi
    }
}

#define FENCE_ONE(k) \
    JOIN(sees, met[me * LOCATIONS + k], k); \
    JOIN(sees, all[k], k); \
    all[k] = sees[me * LOCATIONS + k]; \
    met[me * LOCATIONS + k] = sees[me * LOCATIONS + k]; \
    barrier[me * LOCATIONS + k] = sees[me * LOCATIONS + k]

inline fence() { d_step { FENCE_ONE(0); FENCE_ONE(1); FENCE_ONE(2) } }

inline acquire_fence() {
    d_step {
        JOIN(sees, met[me * LOCATIONS], 0);
        JOIN(sees, met[me * LOCATIONS + 1], 1);
        JOIN(sees, met[me * LOCATIONS + 2], 2)
    }
}

/* Of an entry: acquire and release. */
inline exchange(at, from, to) {
    write = last[at];
    sees[me * LOCATIONS + at] = write;
    TAKE(sees, at);
    swapped = (value[at * WRITES + write] == from);
    if
    :: swapped -> append(at, to, sees[me * 3], sees[me * 3 + 1], sees[me * 3 + 2])
    :: else
    fi;
    write = 0
}

/* Of a word. Without release it carries on what the write before it carried, as C11 has it. */
inline swap(at, from, to) {
    write = last[at];
    sees[me * LOCATIONS + at] = write;
    swapped = (value[at * WRITES + write] == from);
    if
    :: swapped && SWAP_RELEASE ->
        TAKE(sees, at);
        append(at, to, sees[me * 3], sees[me * 3 + 1], sees[me * 3 + 2])
    :: swapped && !SWAP_RELEASE ->
        append(at, to, CARRIED(at, write, 0), CARRIED(at, write, 1), CARRIED(at, write, 2));
        TAKE(sees, at)
    :: else -> TAKE(sees, at)
    fi;
    write = 0
}

#if SWAP_FENCE
#define after_swap fence()
#else
#define after_swap skip
#endif

#ifdef COUNT
/*
 * Two holders, each takes and gives back once; limits 1 and 2. Holder 0 may die at each step, and
 * process 2 finishes what it left. A word is its stamp and the count: a holder's stamps are 2h + 1
 * for its acquire, 2h + 2 for its release. An entry goes through the kinds.
 */
#define WORD 2
#define WORD_OF(stamp, count) ((stamp) * 4 + (count))
#define STAMP(word) ((word) / 4)
#define COUNTED(word) ((word) % 4)
#define HOLDER(stamp) (((stamp) - 1) / 2)
#define ACQUIRING 1
#define HELD 2
#define RELEASING 3
#define FREE 4

bool held[2];
bool dead, over0, over1;

/* The two halves, one after the other. */
inline read() {
    load(WORD, READ_ACQUIRE);
    stamp = STAMP(got);
    load(WORD, READ_ACQUIRE);
    count = COUNTED(got);
    other = (stamp == STAMP(got) -> stamp : 0); /* a torn one names another entry: not settled */
    if :: other != 0 -> whose = HOLDER(other) :: else fi
}

/* lk_canal_settle() */
inline settle() {
    if
    :: other != 0 ->
        load(whose, true);
        if
        :: got == ACQUIRING && other % 2 == 1 -> atomic { exchange(whose, ACQUIRING, HELD) }
        :: got == RELEASING && other % 2 == 0 -> atomic { exchange(whose, RELEASING, FREE) }
        :: else
        fi
    :: else
    fi
}

inline change(who, mine, to) {
    d_step {
        swap(WORD, WORD_OF(stamp, count), WORD_OF(mine, to));
        if
        :: swapped && to > count -> assert(!held[who]); held[who] = true
        :: swapped && to < count -> assert(held[who]); held[who] = false
        :: else
        fi;
        assert(!swapped || to == held[0] + held[1])
    }
    after_swap
}

#define maybe_die if :: me == 0 -> dead = true; goto end :: true fi

proctype holder(byte me; byte limit) {
    byte write, got, stamp, count, other, whose;
    bool swapped;

    store(me, ACQUIRING, true);
    maybe_die;
    do
    :: read();
        if
        :: count + 1 > limit -> store(me, FREE, true); goto end /* full */
        :: else -> settle(); maybe_die; change(me, 2 * me + 1, count + 1); maybe_die
        fi;
        if :: swapped -> break :: else fi
    od;
    store(me, HELD, true);
    maybe_die;
    store(me, RELEASING, true);
    maybe_die;
    do
    :: read();
        if
        :: count > 0 -> settle(); maybe_die; change(me, 2 * me + 2, count - 1); maybe_die
        :: else -> swapped = false
        fi;
        if :: swapped -> break :: else fi
    od;
    store(me, FREE, true);
end:
    if :: me == 0 -> over0 = true :: else -> over1 = true fi
}

/* repair_entry(), of holder 0. The kernel tells of its death after its last store is visible. */
proctype repairer(byte me) {
    byte write, got, kind, stamp, count, other, whose;
    bool swapped;

    atomic {
        over0;
        d_step { JOIN(sees, sees[0], 0); JOIN(sees, sees[1], 1); JOIN(sees, sees[2], 2) }
    }
    do
    :: load(0, true);
        kind = got;
        if
        :: kind == 0 || kind == FREE -> break
        :: kind == ACQUIRING ->
            load(WORD, READ_ACQUIRE);
            if
            :: STAMP(got) == 1 -> atomic { exchange(0, ACQUIRING, HELD) }
            :: else -> atomic { exchange(0, ACQUIRING, FREE) }
            fi
        :: kind == HELD -> atomic { exchange(0, HELD, RELEASING) }
        :: kind == RELEASING ->
            read();
            load(0, true);
            if
            :: got != RELEASING
            :: got == RELEASING && stamp == 2 -> atomic { exchange(0, RELEASING, FREE) }
            :: got == RELEASING && stamp != 2 && count > 0 && other != 0 ->
                settle();
                change(0, 2, count - 1);
                if :: swapped -> atomic { exchange(0, RELEASING, FREE) } :: else fi
            :: else
            fi
        fi
    od;
    over1;
    assert(!held[0] && !held[1]);
    assert(COUNTED(value[WORD * WRITES + last[WORD]]) == 0)
}

init {
    atomic { run holder(0, 1); run holder(1, 2); run repairer(2) }
}
#endif

#ifdef KEY
/* The slot has an idle key, 0. One process gives it to key 1; another compares the key. */
#define WORD 0
#define BYTES 1

proctype giver(byte me) {
    byte write;
    bool swapped;

    d_step { swap(WORD, 0, 1) } /* reserved */
    after_swap;
    store(BYTES, 1, false);
    d_step { swap(WORD, 1, 2) } /* LIVE */
    after_swap
}

proctype reader(byte me) {
    byte write, got, seen, key;

    load(WORD, READ_ACQUIRE);
    seen = got;
    load(BYTES, false);
    key = got;
#if KEY_FENCE
    acquire_fence();
#endif
    load(WORD, READ_ACQUIRE);
    assert(got != seen || seen == 1 || (seen == 0 && key == 0) || (seen == 2 && key == 1))
}

init {
    atomic { run giver(0); run reader(1) }
}
#endif

#ifdef WAIT
/* A permit is held; one process gives it back, another waits for it. */
#define WORD 0
#define WAITING 1
bool asleep, woken, released;

proctype releaser(byte me) {
    byte write, got;
    bool swapped;

    d_step { swap(WORD, 0, 1) }
    after_swap;
    load(WAITING, false);
    if
    :: got == 1 -> store(WAITING, 0, true); woken = true
    :: else
    fi;
    released = true
}

proctype waiter(byte me) {
    byte write, got;

    store(WAITING, 1, true);
#if WAIT_FENCE
    fence();
#endif
    load(WORD, true);
    if
    :: got == 0 ->
        /* FUTEX_WAIT looks at the last value; a wake-up that came before it has changed that. */
        atomic { if :: value[WAITING * WRITES + last[WAITING]] == 1 && !woken -> asleep = true :: else fi }
    :: else
    fi;
    released;
    assert(!asleep || woken)
}

init {
    atomic { run releaser(0); run waiter(1) }
}
#endif
