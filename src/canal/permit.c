/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acquire and release: record the operation in the entry, do it in one swap that also writes the
 * entry and stamp, record that it is done. If the process is killed in between, S1 and S2
 * (layout.h) decide whether the operation took effect.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "canal/handle.h"
#include "canal/keys.h"
#include "canal/repair.h"

/* A sleeping call looks for dead holders at this interval, because they wake no waiter. */
#define NAP_MS INT64_C(20)

enum { ROUNDS_MAX = 1 << 20 /* swaps lost in a row: only damage causes so many */ };

/* What one call asks for. */
struct demand {
    struct lk_canal_key key;
    uint32_t limit;
    uint32_t units;
};

/* ---- acquiring ------------------------------------------------------------------------------- */

enum attempt { ATTEMPT_GRANTED, ATTEMPT_FULL, ATTEMPT_MOVED };

/*
 * With an entry that says ACQUIRING with this stamp, and the slot's word as it was read before the
 * key was compared.
 */
static enum attempt swap_in(const struct lk_canal_region *region, struct lk_canal_slot *slot,
                            const struct demand *demand, struct lk_canal_pair seen, uint32_t entry,
                            uint64_t stamp, uint32_t *ret_ordinal) {
    for (;;) {
        struct lk_canal_pair mine = {.stamp = stamp};
        uint32_t count = lk_canal_count_of(seen.state) + demand->units;

        if (count > demand->limit) {
            if (lk_canal_word_is_still(&slot->word, seen)) {
                return ATTEMPT_FULL; /* the key was full at one moment of this call */
            }
        } else {
            lk_canal_settle(region, seen);
            mine.state = lk_canal_state(USE_LIVE, count, entry);
            if (lk_canal_word_swap(&slot->word, seen, mine)) {
                *ret_ordinal = count;
                return ATTEMPT_GRANTED;
            }
        }
        if (!lk_canal_key_is_live_at(slot, &demand->key, &seen)) {
            return ATTEMPT_MOVED;
        }
    }
}

/* LK_CANAL_OK with *ret_attempt; NO_ROOM. */
static lk_canal_status attempt(lk_canal_holder *holder, uint32_t index, const struct demand *demand,
                               struct lk_canal_pair seen, enum attempt *ret_attempt,
                               lk_canal_permit *ret_permit) {
    const struct lk_canal_region *region = &holder->canal->region;
    struct lk_canal_slot *slot = &region->slots[index];
    struct lk_canal_record *record;
    uint64_t stamp;
    uint32_t ordinal;
    uint32_t entry;

    /* FULL needs no entry, and may be frequent. */
    if (lk_canal_count_of(seen.state) + demand->units > demand->limit
        && lk_canal_word_is_still(&slot->word, seen)) {
        *ret_attempt = ATTEMPT_FULL;
        return LK_CANAL_OK;
    }
    if (lk_canal_entry_take(holder, &entry) != LK_CANAL_OK) {
        return LK_CANAL_NO_ROOM;
    }
    record = &region->entries[entry];
    stamp = lk_canal_stamp(lk_canal_operation_draw(holder), KIND_ACQUIRING);
    atomic_store_explicit(&record->units, demand->units, memory_order_relaxed);
    atomic_store_explicit(&record->limit, demand->limit, memory_order_relaxed);
    atomic_store_explicit(&record->mark, 0, memory_order_relaxed);
    lk_canal_entry_begin(record, index, stamp);
    *ret_attempt = swap_in(region, slot, demand, seen, entry, stamp, &ordinal);
    if (*ret_attempt != ATTEMPT_GRANTED) {
        lk_canal_entry_give(holder, entry, stamp);
        return LK_CANAL_OK;
    }
    atomic_store_explicit(&record->stamp, lk_canal_stamp(stamp, KIND_HELD), memory_order_release);
    *ret_permit =
        (lk_canal_permit){.operation = stamp >> KIND_BITS, .entry = entry, .ordinal = ordinal};
    return LK_CANAL_OK;
}

static lk_canal_status acquire(lk_canal_holder *holder, const struct demand *demand,
                               lk_canal_permit *ret_permit) {
    const struct lk_canal_region *region = &holder->canal->region;
    bool has_looked = false;

    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        struct lk_canal_pair seen;
        uint32_t slot = lk_canal_key_find(region, &demand->key, &seen);
        enum attempt outcome;
        lk_canal_status status;

        if (slot == NONE) {
            status = lk_canal_key_enter(holder, &demand->key);
            if (status != LK_CANAL_OK) {
                return status;
            }
            continue;
        }
        status = attempt(holder, slot, demand, seen, &outcome, ret_permit);
        if (status != LK_CANAL_OK || outcome == ATTEMPT_GRANTED) {
            return status;
        }
        if (outcome == ATTEMPT_FULL) {
            if (has_looked) {
                return LK_CANAL_FULL;
            }
            (void)lk_canal_look_for_dead(holder->canal);
            has_looked = true;
        }
    }
    return LK_CANAL_DAMAGED;
}

static lk_canal_status demand_make(lk_canal_holder *holder, const char *key, size_t key_size,
                                   uint64_t limit, uint32_t units, struct demand *ret_demand) {
    if (holder->seal != HANDLE_SEAL) {
        return LK_CANAL_LEFT;
    }
    if (key_size == 0 || key_size > LK_CANAL_KEY_BYTES_MAX || units == 0 || units > limit
        || units > LK_CANAL_COUNT_MAX) {
        return LK_CANAL_INVALID;
    }
    if (!lk_canal_is_there(holder)) {
        return LK_CANAL_GONE;
    }
    lk_canal_key_make(&holder->canal->region, key, key_size, &ret_demand->key);
    ret_demand->limit = limit < LK_CANAL_COUNT_MAX ? (uint32_t)limit : LK_CANAL_COUNT_MAX;
    ret_demand->units = units;
    return LK_CANAL_OK;
}

lk_canal_status lk_canal_acquire(lk_canal_holder *holder, const char *key, size_t key_size,
                                 uint32_t max_per, uint32_t resources,
                                 lk_canal_permit *ret_permit) {
    struct demand demand;
    lk_canal_status status =
        demand_make(holder, key, key_size, (uint64_t)max_per * resources, 1, &demand);

    if (status == LK_CANAL_INVALID && key_size >= 1 && key_size <= LK_CANAL_KEY_BYTES_MAX) {
        return LK_CANAL_FULL; /* no resources: no permits */
    }
    return status == LK_CANAL_OK ? acquire(holder, &demand, ret_permit) : status;
}

lk_canal_status lk_canal_acquire_units(lk_canal_holder *holder, const char *key, size_t key_size,
                                       uint32_t limit, uint32_t units,
                                       lk_canal_permit *ret_permit) {
    struct demand demand;
    lk_canal_status status = demand_make(holder, key, key_size, limit, units, &demand);

    return status == LK_CANAL_OK ? acquire(holder, &demand, ret_permit) : status;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int64_t now_ms(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void nap(struct lk_canal_slot *slot, int64_t nap_ms) {
    struct timespec time = {.tv_sec = nap_ms / 1000, .tv_nsec = nap_ms % 1000 * 1000000};

    (void)syscall(SYS_futex, &slot->waiting, FUTEX_WAIT, 1, &time, NULL, 0);
}

lk_canal_status lk_canal_acquire_wait(lk_canal_holder *holder, const char *key, size_t key_size,
                                      uint32_t max_per, uint32_t resources, int64_t wait_ms,
                                      lk_canal_permit *ret_permit) {
    lk_canal_status status =
        lk_canal_acquire(holder, key, key_size, max_per, resources, ret_permit);
    int64_t left_ms = wait_ms;
    struct lk_canal_key made;
    int64_t until_ms;

    if (status != LK_CANAL_FULL) {
        return status;
    }
    until_ms = now_ms() + (wait_ms < INT64_MAX / 2 ? wait_ms : INT64_MAX / 2);
    lk_canal_key_make(&holder->canal->region, key, key_size, &made);
    while (status == LK_CANAL_FULL && left_ms > 0) {
        struct lk_canal_pair ignored;
        uint32_t index = lk_canal_key_find(&holder->canal->region, &made, &ignored);
        struct lk_canal_slot *slot = NULL;

        if (index != NONE) {
            slot = &holder->canal->region.slots[index];
            atomic_store(&slot->waiting, 1);
            atomic_thread_fence(memory_order_seq_cst); /* before the word is read */
        }
        /* A release after this sees `waiting` and wakes this call. */
        status = lk_canal_acquire(holder, key, key_size, max_per, resources, ret_permit);
        if (status == LK_CANAL_FULL && slot != NULL) {
            nap(slot, left_ms < NAP_MS ? left_ms : NAP_MS);
        }
        left_ms = until_ms - now_ms();
    }
    return status == LK_CANAL_FULL ? LK_CANAL_TIMEOUT : status;
}

/* ---- releasing ------------------------------------------------------------------------------- */

/* The entry of a permit of this holder. LK_CANAL_OK; NOT_HELD; LEFT. */
static lk_canal_status find_held(const lk_canal_holder *holder, const lk_canal_permit *permit,
                                 struct lk_canal_record **ret_record) {
    const struct lk_canal_region *region;

    if (holder->seal != HANDLE_SEAL) {
        return LK_CANAL_LEFT;
    }
    region = &holder->canal->region;
    if (permit->entry >= region->entry_count || !lk_canal_entry_is_of(holder, permit->entry)
        || atomic_load_explicit(&region->entries[permit->entry].stamp, memory_order_relaxed)
               != lk_canal_stamp(permit->operation << KIND_BITS, KIND_HELD)) {
        return LK_CANAL_NOT_HELD;
    }
    *ret_record = &region->entries[permit->entry];
    return LK_CANAL_OK;
}

lk_canal_status lk_canal_mark(lk_canal_holder *holder, const lk_canal_permit *permit,
                              uint64_t mark) {
    struct lk_canal_record *record;
    lk_canal_status status = find_held(holder, permit, &record);

    if (status == LK_CANAL_OK) {
        atomic_store_explicit(&record->mark, mark, memory_order_relaxed);
    }
    return status;
}

lk_canal_status lk_canal_release(lk_canal_holder *holder, const lk_canal_permit *permit) {
    uint64_t stamp = lk_canal_stamp(permit->operation << KIND_BITS, KIND_RELEASING);
    const struct lk_canal_region *region;
    struct lk_canal_record *record;
    struct lk_canal_slot *slot;
    lk_canal_status status = find_held(holder, permit, &record);
    uint32_t index;
    uint32_t units;

    if (status != LK_CANAL_OK) {
        return status;
    }
    region = &holder->canal->region;
    index = atomic_load_explicit(&record->slot, memory_order_relaxed);
    units = atomic_load_explicit(&record->units, memory_order_relaxed);
    if (index >= region->slot_count) {
        return LK_CANAL_DAMAGED;
    }
    slot = &region->slots[index];
    atomic_store_explicit(&record->stamp, stamp, memory_order_release);
    for (;;) {
        struct lk_canal_pair seen = lk_canal_word_read(&slot->word);
        struct lk_canal_pair mine = {.stamp = stamp};
        uint32_t count = lk_canal_count_of(seen.state);

        if (lk_canal_use_of(seen.state) != USE_LIVE || count < units) {
            if (!lk_canal_word_is_still(&slot->word, seen)) {
                continue; /* torn */
            }
            lk_canal_entry_give(holder, permit->entry, stamp);
            return LK_CANAL_DAMAGED;
        }
        lk_canal_settle(region, seen);
        mine.state = lk_canal_state(USE_LIVE, count - units, permit->entry);
        if (lk_canal_word_swap(&slot->word, seen, mine)) {
            break;
        }
    }
    lk_canal_entry_give(holder, permit->entry, stamp);
    lk_canal_slot_wake(slot);
    return LK_CANAL_OK;
}
