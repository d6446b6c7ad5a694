/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of what is slow: calls that held the loop, and commits, which hold back the answers that
 * depend on them. A wait for a grant is neither. Without a threshold (the default) the clock is not
 * read.
 */
#ifndef LK_SERVER_CONNECTIONS_SLOW_H
#define LK_SERVER_CONNECTIONS_SLOW_H

#include <stdint.h>

#include "command/draft.h"

struct lk_listener;
struct lk_server;

/* When a call begins; 0: there is no threshold. */
int64_t lk_slow_begin(const struct lk_server *server);

/*
 * The call has been decided and its answer encoded. The draft is that of the current call if it is
 * of this command; a line has its first path.
 */
void lk_slow_end(const struct lk_server *server, const struct lk_listener *listener,
                 const struct lk_command_spec *command, const struct lk_draft *draft,
                 int64_t begun_us);

/* A transaction was written. */
void lk_slow_commit(const struct lk_server *server, int64_t took_us);

#endif
