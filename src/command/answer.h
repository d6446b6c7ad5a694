/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers: what a call came to, told to whoever asked, in RESP or in JSON. The records are told by
 * src/form; what is here is which record answers which command, and what becomes an error.
 */
#ifndef LK_COMMAND_ANSWER_H
#define LK_COMMAND_ANSWER_H

#include "command/wish.h"
#include "form/writer.h"

/*
 * What an answer must repeat of the wish that led to it, or be told by. The wish itself is gone
 * when a call that blocked is answered.
 */
struct lk_echo {
    const struct lk_command *command;
    bool is_meta;
    bool has_path;
    struct lk_path path; /* its bytes are in `text`, as those of all that follow */
    int64_t count;
    struct lk_standing behind; /* a page begins behind it */
    char *owner;
    size_t path_count;
    char *paths[LK_PARTS_MAX];
    size_t size; /* of text, in use */
    char text[(LK_PARTS_MAX + 1) * (LK_PATH_BYTES_MAX + 1) + LK_OWNER_BYTES_MAX + 1];
};

/* LK_OK, or LK_INVALID: no such cursor. Large: keep one, not one for each. */
lk_outcome lk_echo_fill(struct lk_echo *echo, const struct lk_wish *wish,
                        const struct lk_understood *understood, lk_error *error);

/* A copy of its own size, for free(); NULL when memory is exhausted. */
struct lk_echo *lk_echo_copy(const struct lk_echo *echo);

/*
 * Tells a writer of RESP or JSON what the call came to, and returns its outcome. In JSON the bytes
 * of a value are told with their map, as with META.
 */
lk_outcome lk_answer_write(const struct lk_echo *echo, const struct lk_reply *reply,
                           struct lk_form_writer *writer);

/* A failure, as both forms tell it: `-INVALID ...`, or a map of status and error. */
void lk_answer_write_failure(struct lk_form_writer *writer, lk_outcome outcome, const char *text);

/* The status of HTTP that goes with an outcome. */
int lk_answer_http_status(lk_outcome outcome);

#endif
