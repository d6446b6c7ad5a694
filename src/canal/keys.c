/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entering a key takes three swaps: a slot is reserved, the gate of the key's home is passed, the
 * slot becomes LIVE. The gate decides: it names the last key entered through it. A process that is
 * about to pass first makes that key LIVE, then checks whether its own key is in the table, then
 * swaps. So of two processes that enter one key, the second finds the key of the first. A
 * reservation that has not passed the gate has no effect.
 */
#include "canal/keys.h"

#include "canal/repair.h"

enum {
    CHOICE_STEPS = 16,    /* slots searched for a better one than the first idle one */
    ROUNDS_MAX = 1 << 20, /* swaps lost in a row: only damage causes so many */
};

/* ---- entering -------------------------------------------------------------------------------- */

static struct lk_canal_word *gate_of(const struct lk_canal_region *region, uint64_t hash) {
    return &region->gates[(hash >> 8) & (region->gate_count - 1)];
}

/* Makes the key that passed the gate last LIVE. */
static void settle_gate(const struct lk_canal_region *region, struct lk_canal_pair gate) {
    uint32_t index = (uint32_t)gate.state;
    struct lk_canal_pair seen;

    if (index >= region->slot_count) {
        return;
    }
    seen = lk_canal_word_read(&region->slots[index].word);
    if (seen.stamp == gate.stamp && lk_canal_use_of(seen.state) == USE_RESERVED) {
        struct lk_canal_pair live = {
            .stamp = seen.stamp,
            .state = lk_canal_state(USE_LIVE, 0, lk_canal_entry_of(seen.state))};

        (void)lk_canal_word_swap(&region->slots[index].word, seen, live);
    }
}

/* Whether the slot has no key with permits and no reservation. */
static bool is_idle(struct lk_canal_pair seen) {
    return lk_canal_count_of(seen.state) == 0
           && (lk_canal_use_of(seen.state) == USE_FREE || lk_canal_use_of(seen.state) == USE_LIVE);
}

/* The first slot that has never been used; NONE. */
static uint32_t choose_fresh(const struct lk_canal_region *region, uint64_t hash) {
    uint32_t slot = lk_canal_home_of(region, hash);

    for (uint32_t step = 0; step < region->reach; step++) {
        if (atomic_load_explicit(&region->tags[slot], memory_order_relaxed) == 0
            && lk_canal_slot_is_fresh(&region->slots[slot])) {
            return slot;
        }
        slot = lk_canal_slot_after(region, slot);
    }
    return NONE;
}

/* A slot that may be taken: free, or the one near home that has been idle for the longest. NONE. */
static uint32_t choose(const struct lk_canal_region *region, uint64_t hash) {
    uint32_t slot = lk_canal_home_of(region, hash);
    uint32_t best = choose_fresh(region, hash);
    uint64_t best_stamp = UINT64_MAX;

    if (best != NONE) {
        return best;
    }
    for (uint32_t step = 0; step < region->reach; step++) {
        struct lk_canal_pair seen = lk_canal_word_read(&region->slots[slot].word);

        if (lk_canal_use_of(seen.state) == USE_FREE && is_idle(seen)) {
            return slot;
        }
        if (is_idle(seen) && seen.stamp < best_stamp) {
            best = slot;
            best_stamp = seen.stamp;
        }
        if (best != NONE && step >= CHOICE_STEPS) {
            break;
        }
        slot = lk_canal_slot_after(region, slot);
    }
    return best;
}

/* Reserves the slot and writes the key there. Returns the stamp; 0: another process was faster. */
static uint64_t reserve(lk_canal_holder *holder, uint32_t entry, uint32_t index,
                        const struct lk_canal_key *key) {
    const struct lk_canal_region *region = &holder->canal->region;
    struct lk_canal_slot *slot = &region->slots[index];
    struct lk_canal_pair seen = lk_canal_word_read(&slot->word);
    struct lk_canal_pair mine = {.state = lk_canal_state(USE_RESERVED, 0, entry)};

    if (!is_idle(seen)) {
        return 0;
    }
    mine.stamp = lk_canal_stamp(lk_canal_operation_draw(holder), KIND_INSERTING);
    lk_canal_entry_begin(&region->entries[entry], index, mine.stamp);
    lk_canal_settle(region, seen);
    if (!lk_canal_word_swap(&slot->word, seen, mine)) {
        return 0;
    }
    atomic_store_explicit(&slot->hash, key->hash, memory_order_relaxed);
    atomic_store_explicit(&slot->key_size, key->size, memory_order_relaxed);
    for (uint32_t i = 0; i < (key->size + 7) / 8; i++) {
        atomic_store_explicit(&slot->key[i], key->words[i], memory_order_relaxed);
    }
    atomic_store_explicit(&region->tags[index], lk_canal_tag_of(key->hash), memory_order_release);
    return mine.stamp;
}

static void end_reservation(const struct lk_canal_region *region, uint32_t entry, uint32_t index,
                            uint64_t stamp, enum lk_canal_use use) {
    struct lk_canal_pair reserved = {.stamp = stamp,
                                     .state = lk_canal_state(USE_RESERVED, 0, entry)};
    struct lk_canal_pair ended = {.stamp = stamp, .state = lk_canal_state(use, 0, entry)};

    (void)lk_canal_word_swap(&region->slots[index].word, reserved, ended);
}

/* Enters the key. `entry` records the reservation, and is freed when this returns. */
static lk_canal_status enter_with(lk_canal_holder *holder, uint32_t entry,
                                  const struct lk_canal_key *key) {
    const struct lk_canal_region *region = &holder->canal->region;
    struct lk_canal_word *gate = gate_of(region, key->hash);
    bool has_looked = false;
    uint32_t slot = NONE;
    uint64_t stamp = 0;

    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        struct lk_canal_pair seen = lk_canal_word_read(gate);
        struct lk_canal_pair ignored;
        uint32_t found;

        settle_gate(region, seen);
        found = lk_canal_key_find(region, key, &ignored);
        if (found != NONE) {
            if (stamp != 0) {
                end_reservation(region, entry, slot, stamp, USE_FREE);
            }
            return LK_CANAL_OK;
        }
        if (stamp == 0) {
            slot = choose(region, key->hash);
            if (slot == NONE && has_looked) {
                return LK_CANAL_NO_ROOM;
            }
            if (slot == NONE) {
                (void)lk_canal_look_for_dead(holder->canal);
                has_looked = true;
                continue;
            }
            stamp = reserve(holder, entry, slot, key);
            if (stamp == 0) {
                continue;
            }
        }
        if (lk_canal_word_swap(gate, seen, (struct lk_canal_pair){.stamp = stamp, .state = slot})) {
            end_reservation(region, entry, slot, stamp, USE_LIVE);
            return LK_CANAL_OK;
        }
    }
    if (stamp != 0) {
        end_reservation(region, entry, slot, stamp, USE_FREE);
    }
    return LK_CANAL_DAMAGED;
}

lk_canal_status lk_canal_key_enter(lk_canal_holder *holder, const struct lk_canal_key *key) {
    uint32_t entry;
    lk_canal_status status = lk_canal_entry_take(holder, &entry);

    if (status == LK_CANAL_OK) {
        status = enter_with(holder, entry, key);
        lk_canal_entry_give(holder, entry, lk_canal_operation_draw(holder));
    }
    return status;
}

/* ---- after a death --------------------------------------------------------------------------- */

void lk_canal_key_repair(const struct lk_canal_region *region, uint32_t entry, uint32_t slot,
                         uint64_t stamp) {
    struct lk_canal_pair seen = lk_canal_word_read(&region->slots[slot].word);
    uint64_t hash = atomic_load_explicit(&region->slots[slot].hash, memory_order_relaxed);
    bool has_passed;

    if (seen.stamp != stamp || lk_canal_use_of(seen.state) != USE_RESERVED) {
        return; /* never reserved, or LIVE already */
    }
    /* If it had passed, with another key after it, the other would have made it LIVE before. */
    has_passed = atomic_load_explicit(&gate_of(region, hash)->stamp, memory_order_acquire) == stamp;
    end_reservation(region, entry, slot, stamp, has_passed ? USE_LIVE : USE_FREE);
}
