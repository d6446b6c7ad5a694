/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef LK_BASE_HASH_TABLE_H
#define LK_BASE_HASH_TABLE_H

#include <stddef.h>
#include <stdint.h>

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
