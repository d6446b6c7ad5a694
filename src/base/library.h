/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client libraries of databases, loaded when a store of theirs is opened: they bring dozens of
 * others, which no other store should pay for when a program starts, nor need at all.
 *
 * An engine lists the functions that it calls. client_library.py makes a table of them, which the
 * engine calls through, and lk_client_library_load() fills it.
 */
#ifndef LK_ENGINE_CLIENT_LIBRARY_H
#define LK_ENGINE_CLIENT_LIBRARY_H

#include <stdatomic.h>
#include <stddef.h>

#include "lockkeeper/lockkeeper.h"

struct lk_client_library {
    const char *file;         /* what the dynamic linker finds it by: its soname */
    const char *package;      /* that has it, in Debian */
    const char *store;        /* what needs it: "a PostgreSQL store" */
    const char *const *names; /* of the functions */
    void *functions;          /* the table: a pointer to a function for each name */
    size_t count;
    atomic_bool is_loaded;
};

/*
 * Fills the table, once in a process; the library is never unloaded. LK_OK; LK_UNSUPPORTED: it is
 * not installed here, or too old; the next call tries again.
 */
lk_outcome lk_client_library_load(struct lk_client_library *library, lk_error *error);

#endif
