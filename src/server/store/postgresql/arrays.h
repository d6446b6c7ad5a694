/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parameter of a statement that is a whole column: an array of one dimension without NULLs, in
 * the binary format of PostgreSQL's array_recv().
 */
#ifndef LK_SERVER_STORE_POSTGRESQL_ARRAYS_H
#define LK_SERVER_STORE_POSTGRESQL_ARRAYS_H

#include <stdint.h>

#include "base/slice.h"

enum lk_array_kind { LK_ARRAY_BIGINT, LK_ARRAY_BOOLEAN, LK_ARRAY_TEXT, LK_ARRAY_BYTEA };

struct lk_array {
    char *bytes;
    size_t size;
    size_t capacity;
    uint32_t count;
    bool has_failed; /* memory is exhausted: elements are missing */
};

void lk_array_done(struct lk_array *array);
void lk_array_clear(struct lk_array *array); /* keeps its memory */

void lk_array_add_bigint(struct lk_array *array, int64_t value);
void lk_array_add_boolean(struct lk_array *array, bool value);
void lk_array_add_bytes(struct lk_array *array, struct lk_slice bytes); /* text and bytea */

/* Completes the array. false: memory is exhausted, or it is longer than a parameter may be. */
bool lk_array_close(struct lk_array *array, enum lk_array_kind kind);

/* Bytes in the order of the protocol. */
void lk_array_put32(char *ret_bytes, uint32_t value);
int64_t lk_array_get64(const char *bytes);

#endif
