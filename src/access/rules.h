/* SPDX-License-Identifier: Apache-2.0 */
/* What users of a service may be allowed to do, and the rules that allow it. */
#ifndef LK_ACCESS_RULES_H
#define LK_ACCESS_RULES_H

#include "base/slice.h"
#include "model/path.h"

/* ---- rights ---------------------------------------------------------------------------------- */

/* What users of a service may be allowed to do. */

/*
 * What a command needs. The first one is that of a command which declares none: such a command is
 * denied to every user, so that a command that is added cannot be forgotten.
 */
enum lk_right {
    LK_RIGHT_UNDECLARED,
    LK_RIGHT_OPEN, /* no user is needed */
    LK_RIGHT_USER, /* any user has it */
    LK_RIGHT_LOCK, /* these can be given in rules: */
    LK_RIGHT_READ,
    LK_RIGHT_PUT,
    LK_RIGHT_BREAK,
    LK_RIGHT_WATCH,
    LK_RIGHT_PUSH,
    LK_RIGHT_CLAIM,
    LK_RIGHT_ADMIN,
};
enum { LK_RIGHT_COUNT = LK_RIGHT_ADMIN + 1 };

#define LK_RIGHT_BIT(right) (1u << (right))

/* The name in rules; NULL: it cannot be given. */
const char *lk_right_name(enum lk_right right);

/* The right of that name; LK_RIGHT_UNDECLARED: there is none. */
enum lk_right lk_right_by_name(struct lk_slice name);

/* ---- rules ----------------------------------------------------------------------------------- */

/*
 * The rules of a user: which rights it has at which paths. Pure functions over rules that were
 * parsed before.
 */

/* Rights at and below a path. */
struct lk_rule {
    unsigned rights;    /* bits LK_RIGHT_BIT() */
    bool is_everywhere; /* else: */
    struct lk_path prefix;
};

struct lk_rules {
    const struct lk_rule *rules; /* borrowed */
    size_t count;
};

/*
 * Parses `RIGHT[,RIGHT]...:PREFIX`, as in `lock,read:db/prod`. The prefix borrows from the text;
 * `/` is every path, and `all` every right. LK_OK, or LK_INVALID with its message.
 */
lk_outcome lk_rule_parse(struct lk_slice text, struct lk_rule *ret_rule, lk_error *error);

/* Whether one of the rules gives the right at a path (NULL: at every path). NULL: no rules. */
bool lk_rules_allow(const struct lk_rules *rules, enum lk_right right, const struct lk_path *path);

/* The same of a path that is not parsed yet; false if it is none. */
bool lk_rules_allow_text(const struct lk_rules *rules, enum lk_right right, const char *path);

/*
 * For a list by path that has come to a path without the right: where the next part begins that may
 * have paths with it. Writes a text that is smaller than all of those and greater than all paths
 * before them, and returns its size; 0: there is no such part.
 */
enum { LK_RULES_BEHIND_MAX = LK_PATH_BYTES_MAX + 2 };
size_t lk_rules_next(const struct lk_rules *rules, enum lk_right right, struct lk_slice path,
                     char ret_behind[LK_RULES_BEHIND_MAX]);

/* Whether they give any right at the path, as text (NULL: at every path): the owner and the note of
 * requests there are shown. */
bool lk_rules_show(const struct lk_rules *rules, const char *path);

#endif
