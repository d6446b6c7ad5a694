/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A home of journals in the memory of a test (server/store/journal/home.h): a place that several
 * services share, each with a home of its own there, and faults of the place. It is the least that
 * a home can be, and shows that the journal asks for nothing else.
 */
#ifndef LK_TESTS_JOURNAL_MEMORY_HOME_H
#define LK_TESTS_JOURNAL_MEMORY_HOME_H

#include "server/store/journal/home.h"

/* What happens to commits. */
enum place_fault {
    PLACE_SOUND,
    PLACE_REFUSES, /* it is not done, and answers UNAVAILABLE */
    PLACE_LOSES,   /* it is done, and the answer is lost: UNAVAILABLE */
    PLACE_REPEATS, /* it is done, the answer is lost, and it is made again, as etcd's client does */
};

struct place_row {
    struct lk_home_key key;
    struct lk_buffer value;
};

/* Zeroed: it is empty. */
struct place {
    uint64_t revision; /* of the leader's record; 0: there is none */
    struct lk_buffer record;
    struct place_row *rows; /* in the order of their keys */
    size_t count;
    enum place_fault fault;
    unsigned sound_commits; /* so many before the fault; then all commits have it */
    size_t part_bytes;
    uint64_t forgotten; /* the revision that was forgotten last */
};

/* For lk_journal_open(). */
struct lk_home *place_open_home(struct place *place);

size_t place_count(const struct place *place, enum lk_home_kind kind);
/* Deletes the rows from `from` on and before `to`. */
void place_remove(struct place *place, const struct lk_home_key *from,
                  const struct lk_home_key *to);
void place_done(struct place *place);

#endif
