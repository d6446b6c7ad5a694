/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a key to its slot. A key has at most one LIVE slot (S4), within reach of its home.
 *
 * A slot that is found may be given to another key at any moment. So each user of a slot reads its
 * word first, then compares the key, and then swaps the word that it read. A stamp occurs only once
 * in a word, so a swap that succeeds proves that the key was the same all the time.
 */
#ifndef LK_CANAL_KEYS_H
#define LK_CANAL_KEYS_H

#include <string.h>

#include "canal/handle.h"

struct lk_canal_key {
    uint64_t words[KEY_WORDS]; /* filled up with 0 */
    uint64_t hash;
    uint32_t size;
};

/* ---- hashing --------------------------------------------------------------------------------- */

/* Everything up to key_find() runs in each acquire, and is small enough to be inlined. */

static inline uint64_t lk_canal_mix(uint64_t a, uint64_t b) {
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The last bytes of a key, fewer than 8, as a word filled up with 0. Little-endian, as
 * each machine that has regions. */
static inline uint64_t lk_canal_key_tail(const char *bytes, size_t size) {
    size_t tail = size % 8;
    const unsigned char *last = (const unsigned char *)bytes + size - tail;
    uint64_t word = 0;

    if (size > 8) {
        memcpy(&word, bytes + size - 8, 8);
        return word >> (8 * (8 - tail));
    }
    if (tail >= 4) {
        uint32_t low;
        uint32_t high; /* overlaps `low`, with the same bytes */

        memcpy(&low, last, 4);
        memcpy(&high, last + tail - 4, 4);
        return low | (uint64_t)high << (8 * (tail - 4));
    }
    return last[0] | (uint64_t)last[tail / 2] << (8 * (tail / 2))
           | (uint64_t)last[tail - 1] << (8 * (tail - 1));
}

/* bytes: 1 to LK_CANAL_KEY_BYTES_MAX. The seed prevents callers from choosing keys that collide. */
static inline void lk_canal_key_make(const struct lk_canal_region *region, const char *bytes,
                                     size_t size, struct lk_canal_key *ret_key) {
    uint64_t hash = region->seed ^ (uint64_t)size;
    size_t whole = size / 8;

    for (size_t i = 0; i < whole; i++) {
        memcpy(&ret_key->words[i], bytes + i * 8, 8);
        hash = lk_canal_mix(hash ^ UINT64_C(0xa0761d6478bd642f), ret_key->words[i] ^ region->seed);
    }
    if (size % 8 != 0) {
        uint64_t tail = lk_canal_key_tail(bytes, size);

        ret_key->words[whole] = tail;
        hash = lk_canal_mix(hash ^ UINT64_C(0xa0761d6478bd642f), tail ^ region->seed);
    }
    ret_key->hash = lk_canal_mix(hash ^ UINT64_C(0xe7037ed1a0b428db), UINT64_C(0x8ebc6af09c88c6e3));
    ret_key->size = (uint32_t)size;
}

static inline uint32_t lk_canal_home_of(const struct lk_canal_region *region, uint64_t hash) {
    return (uint32_t)((hash >> 32) * region->slot_count >> 32);
}

static inline uint32_t lk_canal_tag_of(uint64_t hash) {
    return (uint32_t)hash | 1;
}

static inline uint32_t lk_canal_slot_after(const struct lk_canal_region *region, uint32_t slot) {
    return slot + 1 == region->slot_count ? 0 : slot + 1;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Whether the slot has this key at this moment. */
static inline bool lk_canal_key_is_at(const struct lk_canal_slot *slot,
                                      const struct lk_canal_key *key) {
    uint32_t words = (key->size + 7) / 8;

    if (atomic_load_explicit(&slot->key_size, memory_order_relaxed) != key->size) {
        return false;
    }
    for (uint32_t i = 0; i < words; i++) {
        if (atomic_load_explicit(&slot->key[i], memory_order_relaxed) != key->words[i]) {
            return false;
        }
    }
    atomic_thread_fence(memory_order_acquire);
    return true;
}

/* The same for a LIVE slot, with its word, which was read before the key was compared. */
static inline bool lk_canal_key_is_live_at(const struct lk_canal_slot *slot,
                                           const struct lk_canal_key *key,
                                           struct lk_canal_pair *ret_seen) {
    *ret_seen = lk_canal_word_read(&slot->word);
    return lk_canal_use_of(ret_seen->state) == USE_LIVE && lk_canal_key_is_at(slot, key);
}

/* Whether the slot has never been used. */
static inline bool lk_canal_slot_is_fresh(const struct lk_canal_slot *slot) {
    struct lk_canal_pair word = lk_canal_word_read(&slot->word);

    return word.stamp == 0 && word.state == 0;
}

/* The key's LIVE slot with its word; NONE: there was none, or it was entered at this moment. */
static inline uint32_t lk_canal_key_find(const struct lk_canal_region *region,
                                         const struct lk_canal_key *key,
                                         struct lk_canal_pair *ret_seen) {
    uint32_t tag = lk_canal_tag_of(key->hash);
    uint32_t slot = lk_canal_home_of(region, key->hash);

    __builtin_prefetch(&region->slots[slot], 1); /* most keys are at home: overlaps two misses */
    for (uint32_t step = 0; step < region->reach; step++) {
        uint32_t found = atomic_load_explicit(&region->tags[slot], memory_order_acquire);

        if (found == tag && lk_canal_key_is_live_at(&region->slots[slot], key, ret_seen)) {
            return slot;
        }
        /* A key is never entered beyond a slot that has never been used. */
        if (found == 0 && lk_canal_slot_is_fresh(&region->slots[slot])) {
            return NONE;
        }
        slot = lk_canal_slot_after(region, slot);
    }
    return NONE;
}

/* ---- entering -------------------------------------------------------------------------------- */

/* Gives the key a slot, if it has none. LK_CANAL_OK; NO_ROOM. */
lk_canal_status lk_canal_key_enter(lk_canal_holder *holder, const struct lk_canal_key *key);

/* Repairs a dead holder's INSERTING entry: the key becomes LIVE, or the slot is freed. */
void lk_canal_key_repair(const struct lk_canal_region *region, uint32_t entry, uint32_t slot,
                         uint64_t stamp);

#endif
