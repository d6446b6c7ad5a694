/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open region that many Erlang processes use, and which of them holds which permits.
 *
 * canal.h has holders for OS processes and threads, 16,384 in a region. So the virtual machine
 * joins with a few, one for each scheduler, and what an Erlang process holds is kept here: an owner
 * for each process that has acquired anything, with a monitor. When the process ends, its owner's
 * permits are given back. When the virtual machine ends, canal.h gives back those of its holders.
 *
 * Locks, in this order: a stripe (the owners of some processes, and their permits), a shard (a
 * holder). Both are held for the time of one call of canal.h that most probably finds room. What
 * needs system calls is done before a lock is taken; what may take long, by
 * region_acquire_slowly(), which is for dirty schedulers.
 */
#ifndef LK_ERLANG_REGION_H
#define LK_ERLANG_REGION_H

#include <erl_nif.h>
#include <lockkeeper/canal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct region;

/* Outcomes: those of lk_canal_status, and these. */
enum {
    REGION_CLOSED = LK_CANAL_STATUS_COUNT,
    REGION_NO_MEMORY,
    REGION_NO_PROCESS, /* the caller has been killed */
    REGION_SLOW,       /* not on a scheduler */
};

struct ask {
    ErlNifPid process; /* that calls */
    const char *key;
    size_t key_size;
    uint32_t key_hash;
    uint32_t max_per;
    uint32_t resources;
};

/* The type of owners. True: it is there. */
bool region_types_open(ErlNifEnv *env);

/* LK_CANAL_OK with *ret_region, for region_end(); else an outcome, and an explanation in ret_text
 * (LK_CANAL_TEXT_MAX bytes). */
int region_open(const char *name, const char *label, const lk_canal_options *options,
                struct region **ret_region, char *ret_text);

/* Gives back all permits. Calls answer REGION_CLOSED from now on. */
void region_close(struct region *region);

/* No call will come any more. The region is closed when the last process that holds a permit has
 * ended: that a handle is forgotten ends no permit. */
void region_end(struct region *region);

/* LK_CANAL_OK with *ret_ordinal; an outcome; REGION_SLOW: nothing is done, region_acquire_slowly()
 * is to be called. */
int region_acquire(struct region *region, ErlNifEnv *env, const struct ask *ask,
                   uint32_t *ret_ordinal);

/* The same, also where dead holders must be repaired or looked for among many, or where no room
 * was found. */
int region_acquire_slowly(struct region *region, ErlNifEnv *env, const struct ask *ask,
                          uint32_t *ret_ordinal);

/* Gives back one permit of the key that the process holds. LK_CANAL_OK; NOT_HELD; an outcome. */
int region_release(struct region *region, const struct ask *ask);

int region_count(struct region *region, const struct ask *ask, uint32_t *ret_count);
int region_measure(struct region *region, lk_canal_figures *ret_figures);

#endif
