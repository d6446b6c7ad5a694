/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entering a key (src/canal/keys.c), with deaths at every step, checked in all interleavings.
 *
 * ENTERERS of one and the same key, over SLOTS slots that another key may have left idle, through
 * one gate; a thief that takes an idle slot for a key of its own; REPAIRERS of the dead. Of the key
 * there must never be two LIVE slots, and in the end no slot may be reserved.
 */
#ifndef ENTERERS
#define ENTERERS 2
#endif
#ifndef REPAIRERS
#define REPAIRERS 1
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef DEATHS
#define DEATHS 1
#endif

#ifndef TRIES
#define TRIES 2 /* turns of the loop, with what was reserved in the first */
#endif

#define ALL (ENTERERS + REPAIRERS + 1)
#define THIEF (ENTERERS + REPAIRERS)

#define FREE 0
#define RESERVED 1
#define LIVE 2

/* A slot's word is its use and a stamp that is drawn once; its key is written behind it. */
byte use[SLOTS];
byte stamp_of[SLOTS];
byte key_of[SLOTS];
byte gate_stamp;
byte gate_slot = SLOTS;

/* Entries: what each is at, 0 when at nothing. */
byte entry_stamp[ALL];
byte entry_slot[ALL];

byte numbers;
bool dead[ALL + 1];
bool done[ALL];
byte deaths;

#define live (me == ALL || !dead[me]) ->

/* S4 */
#define CHECK assert(!(use[0] == LIVE && use[1] == LIVE && key_of[0] == 1 && key_of[1] == 1))

inline swap_slot(at, from_use, from_stamp, to_use, to_stamp) {
    atomic { live
        if
        :: use[at] == from_use && stamp_of[at] == from_stamp ->
            use[at] = to_use; stamp_of[at] = to_stamp; swapped = true; CHECK
        :: else -> swapped = false
        fi
    }
}

/* settle_gate(), of a gate that was read in two halves */
inline settle_gate() {
    if
    :: seen_slot < SLOTS ->
        atomic { live got = stamp_of[seen_slot] };
        atomic { live got_use = use[seen_slot] };
        if
        :: got == seen_gate && got_use == RESERVED ->
            swap_slot(seen_slot, RESERVED, got, LIVE, got)
        :: else -> skip
        fi
    :: else -> skip
    fi
}

/* lk_canal_key_find(): the word first, then the key */
inline find(key) {
    i = 0;
    do
    :: i < SLOTS ->
        atomic { live got_use = use[i] };
        if
        :: got_use == LIVE ->
            atomic { live got = key_of[i] };
            if :: got == key -> break :: else -> skip fi
        :: else -> skip
        fi;
        i++
    :: else -> break
    od
}

/* Any slot that may be taken. Its number is `mine`, the stamp `stamp`; 0: there was none. */
inline reserve(key) {
    select(mine : 0 .. SLOTS - 1);
    atomic { live got = stamp_of[mine] };
    atomic { live got_use = use[mine] };
    stamp = 0;
    if
    :: got_use == RESERVED -> skip
    :: else ->
        atomic { numbers++; stamp = numbers };
        atomic { live entry_slot[me] = mine };
        atomic { live entry_stamp[me] = stamp };
        swap_slot(mine, got_use, got, RESERVED, stamp);
        if
        :: swapped -> atomic { live key_of[mine] = key }
        :: else -> stamp = 0
        fi
    fi
}

proctype enterer(byte me; byte key) {
    byte seen_gate, seen_slot, got, got_use, stamp, mine, i, tries;
    bool swapped;

    do
    :: tries < TRIES ->
        tries++;
        atomic { live seen_gate = gate_stamp };
        atomic { live seen_slot = gate_slot };
        settle_gate();
        find(key);
        if
        :: i < SLOTS ->
            if
            :: stamp != 0 -> swap_slot(mine, RESERVED, stamp, FREE, stamp)
            :: else -> skip
            fi;
            stamp = 0;
            break
        :: else -> skip
        fi;
        if :: stamp == 0 -> reserve(key) :: else -> skip fi;
        if
        :: stamp != 0 ->
            atomic { live
                swapped = (gate_stamp == seen_gate && gate_slot == seen_slot);
                if :: swapped -> gate_stamp = stamp; gate_slot = mine :: else -> skip fi
            };
            if
            :: swapped ->
                swap_slot(mine, RESERVED, stamp, LIVE, stamp);
                stamp = 0;
                break
            :: else -> skip
            fi
        :: else -> skip
        fi
    :: else -> /* the model's patience is over: as if it died here */
        atomic { live dead[me] = true };
        break
    od;
    atomic { live entry_stamp[me] = 0 };
    atomic { live done[me] = true }
}

/* lk_canal_key_repair() */
inline repair(whose) {
    atomic { live stamp = entry_stamp[whose] };
    atomic { live mine = entry_slot[whose] };
    if
    :: stamp != 0 ->
        atomic { live got = stamp_of[mine] };
        atomic { live got_use = use[mine] };
        if
        :: got == stamp && got_use == RESERVED ->
            atomic { live got = gate_stamp };
            if
            :: got == stamp -> swap_slot(mine, RESERVED, stamp, LIVE, stamp)
            :: else -> swap_slot(mine, RESERVED, stamp, FREE, stamp)
            fi
        :: else -> skip
        fi;
        atomic { live
            if :: entry_stamp[whose] == stamp -> entry_stamp[whose] = 0 :: else -> skip fi
        }
    :: else -> skip
    fi
}

proctype repairer(byte me) {
    byte got, got_use, stamp, mine, who;
    bool swapped;

    select(who : 0 .. ENTERERS - 1);
    if
    :: atomic { live dead[who] -> skip };
        repair(who)
    :: atomic { live skip }
    fi;
    atomic { live done[me] = true }
}

proctype death() {
    byte who;

    do
    :: deaths < DEATHS ->
        select(who : 0 .. ALL - 1);
        atomic { !done[who] && !dead[who] -> dead[who] = true; deaths++ }
    :: break
    od
}

#define IS_OVER(who) (done[who] || dead[who])

init {
    byte me = ALL; /* this one does not die */
    byte got, got_use, stamp, mine, n;
    bool swapped;

    atomic {
        /* One slot has an idle key already. */
        use[0] = LIVE;
        key_of[0] = 9;
        numbers = 1;
        stamp_of[0] = 1;
        n = 0;
        do :: n < ENTERERS -> run enterer(n, 1); n++ :: else -> break od;
#ifdef NO_THIEF
        done[THIEF] = true;
#else
        run enterer(THIEF, 2);
#endif
        n = 0;
        do :: n < REPAIRERS -> run repairer(ENTERERS + n); n++ :: else -> break od;
        n = 0;
        run death()
    };
    do :: n < ALL -> IS_OVER(n); n++ :: else -> break od;
    n = 0;
    do :: n < ALL -> repair(n); n++ :: else -> break od;
    assert(use[0] != RESERVED && use[1] != RESERVED);
    CHECK
}
