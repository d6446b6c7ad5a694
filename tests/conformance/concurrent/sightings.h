/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What actors' logs tell: the calls as they were made, and what must have been true at the store,
 * whatever happened inside it. A hold is *certain* from the answer that granted it to the call that
 * may end or weaken it, or to the deadline promised; it may have lasted longer, never shorter.
 */
#ifndef CONFORMANCE_SIGHTINGS_H
#define CONFORMANCE_SIGHTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockkeeper/terms.h"

enum {
    SIGHTING_PARTS_MAX = 4,
    SIGHTING_PATH_MAX = 32,
    SIGHTING_OWNER_MAX = 32,
};

#define SIGHTING_NEVER INT64_MAX /* the instant of an answer that did not come */

struct sighting_part {
    char path[SIGHTING_PATH_MAX];
    bool shared;
    uint32_t limit;
    uint32_t units; /* exclusive: 0 */
};

enum sighting_verb { VERB_ASK, VERB_RENEW, VERB_RELEASE };

struct call {
    unsigned long number;
    int64_t called_us;
    int64_t answered_us; /* SIGHTING_NEVER: unknown whether it took effect */
    char owner[SIGHTING_OWNER_MAX];
    enum sighting_verb verb;
    int64_t ttl_us;
    struct sighting_part parts[SIGHTING_PARTS_MAX];
    size_t part_count;
    lk_outcome outcome;
    uint64_t ticket;
    uint64_t token;
    bool created;
};

/* A stretch of time in which an owner certainly held these parts, under one token. */
struct hold {
    const char *owner;
    int64_t from_us;
    int64_t to_us;
    uint64_t token;
    struct sighting_part parts[SIGHTING_PARTS_MAX];
    /*
     * What the token was drawn for: R7c judged this; what became no stronger was not judged. Parts
     * without a path: it was granted unseen, and converted by the very call that showed it.
     */
    struct sighting_part drawn_for[SIGHTING_PARTS_MAX];
    size_t part_count;
};

/* A ticket or token, and between which instants it was drawn. */
struct drawn {
    uint64_t value;
    char root[SIGHTING_PATH_MAX];
    int64_t not_before_us;
    int64_t known_us;
    const struct call *seen; /* where it was seen first */
};

/* A request from its arrival to its first grant. */
struct arrival {
    const char *owner;
    uint64_t ticket;
    uint64_t token; /* of its first grant; 0: none was seen */
    int64_t called_us;
    int64_t granted_us;
    bool same_parts; /* no ask before the grant named other modes */
    struct sighting_part parts[SIGHTING_PARTS_MAX];
    size_t part_count;
};

/* When an owner may have held anything, at the longest. */
struct presence {
    const char *owner;
    uint64_t ticket;
    int64_t from_us;
    int64_t to_us;
};

/* The store was away, and has come back: what lived then may live longer for it, once (R11). */
struct restart {
    int64_t gone_us;
    int64_t back_us;
};

struct sightings {
    struct call *calls; /* in the order of each log; logs one after the other */
    size_t call_count;
    struct hold *holds;
    size_t hold_count;
    struct drawn *draws;
    size_t draw_count;
    struct arrival *arrivals;
    size_t arrival_count;
    struct presence *presences;
    size_t presence_count;
    struct restart *restarts;
    size_t restart_count;
    int64_t ttl_max_us; /* of any call */
    size_t lost_early;  /* told as lost, or gone, while it was promised */
};

/* Reads one log and appends its calls and restarts. False, with a line on stderr: it is none. */
bool sightings_read(struct sightings *sightings, const char *path);

/* Works out all the rest from the calls. Prints what was lost early. */
void sightings_derive(struct sightings *sightings);

void sightings_free(struct sightings *sightings);

/* R5 and R6 for parts of different owners. */
bool sighting_parts_conflict(const struct sighting_part *a, const struct sighting_part *b);

#endif
