/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of the service (docs/wire.md), declared once: name, arguments, keywords, what comes
 * back, help, and the way to them over HTTP. What a door must know of a command is asked here.
 */
#ifndef LK_COMMAND_COMMAND_H
#define LK_COMMAND_COMMAND_H

#include "command/call.h"

/* Keywords, each with what belongs to it (keywords.c). Bits of a command's `keywords`. */
enum lk_keyword {
    LK_WORD_ALSO,
    LK_WORD_OWNER,
    LK_WORD_TTL,
    LK_WORD_UNTIL,
    LK_WORD_TRY,
    LK_WORD_QUEUE,
    LK_WORD_WAIT,
    LK_WORD_NOTE,
    LK_WORD_WITH_VALUE, /* VALUE of an ask: it is wanted */
    LK_WORD_VALUE,      /* VALUE of a push: here it is */
    LK_WORD_BOUND,
    LK_WORD_TOKEN,
    LK_WORD_PUT,
    LK_WORD_REASON,
    LK_WORD_BY,
    LK_WORD_NOW,
    LK_WORD_COUNT,
    LK_WORD_CURSOR,
    LK_WORD_DELAY,
    LK_WORD_NEEDS,
    LK_WORD_MAXATTEMPTS,
    LK_WORD_ASK,
    LK_WORD_META,
    LK_WORD_BLOCKERS,
    LK_WORD_TICKET,
    LK_WORD_AFTER,
    LK_WORD_LIVE, /* these five: bounds (R22) */
    LK_WORD_LIVE_PER_OWNER,
    LK_WORD_LIVE_PER_ROOT,
    LK_WORD_WAITERS_PER_PATH,
    LK_WORD_EVENTS,
    LK_WORD_SHARED, /* these three in JSON only: defaults of the parts (R2) */
    LK_WORD_LIMIT,
    LK_WORD_UNITS,
    LK_WORDS_COUNT,
};

/* What stands in front of the keywords. */
enum lk_operands {
    LK_OPERANDS_NONE,
    LK_OPERANDS_PARTS,      /* a part; more of them by ALSO */
    LK_OPERANDS_PATH,       /* a path, or a queue */
    LK_OPERANDS_PREFIX,     /* a path that may be missing: everything */
    LK_OPERANDS_PATH_VALUE, /* a path and a value */
    LK_OPERANDS_QUEUE_ID,   /* a queue and the id of an item */
};

/* How the answer is told. */
enum lk_shape {
    LK_SHAPE_RESULT, /* a map; failures are errors, unless META says otherwise */
    LK_SHAPE_DONE,   /* OK; in JSON the map of a result */
    LK_SHAPE_OK,     /* OK */
    LK_SHAPE_BROKEN, /* how many */
    LK_SHAPE_PUSHED, /* whether it was added */
    LK_SHAPE_CLAIM,  /* a map */
    LK_SHAPE_VALUE,  /* bytes or null; with META a map */
    LK_SHAPE_LIST,   /* a cursor and entries */
    LK_SHAPE_SHOW,   /* entries with what is in their way */
    LK_SHAPE_ITEMS,  /* a cursor and items */
    LK_SHAPE_STATS,  /* a map */
    LK_SHAPE_AUDIT,  /* entries */
    LK_SHAPE_EVENTS, /* the number to go on after, and events */
    LK_SHAPE_LIMITS, /* a map */
};

struct lk_command {
    const char *name; /* upper case */
    enum lk_call_kind kind;
    enum lk_operands operands;
    uint64_t keywords; /* bits of enum lk_keyword */
    enum lk_shape shape;
    bool has_owner;     /* without one it is the connection's own, or over HTTP a fresh one */
    const char *method; /* HTTP; NULL: it has no route */
    const char *route;  /* ends in '/' where the path follows */
    const char *usage;
    const char *summary;
};

extern const struct lk_command lk_command_table[];
extern const size_t lk_command_count;

/* By its name, in any case; NULL: there is none. */
const struct lk_command *lk_command_find(struct lk_slice name);

/*
 * By its route; *ret_rest is what follows it. NULL: there is none, with *ret_is_known telling
 * whether there is one for another method.
 */
const struct lk_command *lk_command_find_route(struct lk_slice method, struct lk_slice path,
                                               struct lk_slice *ret_rest, bool *ret_is_known);

/* Operands that must be there. */
size_t lk_command_operand_count(const struct lk_command *command);

/* ASCII, in any case. */
bool lk_word_is(struct lk_slice word, const char *name);

#endif
