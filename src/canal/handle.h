/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The private state of a process: an open region, and the holders that it has joined with.
 *
 * Both are on pages of their own that a fork wipes. In the child `seal` is 0, so the child can tell
 * that it holds nothing. No count of processes is needed for that.
 */
#ifndef LK_CANAL_HANDLE_H
#define LK_CANAL_HANDLE_H

#include <limits.h>
#include <pthread.h>

#include "canal/layout.h"

#define HANDLE_SEAL UINT64_C(0x4c4b43414e414c31)

struct lk_canal {
    uint64_t seal;
    struct lk_canal_region region;
    _Atomic bool is_gone; /* the name does not refer to the region any more; never reset */
    uint64_t word;        /* of this process, in the region */
    uint64_t namespace;   /* of pids; 0: unknown */
    uint32_t process;
    int file;              /* to query locks; holds none */
    pthread_mutex_t mutex; /* guards `holders` */
    lk_canal_holder *holders;
    char path[PATH_MAX];     /* absolute */
    pthread_key_t of_thread; /* the first of the holders that are bound to the thread */
};

struct lk_canal_holder {
    uint64_t seal;
    lk_canal *canal;
    struct lk_canal_pair word; /* of this holder, in the region */
    uint64_t operation;        /* the next number; at `operation_end` none is left */
    uint64_t operation_end;
    uint32_t index;
    uint32_t free_first; /* entries given back, chained through their slots; NONE */
    uint32_t fresh;      /* entries of the newest chunk never used: up to fresh_end */
    uint32_t fresh_end;
    uint32_t chunk_hint;
    uint32_t unchecked;      /* acquires left before the clock is read: region.c */
    int64_t clock_read_ns;   /* when the clock was read */
    int64_t name_checked_ns; /* when the name was checked */
    int32_t thread;          /* bound to it; 0: to the process */
    lk_canal_holder *older;
    lk_canal_holder *newer;
    lk_canal_holder *next_of_thread;
};

/* Zeroed pages that a fork wipes; NULL when there are none. */
void *lk_canal_pages_take(size_t bytes);
void lk_canal_pages_give(void *pages, size_t bytes);

/* Checks whether the name still refers to the region, if a check is due (region.c). False: not. */
bool lk_canal_name_look(lk_canal_holder *holder);

/* The same for an acquire: in most calls only a counter is checked. */
static inline bool lk_canal_is_there(lk_canal_holder *holder) {
    if (holder->unchecked == 0) {
        return lk_canal_name_look(holder);
    }
    holder->unchecked--;
    return !atomic_load_explicit(&holder->canal->is_gone, memory_order_relaxed);
}

/* A stamp without a kind, never drawn before. */
static inline uint64_t lk_canal_operation_draw(lk_canal_holder *holder) {
    if (holder->operation == holder->operation_end) {
        struct lk_canal_head *head = holder->canal->region.head;
        uint64_t block = atomic_fetch_add_explicit(&head->block, 1, memory_order_relaxed) + 1;

        holder->operation = block << BLOCK_BITS;
        holder->operation_end = (block + 1) << BLOCK_BITS;
    }
    return holder->operation++ << KIND_BITS;
}

/* An entry that this holder has never used. LK_CANAL_OK, NO_ROOM. */
lk_canal_status lk_canal_entry_take_fresh(lk_canal_holder *holder, uint32_t *ret_entry);

/* Whether the entry is in a chunk of this holder. The holder is alive, so no other takes it. */
static inline bool lk_canal_entry_is_of(const lk_canal_holder *holder, uint32_t entry) {
    uint64_t word = atomic_load_explicit(&holder->canal->region.chunks[entry / CHUNK_ENTRIES],
                                         memory_order_relaxed);

    return lk_canal_owner_of(word) == holder->index;
}

/* A free entry of this holder, to which no other process writes. LK_CANAL_OK, NO_ROOM. */
static inline lk_canal_status lk_canal_entry_take(lk_canal_holder *holder, uint32_t *ret_entry) {
    const struct lk_canal_region *region = &holder->canal->region;
    uint32_t entry = holder->free_first;

    if (entry >= region->entry_count) {
        return lk_canal_entry_take_fresh(holder, ret_entry);
    }
    holder->free_first = atomic_load_explicit(&region->entries[entry].slot, memory_order_relaxed);
    *ret_entry = entry;
    return LK_CANAL_OK;
}

/* Frees the entry with this stamp: its operation is over. */
static inline void lk_canal_entry_give(lk_canal_holder *holder, uint32_t entry, uint64_t stamp) {
    struct lk_canal_record *record = &holder->canal->region.entries[entry];

    atomic_store_explicit(&record->stamp, lk_canal_stamp(stamp, KIND_FREE), memory_order_release);
    atomic_store_explicit(&record->slot, holder->free_first, memory_order_relaxed);
    holder->free_first = entry;
}

/* Records the operation that begins. From here on a repairer can finish it, or see that it took no
 * effect. */
static inline void lk_canal_entry_begin(struct lk_canal_record *record, uint32_t slot,
                                        uint64_t stamp) {
    atomic_store_explicit(&record->slot, slot, memory_order_relaxed);
    atomic_store_explicit(&record->stamp, stamp, memory_order_release);
}

#endif
