/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock by which a service keeps a store's file from all other writers.
 *
 * The service takes the lock on FILE-served, then writes its address into the row about the store,
 * and only then loads. Another process that is about to write reads the address in its own
 * transaction, and checks whether the lock is held. The lock ends with the service, however that
 * ends, and so does the service's claim to the file. Reading is always allowed.
 */
#ifndef LK_ENGINE_SQLITE_SERVICE_LOCK_H
#define LK_ENGINE_SQLITE_SERVICE_LOCK_H

#include <stdbool.h>

/*
 * Takes the lock for the file at `path`, whatever links lead there. 0 with *ret_descriptor, which
 * holds it until it is closed; EAGAIN: another service has it; else errno's value.
 */
int lk_sqlite_service_lock_take(const char *path, int *ret_descriptor);

/*
 * Whether a service holds the lock. `path` is absolute and has no symbolic links. The answer is yes
 * if it cannot be determined.
 */
bool lk_sqlite_service_lock_is_held(const char *path);

#endif
