/* SPDX-License-Identifier: Apache-2.0 */
/* Parts (R2): one path of a request, or of what an item needs, with its mode, limit and units. */
#ifndef LK_MODEL_PART_H
#define LK_MODEL_PART_H

#include "model/path.h"

enum {
    LK_PARTS_MAX = 16,        /* parts in one request */
    LK_LIMIT_MAX = 2147483647 /* 2^31-1, R2 */
};

enum lk_mode { LK_EXCLUSIVE = 0, LK_SHARED = 1 };

struct lk_part {
    struct lk_path path;
    enum lk_mode mode;
    uint32_t limit; /* 0: none; otherwise the mode is LK_SHARED */
    uint32_t units; /* what it counts against a limit (R7c): LK_SHARED at least 1, LK_EXCLUSIVE 0 */
    bool strict;    /* only what an item needs, exclusively: its order is kept (R16) */
};

/* What a part's text leaves unsaid (cli.md: --shared, --limit, --units). */
struct lk_part_defaults {
    bool shared;
    uint32_t limit; /* 0: none */
    uint32_t units; /* 0: unsaid */
};

/*
 * Parses `PATH[?shared][?limit=N[&units=U]]`. What the text does not say is taken from
 * *defaults, which may be NULL. *ret_part borrows `text`. Returns LK_OK, or LK_INVALID with the
 * rule and the place in *error, *ret_part untouched.
 */
lk_outcome lk_part_parse(struct lk_slice text, const struct lk_part_defaults *defaults,
                         struct lk_part *ret_part, struct lk_error *error);

/* The same of what an item needs, which may also be `PATH?strict` (R16). */
lk_outcome lk_need_parse(struct lk_slice text, struct lk_part *ret_part, struct lk_error *error);

/* Room for one part as text, the end included. */
enum { LK_PART_TEXT_MAX = LK_PATH_BYTES_MAX + sizeof "?limit=2147483647&units=2147483647" };

/*
 * Writes parts as they are spelt (R2), with a space between: the same parts, the same text. `text`
 * has room for `count` (at least 1) times LK_PART_TEXT_MAX bytes. Returns the size; terminated.
 */
size_t lk_parts_write(const struct lk_part *parts, size_t count, char *text);

/*
 * Reads such a text, of any origin: up to `max` parts, which borrow it. false: these are no parts;
 * the outputs may have been written to.
 */
bool lk_parts_read(struct lk_slice text, struct lk_part *ret_parts, size_t max, size_t *ret_count);

/*
 * Mode, units and `strict` of a part as one number, for stores: 0: exclusive; -1: that, and strict;
 * others: the units of a shared part. Reading it does not touch path and limit.
 */
int64_t lk_part_code(const struct lk_part *part);
void lk_part_set_code(struct lk_part *part, int64_t code);

/* Whether one of these needs is strict (R16). */
bool lk_needs_are_strict(const struct lk_part *needs, size_t count);

/* Checks 1..LK_PARTS_MAX parts, each path once (R2), and mode, limit and units of each. */
lk_outcome lk_parts_check(const struct lk_part *parts, size_t count, struct lk_error *error);

#endif
