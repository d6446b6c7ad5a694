/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets: read from files, and compared so that the time tells nothing about them. */
#ifndef LK_BASE_SECRET_H
#define LK_BASE_SECRET_H

#include "base/slice.h"
#include "lockkeeper/terms.h"

/* Takes the same time for every wrong `said`; it depends on the secret's size alone. */
bool lk_secret_equal(const char *secret, struct lk_slice said);

/*
 * Reads the first line of a file, without its end, into `ret_secret`. LK_OK; LK_DENIED: the file
 * must not be read; LK_INVALID: there is none, or the line is empty or fills the room.
 */
lk_outcome lk_secret_read(const char *path, char *ret_secret, size_t capacity, lk_error *error);

#endif
