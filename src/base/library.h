/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that few programs need, loaded by those that do. The client libraries of databases
 * bring dozens of others: what uses no such store should neither wait for them when it starts, nor
 * need them at all.
 *
 * A folder that calls such a library lists the functions. library.py makes a table of them, which
 * the calls go through, and lk_library_load() fills it.
 */
#ifndef LK_BASE_LIBRARY_H
#define LK_BASE_LIBRARY_H

#include <stdatomic.h>
#include <stddef.h>

#include "lockkeeper/terms.h"

struct lk_library {
    const char *file;         /* what the dynamic linker finds it by: its soname */
    const char *package;      /* that has it, in Debian */
    const char *user;         /* what needs it: "a store in PostgreSQL" */
    const char *const *names; /* of the functions, and of the variables if there are any */
    void *table;              /* a pointer to each */
    size_t count;
    atomic_bool is_loaded;
};

/*
 * Fills the table, once in a process; the library is never unloaded. LK_OK; LK_UNSUPPORTED: it is
 * not installed here, or too old; the next call tries again.
 */
lk_outcome lk_library_load(struct lk_library *library, lk_error *error);

#endif
