/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of records that embed their entry: chains in buckets. */
#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>

enum { ENTRIES_FEW = 8, BUCKETS_MIN = 16, LOAD_MIN_DIVISOR = 8 };

static struct lk_hash_entry **bucket_of(struct lk_hash_table *table, uint64_t hash) {
    return table->bucket_count == 0 ? &table->few
                                    : &table->buckets[hash & (table->bucket_count - 1)];
}

static void link_entry(struct lk_hash_table *table, struct lk_hash_entry *entry) {
    struct lk_hash_entry **bucket = bucket_of(table, entry->hash);

    entry->next = *bucket;
    *bucket = entry;
}

/* Moves every entry into `bucket_count` buckets. Without memory for them all stays as it is. */
static void resize(struct lk_hash_table *table, size_t bucket_count) {
    struct lk_hash_table former = *table;
    size_t former_count = former.bucket_count == 0 ? 1 : former.bucket_count;
    struct lk_hash_entry **from = former.bucket_count == 0 ? &former.few : former.buckets;
    struct lk_hash_entry **buckets = NULL;

    if (bucket_count > 0) {
        buckets = calloc(bucket_count, sizeof *buckets);
        if (buckets == NULL) {
            return;
        }
    }
    table->buckets = buckets;
    table->bucket_count = bucket_count;
    table->few = NULL;
    for (size_t i = 0; i < former_count; i++) {
        while (from[i] != NULL) {
            struct lk_hash_entry *entry = from[i];
            from[i] = entry->next;
            link_entry(table, entry);
        }
    }
    free(former.buckets);
}

void lk_hash_table_add(struct lk_hash_table *table, struct lk_hash_entry *entry, uint64_t hash) {
    if (table->count >= ENTRIES_FEW && table->count >= table->bucket_count) {
        resize(table, table->bucket_count == 0 ? BUCKETS_MIN : table->bucket_count * 2);
    }
    entry->hash = hash;
    link_entry(table, entry);
    table->count++;
}

void lk_hash_table_remove(struct lk_hash_table *table, struct lk_hash_entry *entry) {
    struct lk_hash_entry **link = bucket_of(table, entry->hash);

    while (*link != entry) {
        assert(*link != NULL);
        link = &(*link)->next;
    }
    *link = entry->next;
    table->count--;
    if (table->count < table->bucket_count / LOAD_MIN_DIVISOR) {
        resize(table, table->bucket_count > BUCKETS_MIN ? table->bucket_count / 2 : 0);
    }
}

static struct lk_hash_entry *find_from(struct lk_hash_entry *entry, uint64_t hash) {
    while (entry != NULL && entry->hash != hash) {
        entry = entry->next;
    }
    return entry;
}

struct lk_hash_entry *lk_hash_table_first(const struct lk_hash_table *table, uint64_t hash) {
    return find_from(table->bucket_count == 0 ? table->few
                                              : table->buckets[hash & (table->bucket_count - 1)],
                     hash);
}

struct lk_hash_entry *lk_hash_entry_next(const struct lk_hash_entry *entry) {
    return find_from(entry->next, entry->hash);
}

void lk_hash_table_done(struct lk_hash_table *table) {
    free(table->buckets);
    *table = (struct lk_hash_table){.count = 0};
}
