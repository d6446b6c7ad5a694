/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of short strings and numbers, and tables of records by such a hash. */
#ifndef LK_BASE_HASH_H
#define LK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/* ---- hashes ---------------------------------------------------------------------------------- */

/*
 * A fast keyed hash for short strings: 64-bit multiply-and-fold over eight bytes at a time, after
 * the construction of wyhash (Wang Yi, public domain). With a secret seed, clients that choose
 * names cannot choose collisions. The result depends on the machine's byte order: it is for tables
 * in memory, never stored or sent.
 */

static inline uint64_t lk_hash_fold(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t lk_hash_number(uint64_t seed, uint64_t number) {
    return lk_hash_fold(number ^ UINT64_C(0xA0761D6478BD642F), seed ^ UINT64_C(0xE7037ED1A0B428DB));
}

static inline uint64_t lk_hash_bytes(uint64_t seed, struct lk_slice text) {
    uint64_t state = lk_hash_number(seed, text.size);
    size_t at = 0;
    uint64_t word = 0;

    for (; text.size - at >= sizeof word; at += sizeof word) {
        memcpy(&word, text.bytes + at, sizeof word);
        state = lk_hash_number(state, word);
    }
    word = 0;
    if (text.size > at) {
        memcpy(&word, text.bytes + at, text.size - at);
    }
    return lk_hash_number(state, word);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/*
 * A hash table of records that embed their entry. The caller hashes and compares:
 *
 *     entry = lk_hash_table_first(&table, hash);
 *     while (entry != NULL && !is_the_one(entry)) {
 *         entry = lk_hash_entry_next(entry);
 *     }
 *
 * Adding cannot fail: without memory for more buckets their chains become longer. The number of
 * buckets follows that of the records, up and down, so that an operation takes constant time on
 * average.
 */

struct lk_hash_entry {
    struct lk_hash_entry *next; /* of the same bucket */
    uint64_t hash;
};

/* Zeroed it is empty. */
struct lk_hash_table {
    struct lk_hash_entry **buckets; /* NULL: all entries are in `few` */
    size_t bucket_count;            /* a power of two, or 0 */
    size_t count;                   /* of the entries */
    struct lk_hash_entry *few;
};

void lk_hash_table_add(struct lk_hash_table *table, struct lk_hash_entry *entry, uint64_t hash);

/* Removes an entry that was added. */
void lk_hash_table_remove(struct lk_hash_table *table, struct lk_hash_entry *entry);

/* The first entry with this hash; and the next one with the hash of this one. NULL: none. */
struct lk_hash_entry *lk_hash_table_first(const struct lk_hash_table *table, uint64_t hash);
struct lk_hash_entry *lk_hash_entry_next(const struct lk_hash_entry *entry);

/* Frees the buckets. The entries are the caller's. */
void lk_hash_table_done(struct lk_hash_table *table);

#endif
