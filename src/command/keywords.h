/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keywords: the value of each, its bounds, and its field. Within src/command, but for the table, by
 * which the interface is described.
 */
#ifndef LK_COMMAND_KEYWORDS_H
#define LK_COMMAND_KEYWORDS_H

#include "command/draft.h"

enum lk_keyword_kind {
    LK_KEYWORD_FLAG,     /* bool; no value follows */
    LK_KEYWORD_TEXT,     /* slice */
    LK_KEYWORD_NUMBER,   /* int64_t */
    LK_KEYWORD_DURATION, /* int64_t, milliseconds; in JSON also text such as "10s" */
    LK_KEYWORD_LIST,     /* one text of several: parts, or values to put */
    LK_KEYWORD_STYLE,    /* the style of an ask; WAIT is followed by a duration */
};

struct lk_keyword_form {
    const char *name; /* RESP; NULL: only over HTTP, whose names are in members.c */
    enum lk_keyword_kind kind;
    size_t at; /* offset in struct lk_draft */
    int64_t min;
    int64_t max; /* of a text: its bytes; 0: it has no bound of its own */
    lk_style style;
    bool is_of_model; /* the model checks the bounds, and names their rule; so it does of texts */
};

/* Indexed by enum lk_keyword. */
extern const struct lk_keyword_form lk_keyword_forms[LK_WORDS_COUNT];

/* The keyword of the command that has this name in RESP; LK_WORDS_COUNT: none. */
enum lk_keyword lk_keyword_find(const struct lk_command_spec *command, struct lk_slice name);

/* Marks a keyword as given. LK_INVALID: given twice, or together with another style. */
lk_outcome lk_keyword_mark_given(struct lk_draft *draft, enum lk_keyword keyword, lk_error *error);

/* Sets a keyword's field; `name` is its name in the request. LK_INVALID: out of bounds. */
lk_outcome lk_keyword_set_number(struct lk_draft *draft, enum lk_keyword keyword, const char *name,
                                 int64_t number, lk_error *error);
void lk_keyword_set_text(struct lk_draft *draft, enum lk_keyword keyword, struct lk_slice text);
void lk_keyword_set_flag(struct lk_draft *draft, enum lk_keyword keyword, bool value);

/* Adds a part asked for or needed, or a value to put. LK_INVALID: too many. */
lk_outcome lk_keyword_add_text(struct lk_draft *draft, enum lk_keyword keyword,
                               struct lk_slice text, lk_error *error);

/* Parses a decimal number; LK_INVALID, with a message that names it, if it is none. */
lk_outcome lk_keyword_read_number(const char *name, struct lk_slice text, int64_t *ret_number,
                                  lk_error *error);

#endif
