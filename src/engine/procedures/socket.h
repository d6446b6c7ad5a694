/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for a server's answer on a client library's socket. */
#ifndef LK_ENGINE_PROCEDURES_SOCKET_H
#define LK_ENGINE_PROCEDURES_SOCKET_H

#include "engine/engine.h"

/*
 * Waits for `events` of poll(). LK_OK: something happened, or may have. LK_CANCELLED: the waker was
 * thrown. LK_UNAVAILABLE: the time budget is exhausted.
 */
lk_outcome lk_socket_wait(int descriptor, short events, const struct lk_patience *patience,
                          lk_error *error);

#endif
