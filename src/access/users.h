/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The users of a running service. A user stays the same object however often the file is read
 * again, so connections and requests refer to it; a user that is no longer in the file has no rules
 * and no secrets. For one thread.
 */
#ifndef LK_ACCESS_USERS_H
#define LK_ACCESS_USERS_H

#include "access/users_file.h"

struct lk_user {
    char name[LK_USER_BYTES_MAX + 1];
    const struct lk_user_entry *entry;  /* NULL: not in the file */
    uint64_t rules_version;             /* grows when its rules change */
    const struct lk_user_entry *coming; /* while a file is applied */
    struct lk_user *next;
};

struct lk_users;

/* NULL: memory is exhausted. It has no users before lk_users_apply(). */
struct lk_users *lk_users_new(void);
void lk_users_free(struct lk_users *users); /* accepts NULL */

/*
 * The users are those of this file from now on; the former file is freed. Takes ownership of the
 * file if it succeeds. false: memory is exhausted, and nothing has changed.
 */
bool lk_users_apply(struct lk_users *users, struct lk_users_file *file);

/* The user of that name, or NULL; `_make` makes one that is not in the file (NULL: no memory). */
const struct lk_user *lk_users_find(const struct lk_users *users, struct lk_slice name);
const struct lk_user *lk_users_make(struct lk_users *users, struct lk_slice name);

/* The user with the token of that digest, and the token itself; NULL: there is none. */
const struct lk_user *lk_users_find_token(const struct lk_users *users,
                                          const unsigned char digest[LK_DIGEST_BYTES],
                                          const struct lk_user_secret **ret_secret);

/* A hash of a password of the file, whichever: what a guess at a user that does not exist is
 * compared with, so that it takes as long. NULL: the file has none. */
const char *lk_users_any_hash(const struct lk_users *users);

/* The first end of a token of the file after this Unix time; INT64_MAX: there is none. */
int64_t lk_users_next_end(const struct lk_users *users, int64_t now_s);

/* Its rules; NULL: it has none. Accepts NULL. */
static inline const struct lk_rules *lk_user_rules(const struct lk_user *user) {
    return user != NULL && user->entry != NULL ? &user->entry->rules : NULL;
}

#endif
