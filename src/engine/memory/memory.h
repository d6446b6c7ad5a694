/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `mem:`: the model in this process's memory, under one mutex.
 *
 * `mem:` is a private store for each open; `mem:NAME` is shared by all opens of that name in this
 * process, and gone when the last of them is closed. This constructor is for tests, which bring a
 * clock or quotas of their own; all other callers use the table `lk_engine_memory`.
 */
#ifndef LK_ENGINE_MEMORY_MEMORY_H
#define LK_ENGINE_MEMORY_MEMORY_H

#include "base/clock.h"
#include "engine/engine.h"

enum {
    LK_MEMORY_NAME_BYTES_MAX = 255,
    LK_MEMORY_AUDIT_MAX = 1024, /* breaks kept on record; older ones are forgotten */
};

extern const struct lk_engine_ops lk_engine_memory;

struct lk_memory_options {
    const struct lk_time_source *time; /* NULL: the machine's */
    struct lk_quotas quotas;           /* R22 */
};

/*
 * Opens `mem:NAME`; an empty name is a private store. Options are those of the store's first open.
 * LK_OK with *ret_engine; LK_INVALID (the name), LK_INTERNAL.
 */
lk_outcome lk_memory_open(struct lk_slice name, const struct lk_memory_options *options,
                          struct lk_engine **ret_engine, struct lk_error *error);

#endif
