/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of the service (docs/wire.md), declared once: name, arguments, keywords, answer,
 * help, and HTTP route. The listeners look commands up here.
 */
#ifndef LK_COMMAND_COMMAND_H
#define LK_COMMAND_COMMAND_H

#include "command/call.h"

/* Keywords, with their values (fields.c). Bits of a command's `keywords`. */
enum lk_keyword {
    LK_WORD_ALSO,
    LK_WORD_OWNER,
    LK_WORD_TTL,
    LK_WORD_UNTIL,
    LK_WORD_TRY,
    LK_WORD_QUEUE,
    LK_WORD_WAIT,
    LK_WORD_NOTE,
    LK_WORD_WITH_VALUE, /* VALUE of an ask: the value is wanted */
    LK_WORD_VALUE,      /* VALUE of a push: the value */
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
    LK_WORD_PRIORITY,
    LK_WORD_EXIT,
    LK_WORD_ERROR,
    LK_WORD_UNCOUNTED,
    LK_WORD_PARK,
    LK_WORD_AGAIN,
    LK_WORD_REPLACE,
    LK_WORD_PARKED,
    LK_WORD_KEEP,
    LK_WORD_RESULT,
    LK_WORD_TEXT,
    LK_WORD_ID,     /* of ITEMS: the one item */
    LK_WORD_CLAIMS, /* COUNT of a claim: how many items at most */
    LK_WORD_LIVE,   /* these five: bounds (R22) */
    LK_WORD_LIVE_PER_OWNER,
    LK_WORD_LIVE_PER_ROOT,
    LK_WORD_WAITERS_PER_PATH,
    LK_WORD_EVENTS,
    LK_WORD_SHARED, /* these three in JSON only: defaults of the parts (R2) */
    LK_WORD_LIMIT,
    LK_WORD_UNITS,
    LK_WORDS_COUNT,
};

/* The operands before the keywords. */
enum lk_operands {
    LK_OPERANDS_NONE,
    LK_OPERANDS_PARTS,      /* a part; more of them by ALSO */
    LK_OPERANDS_PATH,       /* a path */
    LK_OPERANDS_QUEUE,      /* a queue */
    LK_OPERANDS_PREFIX,     /* an optional path; without one: all paths */
    LK_OPERANDS_PATH_VALUE, /* a path and a value */
    LK_OPERANDS_QUEUE_ID,   /* a queue and the id of an item */
    LK_OPERANDS_QUEUE_IDS,  /* a queue and the ids of items, one at least */
    LK_OPERANDS_COUNT,
};

/* The form of the answer. */
enum lk_shape {
    LK_SHAPE_RESULT,  /* a map; failures are errors, unless META says otherwise */
    LK_SHAPE_DONE,    /* OK; in JSON the map of a result */
    LK_SHAPE_OK,      /* OK */
    LK_SHAPE_DELETED, /* whether a value was deleted; in JSON OK */
    LK_SHAPE_BROKEN,  /* how many requests were broken */
    LK_SHAPE_PUSHED,  /* whether the item was added */
    LK_SHAPE_ENDED,   /* how many items were ended, LOST if one was not; OK of a single one */
    LK_SHAPE_DROPPED, /* how many items were dropped, LOST if one was not */
    LK_SHAPE_CLAIM,   /* a map; with COUNT an array of maps */
    LK_SHAPE_VALUE,   /* bytes or null; with META a map */
    LK_SHAPE_LIST,    /* a cursor and entries */
    LK_SHAPE_SHOW,    /* entries with their blockers */
    LK_SHAPE_ITEMS,   /* a cursor and items */
    LK_SHAPE_STATS,   /* a map */
    LK_SHAPE_QUEUES,  /* a cursor and queues */
    LK_SHAPE_VALUES,  /* a cursor and values, without their bytes */
    LK_SHAPE_DOUBTS,  /* the same of values in doubt */
    LK_SHAPE_AUDIT,   /* entries */
    LK_SHAPE_EVENTS,  /* the number after which to go on, and events */
    LK_SHAPE_REVOKED, /* the number after which to go on, and tokens */
    LK_SHAPE_LIMITS,  /* a map */
    LK_SHAPES_COUNT,
};

struct lk_command_spec {
    const char *name; /* upper case */
    enum lk_call_kind kind;
    enum lk_command_kind decides; /* LK_CALL_COMMAND */
    enum lk_operands operands;
    uint64_t keywords; /* bits of enum lk_keyword */
    enum lk_shape shape;
    uint32_t outcomes;   /* bits of lk_outcome: what it may answer beside success and what every
                        * command may, for its description */
    enum lk_right right; /* that a user needs at each path that it names */
    bool has_owner;      /* without an owner: the connection's own, or over HTTP a fresh one */
    const char *method;  /* HTTP; NULL: no route */
    const char *route;   /* ends in '/' if a path follows */
    const char *usage;
    const char *summary;
};

extern const struct lk_command_spec lk_command_table[];
extern const size_t lk_command_count;

/* Finds a command by its name, in any case; NULL: there is none. */
const struct lk_command_spec *lk_command_find(struct lk_slice name);

/*
 * Finds a command by its route; *ret_rest is the text after it. NULL: there is none; *ret_is_known
 * says whether the route exists for another method.
 */
const struct lk_command_spec *lk_command_find_route(struct lk_slice method, struct lk_slice path,
                                                    struct lk_slice *ret_rest, bool *ret_is_known);

/* Whether it is a command of this kind. */
static inline bool lk_command_decides(const struct lk_command_spec *command,
                                      enum lk_command_kind kind) {
    return command->kind == LK_CALL_COMMAND && command->decides == kind;
}

/* Whether the operands are a queue and an id, or several. */
static inline bool lk_command_has_id(const struct lk_command_spec *command) {
    return command->operands == LK_OPERANDS_QUEUE_ID || command->operands == LK_OPERANDS_QUEUE_IDS;
}

/* The number of required operands. */
size_t lk_command_operand_count(const struct lk_command_spec *command);

/* Compares ASCII, in any case. */
bool lk_word_is(struct lk_slice word, const char *name);

#endif
