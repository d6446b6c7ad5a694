/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runner has seen so far in one scenario, and what it demands of every answer without
 * being told: that draws rise (R4), that a grant has a token and nothing in its way, and that no
 * deadline passed behind the scenario's back, for then the machine was too slow to tell anything.
 */
#ifndef CONFORMANCE_WITNESS_H
#define CONFORMANCE_WITNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "lockkeeper/lockkeeper.h"
#include "words.h"

enum { WITNESS_RECORDS_MAX = 256 };

/* An answer, or a request in a listing, made uniform. Borrows everything. */
struct sight {
    lk_outcome outcome;
    const char *error; /* NULL: none */
    const char *owner; /* NULL: unknown */
    char *const *paths;
    size_t path_count;
    uint64_t ticket;
    uint64_t token;
    int64_t ttl_ms;
    int64_t expires_in_ms;
    int64_t age_ms;
    uint64_t in_use;
    size_t position;
    bool created;
    bool blocked; /* the call may have waited: its ticket is older than its answer */
    bool fixed;
    bool revoked;
    bool blockers_asked; /* position and blockers mean something */
    const char *note;
    const lk_blocker_info *blockers;
    size_t blocker_count;
    char *const *cycle;
    size_t cycle_count;
    size_t count;       /* break */
    const char *reason; /* audit */
    const char *value;  /* NULL: none */
    size_t value_size;
    bool in_doubt;
    bool added;       /* push */
    const char *item; /* claim */
    uint32_t attempt; /* claim; of an item: how many there were */
    bool stolen;
    char *const *needs; /* item */
    size_t need_count;
    int64_t due_in_ms;
    const lk_queue_stats *stats; /* NULL: none */
};

/* What was last seen of one owner's request for a set of paths. */
struct witness_record {
    const char *key;
    uint64_t ticket;
    uint64_t token;
    /* The deadline, on the scenario's own clock and at its earliest on the machine's; -1: none. */
    int64_t deadline_ms;
    int64_t earliest_us;
    int64_t ttl_ms;
    bool fixed;
};

struct witness_draw {
    const char *root;
    uint64_t greatest;
};

struct witness_name {
    const char *name;
    const char *text;
    uint64_t token;
};

struct witness {
    struct arena arena;
    struct witness_record records[WITNESS_RECORDS_MAX];
    size_t record_count;
    struct witness_draw draws[WITNESS_RECORDS_MAX];
    size_t draw_count;
    struct witness_name names[WITNESS_RECORDS_MAX];
    size_t name_count;
};

void witness_free(struct witness *witness);

/* The record of this owner and these paths (modes are ignored); made when there is none. */
struct witness_record *witness_find(struct witness *witness, const char *owner,
                                    const char *const *parts, size_t part_count);

/* The greatest ticket or token seen so far at any of the paths' roots. */
uint64_t witness_greatest(const struct witness *witness, char *const *paths, size_t path_count);

/* What holds for the answer to every ask, whatever the scenario expects. */
bool witness_laws(struct witness *witness, const struct sight *sight, struct complaint *complaint);

/* Remembers ticket and token. */
void witness_remember(struct witness *witness, const struct sight *sight);

/* Names of the scenario's own for tokens and owners. */
void witness_keep(struct witness *witness, const char *name, const char *text, uint64_t token);
const struct witness_name *witness_kept(const struct witness *witness, const char *name);

/* A deadline was promised: `ttl_ms` after `now_ms` of the scenario, not before `earliest_us`. */
void witness_promise(struct witness_record *record, int64_t now_ms, int64_t ttl_ms,
                     int64_t earliest_us);
void witness_forget_promise(struct witness_record *record);

/* A call has blocked until something happened: what may have perished meanwhile is not watched. */
void witness_let_pass(struct witness *witness, int64_t now_us);

/* When the first deadline that lies ahead for the scenario passes on the machine's clock, at the
 * earliest; INT64_MAX: there is none. */
int64_t witness_first_promise(const struct witness *witness, int64_t now_ms);

/* Whether a deadline that lies ahead for the scenario may have passed on the machine's clock. */
bool witness_overrun(const struct witness *witness, int64_t now_ms, int64_t now_us);

/* Whether the scenario stands too close to a deadline for its next step to mean anything. */
bool witness_in_doubt(const struct witness *witness, int64_t now_ms);

#endif
