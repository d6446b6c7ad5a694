/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table of links that are part of larger structs. It grows and never shrinks. It owns its
 * heads alone, has no lock of its own, and compares nothing: the caller walks a chain.
 */
#ifndef LK_ERLANG_TABLE_H
#define LK_ERLANG_TABLE_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct link {
    struct link *next;
    uint32_t hash;
};

struct table {
    struct link **heads; /* NULL: empty, and nothing was ever in it */
    uint32_t size;       /* a power of two */
    uint32_t count;
};

static inline struct link **table_chain(const struct table *table, uint32_t hash) {
    return &table->heads[hash & (table->size - 1)];
}

/* The first link that may be the one with this hash; NULL. */
static inline struct link *table_first(const struct table *table, uint32_t hash) {
    return table->heads != NULL ? *table_chain(table, hash) : NULL;
}

static inline void table_put(struct table *table, struct link *link) {
    struct link **chain = table_chain(table, link->hash);

    link->next = *chain;
    *chain = link;
}

static inline bool table_resize(struct table *table, uint32_t size) {
    struct table larger = {.heads = enif_alloc(size * sizeof *larger.heads), .size = size};

    if (larger.heads == NULL) {
        return false;
    }
    memset(larger.heads, 0, size * sizeof *larger.heads);
    for (uint32_t i = 0; i < table->size; i++) {
        while (table->heads[i] != NULL) {
            struct link *link = table->heads[i];

            table->heads[i] = link->next;
            table_put(&larger, link);
        }
    }
    larger.count = table->count;
    enif_free(table->heads);
    *table = larger;
    return true;
}

/* Makes the next table_insert() possible. False: no memory. */
static inline bool table_reserve(struct table *table) {
    enum { SIZE_FIRST = 4 };

    if (table->size == 0) {
        return table_resize(table, SIZE_FIRST);
    }
    if (table->count >= table->size && table->size <= UINT32_MAX / 4) {
        (void)table_resize(table, table->size * 2); /* without memory, chains become longer */
    }
    return true;
}

static inline void table_insert(struct table *table, struct link *link) {
    table_put(table, link);
    table->count++;
}

static inline void table_remove(struct table *table, struct link *link) {
    struct link **chain = table_chain(table, link->hash);

    while (*chain != link) {
        chain = &(*chain)->next;
    }
    *chain = link->next;
    table->count--;
}

/* Takes out any link; NULL: the table is empty. *cursor is 0 at the first call. */
static inline struct link *table_take_any(struct table *table, uint32_t *cursor) {
    for (; *cursor < table->size; ++*cursor) {
        struct link *link = table->heads[*cursor];

        if (link != NULL) {
            table->heads[*cursor] = link->next;
            table->count--;
            return link;
        }
    }
    return NULL;
}

static inline void table_end(struct table *table) {
    enif_free(table->heads);
    *table = (struct table){0};
}

#endif
