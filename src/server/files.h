/* SPDX-License-Identifier: Apache-2.0 */
/* How many files the service may have open: each connection takes one. */
#ifndef LK_SERVER_FILES_H
#define LK_SERVER_FILES_H

#include <stdint.h>

/* Raises the soft limit to the hard one, and returns it. */
uint64_t lk_files_raise(void);

/* Writes a warning: a connection could not be accepted because files or memory ran out. */
void lk_files_log_exhausted(void);

#endif
