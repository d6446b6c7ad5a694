/* SPDX-License-Identifier: Apache-2.0 */
/* Keywords: what belongs to each, within which bounds, and where it goes. Within src/command. */
#ifndef LK_COMMAND_KEYWORDS_H
#define LK_COMMAND_KEYWORDS_H

#include "command/wish.h"

enum lk_keyword_kind {
    LK_KEYWORD_FLAG,     /* bool; nothing follows */
    LK_KEYWORD_TEXT,     /* slice */
    LK_KEYWORD_NUMBER,   /* int64_t */
    LK_KEYWORD_DURATION, /* int64_t, milliseconds; in JSON also text such as "10s" */
    LK_KEYWORD_PART,     /* one more of several */
    LK_KEYWORD_STYLE,    /* how to ask; WAIT is followed by a duration */
};

struct lk_keyword_form {
    const char *name;      /* RESP; NULL: only over HTTP */
    const char *json_name; /* NULL: only in RESP */
    enum lk_keyword_kind kind;
    size_t at; /* in struct lk_wish */
    int64_t min;
    int64_t max;
    lk_style style;
};

/* By enum lk_keyword. */
extern const struct lk_keyword_form lk_keyword_forms[LK_WORDS_COUNT];

/* The keyword of the command that has this name in RESP; LK_WORDS_COUNT: none. */
enum lk_keyword lk_keyword_find(const struct lk_command *command, struct lk_slice name);

/* Notes that a keyword was given. LK_INVALID: for the second time, or beside another style. */
lk_outcome lk_keyword_give(struct lk_wish *wish, enum lk_keyword keyword, lk_error *error);

/* Sets a keyword's field; `name` is what the sender called it. LK_INVALID: out of bounds. */
lk_outcome lk_keyword_set_number(struct lk_wish *wish, enum lk_keyword keyword, const char *name,
                                 int64_t number, lk_error *error);
void lk_keyword_set_text(struct lk_wish *wish, enum lk_keyword keyword, struct lk_slice text);
void lk_keyword_set_flag(struct lk_wish *wish, enum lk_keyword keyword, bool value);

/* One part more, of those asked for or of those needed. LK_INVALID: too many. */
lk_outcome lk_keyword_add_part(struct lk_wish *wish, enum lk_keyword keyword, struct lk_slice part,
                               lk_error *error);

/* A decimal number; LK_INVALID, with a sentence that names it, if it is none. */
lk_outcome lk_keyword_read_number(const char *name, struct lk_slice text, int64_t *ret_number,
                                  lk_error *error);

#endif
