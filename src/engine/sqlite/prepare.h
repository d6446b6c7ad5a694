/* SPDX-License-Identifier: Apache-2.0 */
/* Between source.c, which runs the owner's SQL, and prepare.c, which makes statements of it. */
#ifndef LK_ENGINE_SQLITE_PREPARE_H
#define LK_ENGINE_SQLITE_PREPARE_H

#include "engine/sqlite/source.h"

/* Writes the complaint, if it is the owner's SQL that the code is about; returns the code. */
int lk_sqlite_source_blame(struct lk_sqlite *store, struct lk_sqlite_source *source,
                           const char *what, int code);

#endif
