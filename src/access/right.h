/* SPDX-License-Identifier: Apache-2.0 */
/* What users of a service may be allowed to do. */
#ifndef LK_ACCESS_RIGHT_H
#define LK_ACCESS_RIGHT_H

#include "base/slice.h"

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

#endif
