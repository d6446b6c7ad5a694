/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The count of one key (src/canal/permit.c, repair.c), with deaths at every step, checked in all
 * interleavings.
 *
 * HOLDERS take and give back a permit ROUNDS times, each with a limit of its own; REPAIRERS come by
 * and finish what a dead holder left; DEATHS strike any process at any step, repairers too. Each line
 * that begins with `live` is one access to shared memory. A slot's word is read in two halves, which
 * may be torn. Last comes a process that does not die, and repairs what is left.
 *
 * held[] is the truth: it changes with the swaps that take effect, in the same step.
 */
#ifndef HOLDERS
#define HOLDERS 2
#endif
#ifndef REPAIRERS
#define REPAIRERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef DEATHS
#define DEATHS 3
#endif

#define ALL (HOLDERS + REPAIRERS)

#define FREE 0
#define ACQUIRING 1
#define HELD 2
#define RELEASING 3

/* A stamp: kind, and a number that is drawn once. */
#define STAMP(number, kind) ((number) * 4 + (kind))
#define KIND(stamp) ((stamp) % 4)
#define AS(stamp, kind) ((stamp) - (stamp) % 4 + (kind))

byte word_stamp;     /* the slot's word: its lower half, */
byte word_count;     /* and its upper half, */
byte word_entry = HOLDERS; /* which is read as one */
byte entry[HOLDERS]; /* the stamp of each holder's entry */
byte held[HOLDERS];
byte total; /* of held[] */
byte numbers;

bool dead[ALL + 1];
bool done[ALL];
byte deaths;

#define live (me == ALL || !dead[me]) ->

inline read() {
    atomic { live seen_stamp = word_stamp };
    atomic { live seen_count = word_count; seen_entry = word_entry }
}

/* lk_canal_settle() */
inline settle() {
    if
    :: seen_entry < HOLDERS ->
        atomic { live found = entry[seen_entry] };
        if
        :: found == seen_stamp && KIND(found) == ACQUIRING ->
            atomic { live if :: entry[seen_entry] == found -> entry[seen_entry] = AS(found, HELD)
                             :: else -> skip fi }
        :: found == seen_stamp && KIND(found) == RELEASING ->
            atomic { live if :: entry[seen_entry] == found -> entry[seen_entry] = AS(found, FREE)
                             :: else -> skip fi }
        :: else -> skip
        fi
    :: else -> skip
    fi
}

#define IS_SEEN (word_stamp == seen_stamp && word_count == seen_count && word_entry == seen_entry)

inline swap(stamp, count, who) {
    atomic { live
        if
        :: IS_SEEN ->
            word_stamp = stamp; word_entry = who;
            if
            :: count > seen_count -> assert(!held[who]); held[who] = 1; total++
            :: else -> assert(held[who]); held[who] = 0; total-- /* once, by any process */
            fi;
            word_count = count;
            assert(word_count == total);
            swapped = true
        :: else -> swapped = false
        fi
    }
}

/* me: who; limit: its own view */
proctype holder(byte me; byte limit) {
    byte seen_stamp, seen_count, seen_entry, found, stamp, round;
    bool swapped, granted;

    do
    :: round < ROUNDS ->
        round++;
        atomic { numbers++; stamp = STAMP(numbers, ACQUIRING) };
        atomic { live entry[me] = stamp };
        granted = false;
        do
        :: read();
            if
            :: seen_count + 1 > limit ->
                atomic { live swapped = IS_SEEN }; /* full, at this moment */
                if :: swapped -> break :: else -> skip fi
            :: else ->
                settle();
                swap(stamp, seen_count + 1, me);
                if :: swapped -> assert(seen_count + 1 <= limit); granted = true; break
                   :: else -> skip fi
            fi
        od;
        if
        :: !granted -> atomic { live entry[me] = AS(stamp, FREE) }
        :: else ->
            atomic { live entry[me] = AS(stamp, HELD) };
            atomic { live stamp = AS(stamp, RELEASING); entry[me] = stamp };
            do
            :: read();
                settle();
                swap(stamp, seen_count - 1, me);
                if :: swapped -> break :: else -> skip fi
            od;
            atomic { live entry[me] = AS(stamp, FREE) }
        fi
    :: else -> break
    od;
    atomic { live done[me] = true }
}

inline move(mine, kind) {
    atomic { live if :: entry[mine] == stamp -> entry[mine] = AS(stamp, kind) :: else -> skip fi }
}

/* repair_entry(); the entry's chunk is its dead holder's all the time */
inline repair(whose) {
    do
    :: atomic { live stamp = entry[whose] };
        if
        :: KIND(stamp) == FREE -> break
        :: KIND(stamp) == ACQUIRING ->
            atomic { live swapped = (word_stamp == stamp) };
            if :: swapped -> move(whose, HELD) :: else -> move(whose, FREE) fi
        :: KIND(stamp) == HELD -> move(whose, RELEASING)
        :: KIND(stamp) == RELEASING ->
            do
            :: read();
                if :: seen_stamp == stamp -> break :: else -> skip fi;
                atomic { live found = entry[whose] };
                if :: found != stamp -> break :: else -> skip fi;
                atomic { live swapped = IS_SEEN };
                if
                :: !swapped -> skip
                :: else ->
                    assert(seen_count > 0);
                    settle();
                    swap(stamp, seen_count - 1, whose);
                    if :: swapped -> break :: else -> skip fi
                fi
            od;
            move(whose, FREE)
        fi
    od
}

proctype repairer(byte me) {
    byte seen_stamp, seen_count, seen_entry, found, stamp, who;
    bool swapped;

    select(who : 0 .. HOLDERS - 1);
    if
    :: atomic { live dead[who] -> skip };
        repair(who)
    :: atomic { live skip } /* no process was seen dead */
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
    byte me = ALL; /* no holder's number: this one does not die */
    byte seen_stamp, seen_count, seen_entry, found, stamp, i;
    bool swapped;

    atomic {
        i = 0;
        do :: i < HOLDERS -> run holder(i, 1 + i % 2); i++ :: else -> break od;
        i = 0;
        do :: i < REPAIRERS -> run repairer(HOLDERS + i); i++ :: else -> break od;
        i = 0;
        run death()
    };
    do
    :: i < ALL -> IS_OVER(i); i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < HOLDERS -> repair(i); i++
    :: else -> break
    od;
    assert(word_count == 0);
    i = 0;
    do :: i < HOLDERS -> assert(KIND(entry[i]) == FREE && !held[i]); i++ :: else -> break od
}
