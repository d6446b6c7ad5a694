/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finishing the operations of other processes: settling before overwriting, and giving back the
 * permits of dead holders.
 *
 * Any number of processes may repair the same dead holder at once, and any of them may die while it
 * does. Each step is a swap from a stamp that exists once, so it happens exactly once.
 */
#ifndef LK_CANAL_REPAIR_H
#define LK_CANAL_REPAIR_H

#include "canal/handle.h"

/*
 * Must be called before a slot's word is overwritten. Records in the entry that `seen` names that
 * its operation took effect (S1).
 */
static inline void lk_canal_settle(const struct lk_canal_region *region,
                                   struct lk_canal_pair seen) {
    uint32_t entry = lk_canal_entry_of(seen.state);
    struct lk_canal_record *record;
    uint64_t stamp = seen.stamp;

    if (entry >= region->entry_count) {
        return;
    }
    record = &region->entries[entry];
    if (atomic_load_explicit(&record->stamp, memory_order_acquire) != stamp) {
        return; /* recorded already, or the pair was torn and will not be swapped */
    }
    if (lk_canal_kind_of(stamp) == KIND_ACQUIRING) {
        (void)atomic_compare_exchange_strong(&record->stamp, &stamp,
                                             lk_canal_stamp(stamp, KIND_HELD));
    } else if (lk_canal_kind_of(stamp) == KIND_RELEASING) {
        (void)atomic_compare_exchange_strong(&record->stamp, &stamp,
                                             lk_canal_stamp(stamp, KIND_FREE));
    }
}

/* Gives back all permits of the holder with this word, and frees its place. The holder must be
 * dead, or the caller. Does nothing if another holder has the place by now. */
void lk_canal_repair_holder(const struct lk_canal_region *region, uint32_t holder,
                            struct lk_canal_pair word);

/* Repairs all dead holders. Returns how many were dead. */
uint32_t lk_canal_look_for_dead(const lk_canal *canal);

/* False: no holder is dead. True: one is, or more than checks_max records have been used. */
bool lk_canal_dead_are_possible(const lk_canal *canal, uint32_t checks_max);

void lk_canal_slot_wake_all(struct lk_canal_slot *slot);

/* Wakes all calls that sleep on the slot's key. */
static inline void lk_canal_slot_wake(struct lk_canal_slot *slot) {
    if (atomic_load_explicit(&slot->waiting, memory_order_relaxed) != 0) {
        lk_canal_slot_wake_all(slot);
    }
}

#endif
