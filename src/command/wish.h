/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What somebody wishes, read from the words of RESP, from JSON or from the query of a URL, and then
 * understood: checked and turned into a call. Every way in sets the same fields by the same table
 * of keywords, so that a bound or a name cannot differ between the doors.
 */
#ifndef LK_COMMAND_WISH_H
#define LK_COMMAND_WISH_H

#include "command/command.h"

enum {
    LK_PAGE_MAX = 10000, /* entries of one LIST or ITEMS */
    LK_PAGE_DEFAULT = 1000,
    LK_BLOCKERS_DEFAULT = 16,
    LK_BLOCKERS_MAX = 1024,
};

/* As it was said. All text is borrowed from where it was read. */
struct lk_wish {
    const struct lk_command *command;
    uint64_t given; /* bits of enum lk_keyword */
    struct lk_slice parts[LK_PARTS_MAX];
    size_t part_count;
    struct lk_slice needs[LK_NEEDS_MAX];
    size_t need_count;
    bool has_path;
    struct lk_slice path; /* also a prefix or a queue */
    struct lk_slice id;
    struct lk_slice owner;
    struct lk_slice note;
    struct lk_slice value;
    struct lk_slice put;
    struct lk_slice reason;
    struct lk_slice by;
    struct lk_slice cursor;
    int64_t ttl_ms;
    int64_t until_ms;
    int64_t wait_ms;
    int64_t delay_ms;
    int64_t token;
    int64_t max_attempts;
    int64_t ask_number;
    int64_t count;
    int64_t blockers;
    int64_t ticket;
    int64_t limit;
    int64_t units;
    int64_t after;
    int64_t live; /* these five: -1: as it is */
    int64_t live_per_owner;
    int64_t live_per_root;
    int64_t waiters_per_path;
    int64_t events;
    bool is_shared;
    bool wants_value;
    bool is_bound;
    bool is_now;
    bool is_meta;
    bool has_mode; /* JSON said how to ask */
    lk_style style;
};

/* Empties it for a command; the defaults of docs/wire.md. */
void lk_wish_begin(struct lk_wish *wish, const struct lk_command *command);

/*
 * Reads the words behind the command's name. LK_OK, or LK_INVALID with its sentence; too few of
 * them are the caller's to see, by lk_command_operand_count().
 */
lk_outcome lk_wish_read_words(struct lk_wish *wish, const struct lk_slice *words, size_t count,
                              lk_error *error);

/* The word of one keyword of the wish's command, as text: a field of a URL's query. */
lk_outcome lk_wish_set_text(struct lk_wish *wish, struct lk_slice name, struct lk_slice text,
                            lk_error *error);

/*
 * Reads a body of JSON: one object. *ret_body keeps what the wish borrows; end it by
 * lk_wish_body_free(), also on failure.
 */
struct lk_wish_body;
lk_outcome lk_wish_read_json(struct lk_wish *wish, struct lk_slice json,
                             struct lk_wish_body **ret_body, lk_error *error);
void lk_wish_body_free(struct lk_wish_body *body); /* accepts NULL */

/* A wish understood. The call borrows from the wish's sources and from this. */
struct lk_understood {
    struct lk_call call;
    struct lk_part parts[LK_PARTS_MAX];
    struct lk_part needs[LK_NEEDS_MAX];
};

/*
 * Parses paths and parts and fills the call, but for its tag. LK_OK, or LK_INVALID with its
 * sentence: what is left to the model are the bounds of owners, notes, values and ttls.
 */
lk_outcome lk_wish_understand(const struct lk_wish *wish, struct lk_understood *understood,
                              lk_error *error);

#endif
