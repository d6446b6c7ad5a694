/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is read, changed, and replaced as a whole. */
#ifndef LK_CLI_PASSWD_REPLACE_H
#define LK_CLI_PASSWD_REPLACE_H

#include "base/buffer.h"
#include "lockkeeper/terms.h"

/* A file that only this process changes, until lk_replacing_end(). */
struct lk_replacing {
    char *path;     /* without symbolic links */
    int descriptor; /* holds the lock; less than 0: there is no file yet */
    struct lk_buffer text;
};

/*
 * Locks the file against other calls, and reads up to `max` bytes. A file that is not there is
 * empty. LK_OK, LK_DENIED, LK_INVALID or LK_INTERNAL; to be ended in every case.
 */
lk_outcome lk_replacing_begin(struct lk_replacing *replacing, const char *path, size_t max,
                              lk_error *error);

/* Puts a file with this text in its place at once: for its owner alone to read, as the former one,
 * and on the disk when this returns. */
lk_outcome lk_replacing_write(struct lk_replacing *replacing, struct lk_slice text,
                              lk_error *error);
void lk_replacing_end(struct lk_replacing *replacing);

#endif
