/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of one user in the text of a users file. Other lines, and comments, stay as they are. */
#ifndef LK_ACCESS_USERS_EDIT_H
#define LK_ACCESS_USERS_EDIT_H

#include "access/users_file.h"
#include "base/buffer.h"

struct lk_users_edit {
    const char *user;
    bool removes_user;
    bool removes_tokens;
    bool adds_certificate; /* a client certificate of that name is let in */
    bool removes_certificate;
    const char *password_hash; /* replaces the former ones; NULL: they stay */
    const char *token;         /* `token:DIGEST` or `token:DIGEST:END`, added; NULL: none */
    const char *rules;         /* in place of the former ones; NULL: they stay */
    int64_t now_s;             /* Unix time: with a new token, those that have ended are removed */
};

/*
 * Whether the text has the user. LK_OK, LK_NONE, or the outcome of lk_users_file_parse().
 */
lk_outcome lk_users_has(struct lk_slice text, const char *user, lk_error *error);

/*
 * Writes the changed text to an empty buffer. LK_OK; LK_LOST: the user to change or remove is not
 * there; LK_INVALID with the line: the text was, or would become, no file of users; LK_INTERNAL.
 */
lk_outcome lk_users_edit(struct lk_slice text, const struct lk_users_edit *edit,
                         struct lk_buffer *ret_text, lk_error *error);

#endif
