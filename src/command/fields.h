/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What requests may say, by name: keywords of RESP, and members of JSON and of a URL's query, with
 * what each sets. The interface is described by these tables.
 */
#ifndef LK_COMMAND_FIELDS_H
#define LK_COMMAND_FIELDS_H

#include "command/command.h"
#include "command/draft.h"

/* ---- keywords -------------------------------------------------------------------------------- */

/* The value of each, its bounds, and its field. Within src/command, but for the table. */

enum lk_keyword_kind {
    LK_KEYWORD_FLAG,     /* bool; no value follows */
    LK_KEYWORD_TEXT,     /* slice */
    LK_KEYWORD_NUMBER,   /* int64_t */
    LK_KEYWORD_DURATION, /* int64_t, milliseconds; in JSON also text such as "10s" */
    LK_KEYWORD_LIST,     /* one text of several: parts, or values to put */
    LK_KEYWORD_STYLE,    /* the style of an ask; WAIT is followed by a duration */
};

struct lk_keyword_form {
    const char *name; /* RESP; NULL: only over HTTP, whose names are those of members */
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

/* ---- members --------------------------------------------------------------------------------- */

/*
 * Of a body of JSON, and the fields of a URL's query, declared once: what each is called, what its
 * value looks like, and what it sets. Requests are read by this table, and a description of the
 * interface can be written from it.
 */

enum lk_member_kind {
    LK_MEMBER_PARTS,           /* an array of texts: the parts of a request */
    LK_MEMBER_PATH,            /* a text: the path, prefix or queue */
    LK_MEMBER_ID,              /* a text: the id of an item */
    LK_MEMBER_IDS,             /* an array of texts: ids, one at least */
    LK_MEMBER_TEXT,            /* these set a keyword: a text */
    LK_MEMBER_TEXTS,           /* an array of texts */
    LK_MEMBER_TEXT_OR_TEXTS,   /* a text, or an array of them */
    LK_MEMBER_BASE64,          /* a text in base64 */
    LK_MEMBER_BASE64_OR_TEXTS, /* the same, or an array of them */
    LK_MEMBER_NUMBER,          /* a whole number */
    LK_MEMBER_DURATION,        /* milliseconds, or a text such as "10s" */
    LK_MEMBER_FLAG,            /* true or false */
    LK_MEMBER_MODE,            /* the style of an ask, by its name */
};

/* Where a member may be: in the body of a POST, in the query of any other method. */
enum lk_member_place {
    LK_MEMBER_IN_BODY = 1,
    LK_MEMBER_IN_QUERY = 2,
};

struct lk_member {
    const char *name;
    enum lk_member_kind kind;
    unsigned places; /* bits of enum lk_member_place */
    enum lk_keyword
        keyword;       /* of the commands that have it; LK_WORDS_COUNT: `operands` says which */
    unsigned operands; /* bits of enum lk_operands */
    bool is_required;
    const char *text; /* what it means, in a sentence */
};

/* Where the members of the command's route are. */
enum lk_member_place lk_member_place_of(const struct lk_command_spec *command);

/* The member of the command that has this name; NULL: there is none. */
const struct lk_member *lk_member_find(const struct lk_command_spec *command, struct lk_slice name);

/* The command's members in their order: the one after `last`, or the first; NULL: no more. */
const struct lk_member *lk_member_next(const struct lk_command_spec *command,
                                       const struct lk_member *last);

#endif
