/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ground for tests of the embedded store: a directory of their own, a clock that they move, stores
 * opened on it, and asks in short.
 *
 * Everything that goes wrong here ends the program with a sentence: it is not what is tested.
 */
#ifndef LK_TESTS_SQLITE_GROUND_H
#define LK_TESTS_SQLITE_GROUND_H

#include <limits.h>
#include <sqlite3.h>
#include <sys/types.h>

#include "../calls.h"
#include "../support.h"
#include "engine/reply.h"
#include "engine/sqlite/sqlite.h"

/* ---- a directory ----------------------------------------------------------------------------- */

struct ground {
    char directory[PATH_MAX / 2];
    char file[PATH_MAX / 2 + 32]; /* the store's, in that directory; not made yet */
};

struct ground ground_make(void);
void ground_remove(struct ground *ground); /* the directory and all the files in it */

/* How many files are in the directory. */
size_t ground_count_files(const struct ground *ground);

/* ---- a clock --------------------------------------------------------------------------------- */

struct ground_clock {
    struct lk_time_source source;
    int64_t now_us;
    int64_t wall_us;
};

void ground_clock_init(struct ground_clock *clock); /* its source points into it */
void ground_clock_advance(struct ground_clock *clock, int64_t duration_us);

/* ---- stores ---------------------------------------------------------------------------------- */

/* Opens sqlite:FILE?durability=relaxed; or as the machine's own users do, durably. */
struct lk_engine *ground_open(const char *file, const struct lk_sqlite_options *options);
struct lk_engine *ground_open_durable(const char *file);
void ground_close(struct lk_engine *engine);

/* The outcome of opening `rest`, closed again at once; its sentence into *ret_error. */
lk_outcome ground_try_open(const char *rest, const struct lk_sqlite_options *options,
                           lk_error *ret_error);

/* Runs SQL on the file by a connection of its own; the statement's first column, or 0. */
int64_t ground_sql(const char *file, const char *text);

/* ---- asks in short --------------------------------------------------------------------------- */

/* Result of the last call; cleared by the next. */
lk_outcome ground_ask(struct lk_engine *engine, const char *owner, const char *parts,
                      lk_style style, int64_t ttl_ms, lk_result *result);
lk_outcome ground_renew(struct lk_engine *engine, const char *owner, const char *parts,
                        uint64_t token, lk_result *result);
lk_outcome ground_release(struct lk_engine *engine, const char *owner, const char *parts,
                          uint64_t token, lk_result *result);

/* ---- work in short --------------------------------------------------------------------------- */

/* `needs` as in test_parts_parse(). */
lk_outcome ground_push(struct lk_engine *engine, const char *queue, const char *id,
                       struct lk_slice value, int64_t delay_ms, const char *needs);

/* *claim is freed before, and set when granted; ret_standing may be NULL. */
lk_outcome ground_take(struct lk_engine *engine, const char *queue, const char *owner,
                       int64_t ttl_ms, lk_claim_info **claim, struct standing *ret_standing);

lk_outcome ground_finish(struct lk_engine *engine, const lk_claim_info *claim,
                         enum lk_finish_kind kind, int64_t delay_ms);

/* A value, or NULL where there is none. Any other outcome ends the program. */
lk_value *ground_get(struct lk_engine *engine, const char *path);
lk_outcome ground_put(struct lk_engine *engine, const char *path, struct lk_slice bytes);

#endif
