/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the answers of calls in RESP or in JSON. The records are written by src/form; this code
 * decides which record answers which command, and which outcomes are errors.
 */
#ifndef LK_COMMAND_ANSWER_H
#define LK_COMMAND_ANSWER_H

#include "command/command.h"
#include "command/draft.h"
#include "form/form.h"
#include "form/writer.h"

/* ---- writing answers ------------------------------------------------------------------------- */

/*
 * The fields of a command that its answer repeats or depends on. The command itself is freed before
 * a blocked call is answered.
 */
struct lk_reply_context {
    const struct lk_command_spec *command;
    const struct lk_user *user; /* the reader of the answer; NULL: the service has no users */
    bool is_meta;
    bool is_by_token;
    bool is_of_several;            /* items that are ended */
    struct lk_selection selection; /* its path is in `text`, like all pointers below */
    char *owner;
    size_t path_count;
    char *paths[LK_PARTS_MAX];
    size_t size; /* bytes of `text` in use */
    char text[(LK_PARTS_MAX + 1) * (LK_PATH_BYTES_MAX + 1) + LK_OWNER_BYTES_MAX + 1];
};

/* `call`: made from this draft. The struct is large: keep one, not one per connection. */
void lk_reply_context_fill(struct lk_reply_context *context, const struct lk_draft *draft,
                           const struct lk_call *call);

/* A copy of its actual size, to be freed by free(); NULL when memory is exhausted. */
struct lk_reply_context *lk_reply_context_copy(const struct lk_reply_context *context);

/*
 * Writes the answer of a call to a writer of RESP or JSON, and returns its outcome. In JSON the
 * bytes of a value are written with their map, as with META.
 */
lk_outcome lk_answer_write(const struct lk_reply_context *context, const struct lk_reply *reply,
                           struct lk_form_writer *writer);

/* Writes a failure: `-INVALID ...`, or a map of status and error. */
void lk_answer_write_failure(struct lk_form_writer *writer, lk_outcome outcome, const char *text);

/* The HTTP status of an outcome. */
int lk_answer_http_status(lk_outcome outcome);

/* ---- what an answer consists of -------------------------------------------------------------- */

/*
 * What the answer of each shape consists of in JSON, beside its status. Answers are written by this
 * table, and described by it.
 */

struct lk_answer_form {
    const char *name;             /* of the answer in a description; NULL: it is not JSON */
    const char *about;            /* a text: the path or the queue that was asked about */
    const struct lk_form *fields; /* of the record that is the answer */
    bool is_optional;             /* ... which are left out where there is nothing to count */
    const char *list;             /* an array of records, in place of `fields` */
    const struct lk_form *each;   /* their form */
    const char *each_about;       /* `about` of each of them */
    const struct lk_form *at_end; /* fields after the list */
    bool is_paged;                /* always in pages; false: where a COUNT or a CURSOR is given */
};

/* Indexed by enum lk_shape. A claim is its `fields`, or with COUNT its list. */
extern const struct lk_answer_form lk_answer_forms[];

#endif
