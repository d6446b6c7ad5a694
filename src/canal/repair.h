/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finishing what others began: settling before overwriting, and giving back what the dead held.
 *
 * Any number of processes may do this to the same dead holder at once, and any of them may die at
 * it: each step is a swap from a stamp that exists once, so it happens once, whoever does it.
 */
#ifndef LK_CANAL_REPAIR_H
#define LK_CANAL_REPAIR_H

#include "canal/handle.h"

/*
 * To be called before a slot's word is overwritten: lets the entry that `seen` names know that its
 * operation took effect (S1).
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
        return; /* it knows, or the pair was torn and will not be swapped */
    }
    if (lk_canal_kind_of(stamp) == KIND_ACQUIRING) {
        (void)atomic_compare_exchange_strong(&record->stamp, &stamp,
                                             lk_canal_stamp(stamp, KIND_HELD));
    } else if (lk_canal_kind_of(stamp) == KIND_RELEASING) {
        (void)atomic_compare_exchange_strong(&record->stamp, &stamp,
                                             lk_canal_stamp(stamp, KIND_FREE));
    }
}

/* Gives back all that the holder with this word held, and frees its place. It must be dead, or the
 * caller. Does nothing where the place is another's by now. */
void lk_canal_repair_holder(const struct lk_canal_region *region, uint32_t holder,
                            struct lk_canal_pair word);

/* Repairs whoever is dead. Returns how many holders were. */
uint32_t lk_canal_look_for_dead(const lk_canal *canal);

void lk_canal_slot_wake_all(struct lk_canal_slot *slot);

/* Wakes those who sleep on the slot's key, if any do. */
static inline void lk_canal_slot_wake(struct lk_canal_slot *slot) {
    if (atomic_load_explicit(&slot->waiting, memory_order_relaxed) != 0) {
        lk_canal_slot_wake_all(slot);
    }
}

#endif
