/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners of a service with users: what the model is given as an owner is the identity USER//OWNER,
 * so that the same owner of two users is two owners to every rule. A user's name has no slash: the
 * first two are between them.
 */
#ifndef LK_ACCESS_IDENTITY_H
#define LK_ACCESS_IDENTITY_H

#include "base/slice.h"
#include "model/command.h"

#define LK_IDENTITY_SEPARATOR "//"

struct lk_identity {
    struct lk_slice user;  /* empty: none, as of what is older than the users */
    struct lk_slice owner; /* as its user wrote it */
};

/* The size of what is written. The owner has at most LK_OWNER_BYTES_MAX bytes, the user's name at
 * most LK_USER_BYTES_MAX. */
size_t lk_identity_write(struct lk_identity identity, char ret_text[LK_IDENTITY_BYTES_MAX]);

/* Of any owner of the model. Borrows from it. */
struct lk_identity lk_identity_read(struct lk_slice text);

#endif
