/* SPDX-License-Identifier: Apache-2.0 */
/* The database under a differential test: what the test needs to do behind the engine's back. */
#ifndef LK_TESTS_PROCEDURES_SUBJECT_H
#define LK_TESTS_PROCEDURES_SUBJECT_H

#include "engine/engine.h"

enum { SUBJECT_NAME_MAX = 32 };

struct subject; /* one store */

/* A fresh store of this name (a-z, 0-9, _), opened by so many engines. */
struct subject *subject_new(const char *name, struct lk_engine **ret_engines, size_t count);

/* Its time from now on, for all of its engines. */
void subject_set_clock(struct subject *subject, int64_t now_us);

/* Lets take effect what is overdue. */
void subject_tick(struct subject *subject);

/* Closes the engines and takes the store away. */
void subject_free(struct subject *subject);

#endif
