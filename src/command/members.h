/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a body of JSON, and the fields of a URL's query, declared once: what each is
 * called, what its value looks like, and what it sets. Requests are read by this table, and a
 * description of the interface can be written from it.
 */
#ifndef LK_COMMAND_MEMBERS_H
#define LK_COMMAND_MEMBERS_H

#include "command/command.h"

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
