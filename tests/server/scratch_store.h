/* SPDX-License-Identifier: Apache-2.0 */
/* A store in a folder of its own, for worlds that begin with nothing in it. */
#ifndef LK_TESTS_SERVER_SCRATCH_STORE_H
#define LK_TESTS_SERVER_SCRATCH_STORE_H

#include "server/store/store.h"

struct scratch_store {
    char directory[200];
    struct lk_storage *storage;
};

/* Ends the program with a message if it cannot. */
void scratch_store_open(struct scratch_store *scratch);
void scratch_store_clear(const struct scratch_store *scratch);
void scratch_store_close(struct scratch_store *scratch);

#endif
