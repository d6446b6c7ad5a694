/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command as received in RESP words, in JSON or in the query of a URL, and then parsed: checked
 * and turned into a call. Every form sets the same fields by the same table of keywords, so a bound
 * or a name cannot differ between the listeners.
 */
#ifndef LK_COMMAND_DRAFT_H
#define LK_COMMAND_DRAFT_H

#include "command/command.h"

enum {
    LK_PAGE_MAX = 10000, /* entries of one page */
    LK_PAGE_DEFAULT = 1000,
    LK_PAGE_BYTES_MAX = 1024 * 1024, /* of one page, unless a single entry is larger */
    LK_PAGE_STEPS_MAX = 100000,      /* of the walks for one page, beyond its first entry */
    LK_BLOCKERS_DEFAULT = 16,
    LK_IDS_MAX = LK_TAKES_MAX, /* items that one command ends or drops */
};

/* As received. All text is borrowed from its source. */
struct lk_draft {
    const struct lk_command_spec *command;
    uint64_t given; /* bits of enum lk_keyword */
    struct lk_slice part_texts[LK_PARTS_MAX];
    size_t part_count;
    struct lk_slice need_texts[LK_NEEDS_MAX];
    size_t need_count;
    bool has_path;
    struct lk_slice path; /* also a prefix or a queue */
    struct lk_slice ids[LK_IDS_MAX];
    size_t id_count;
    struct lk_slice owner;
    struct lk_slice note;
    struct lk_slice value;
    struct lk_slice puts[LK_PARTS_MAX]; /* in the order of the parts */
    size_t put_count;
    struct lk_slice reason;
    struct lk_slice by;
    struct lk_slice cursor;
    struct lk_slice error_text; /* why an item is given back */
    struct lk_slice result;     /* of an item that is done */
    struct lk_slice progress;   /* of an item that is claimed */
    struct lk_slice only_id;    /* of ITEMS */
    int64_t ttl_ms;
    int64_t until_ms;
    int64_t wait_ms;
    int64_t delay_ms;
    int64_t keep_ms;
    int64_t token;
    int64_t max_attempts;
    int64_t ask_number;
    int64_t count;
    int64_t blockers;
    int64_t ticket;
    int64_t limit;
    int64_t units;
    int64_t after;
    int64_t priority;
    int64_t exit_code;
    int64_t claims; /* 0: one, which is answered as such */
    int64_t live;   /* these five: -1: unchanged */
    int64_t live_per_owner;
    int64_t live_per_root;
    int64_t waiters_per_path;
    int64_t events;
    bool is_shared;
    bool wants_value;
    bool is_bound;
    bool is_now;
    bool is_meta;
    bool is_parked;
    bool is_uncounted;
    bool parks;
    bool is_again;
    bool replaces;
    bool has_mode; /* JSON has a mode field */
    lk_style style;

    /* Set by parsing: */
    struct lk_part parts[LK_PARTS_MAX];
    struct lk_part needs[LK_NEEDS_MAX];
    struct lk_release_put release_puts[LK_PARTS_MAX];
    struct lk_item_path item; /* of a cancel */
};

/* Adds the id of an item. LK_INVALID: too many, or the command takes one only. */
lk_outcome lk_draft_add_id(struct lk_draft *draft, struct lk_slice id, lk_error *error);

/* Resets the draft for a command, with the defaults of docs/wire.md. */
void lk_draft_begin(struct lk_draft *draft, const struct lk_command_spec *command);

/*
 * Reads the words after the command's name. LK_OK, or LK_INVALID with its message. Missing operands
 * are detected by the caller, with lk_command_operand_count().
 */
lk_outcome lk_draft_read_words(struct lk_draft *draft, const struct lk_slice *words, size_t count,
                               lk_error *error);

/* Sets one keyword of the draft's command from text: a field of a URL's query. */
lk_outcome lk_draft_set_text(struct lk_draft *draft, struct lk_slice name, struct lk_slice text,
                             lk_error *error);

/*
 * Reads a body of JSON: one object. *ret_body owns the text that the draft borrows; freed by
 * lk_draft_body_free(), also on failure.
 */
struct lk_draft_body;
lk_outcome lk_draft_read_json(struct lk_draft *draft, struct lk_slice json,
                              struct lk_draft_body **ret_body, lk_error *error);
void lk_draft_body_free(struct lk_draft_body *body); /* accepts NULL */

/*
 * Parses paths, parts and the cursor, and fills the call, except its tag. The call borrows from the
 * draft and from its sources. LK_OK, or LK_INVALID with its message. The model checks the bounds of
 * owners, notes, values and ttls.
 */
lk_outcome lk_draft_parse(struct lk_draft *draft, struct lk_call *ret_call, lk_error *error);

#endif
