/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new file that has its name only once it is complete and on the disk. Until then it is a file
 * beside it, which only its owner can read. A process that is killed leaves that one behind.
 */
#ifndef LK_BASE_NEW_FILE_H
#define LK_BASE_NEW_FILE_H

#include "lockkeeper/terms.h"

struct lk_new_file {
    const char *path; /* borrowed */
    char *part;       /* the path of the file beside it; NULL: there is none (any more) */
    int descriptor;   /* less than 0: none */
};

/* LK_OK; LK_INVALID: a file of this name is there; LK_DENIED, LK_UNAVAILABLE, LK_INTERNAL. */
lk_outcome lk_new_file_begin(struct lk_new_file *file, const char *path, lk_error *error);

/* Flushes the file and gives it its name, which survives a power cut. The same outcomes. */
lk_outcome lk_new_file_publish(struct lk_new_file *file, lk_error *error);

/* Removes the file if it was not published. After begin, whatever that returned. */
void lk_new_file_end(struct lk_new_file *file);

/* An outcome for an errno of the file, with its message. */
lk_outcome lk_new_file_fail(const struct lk_new_file *file, int problem, lk_error *error);

#endif
