/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the running service on stderr. Writing never blocks: a line that finds no room (a
 * pipe without a reader, a stopped terminal) is dropped and counted. Each kind of message is
 * written at most once a second; the next one says how many were left out.
 *
 * stderr belongs to the process, so this state exists once. Used by the loop's thread only.
 */
#ifndef LK_SERVER_LOG_H
#define LK_SERVER_LOG_H

#include "base/slice.h"

/* Called before the loop starts and after it has ended. */
void lk_server_log_begin(void);
void lk_server_log_end(void); /* writes how many lines were left out, if there is room */

/* Writes one line after `lk serve: KIND: `. Kinds are few and static: lines are counted by kind. */
void lk_server_log(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
