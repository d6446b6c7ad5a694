/* SPDX-License-Identifier: Apache-2.0 */
/* A store that a benchmark drives through the library, whatever its engine. */
#ifndef LK_BENCH_STORE_H
#define LK_BENCH_STORE_H

#include "lockkeeper/lockkeeper.h"
#include "service/peers.h"

/* Whether it is the word "service" and not a URL. */
bool bench_store_is_service(const char *given);

/*
 * The URL that was given, or, if it is the word "service", that of a service which is started for
 * the run, in memory, and ends with the program; at most two. `lk` is the program for that.
 */
const char *bench_store_url(const char *given, const char *lk);

/* Ends these services. */
void bench_store_end(void);

lk_store *bench_store_open(const char *url);

/* Ends the program unless the call had this outcome. */
void bench_must(lk_outcome got, lk_outcome expected, const char *what, const lk_error *error);

/* One ask for an exclusive path, kept for a day. */
lk_outcome bench_ask(lk_store *store, const char *path, const char *owner, lk_style style,
                     lk_error *error);
lk_outcome bench_release(lk_store *store, const char *path, const char *owner, lk_error *error);

#endif
