/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fixture of tests of the embedded store: a fresh directory, a clock that the test sets, stores
 * opened there, and short forms of the commands.
 *
 * A failure here aborts the program with a message: it is not what is tested.
 */
#ifndef LK_TESTS_SQLITE_FIXTURE_H
#define LK_TESTS_SQLITE_FIXTURE_H

#include <limits.h>
#include <sqlite3.h>
#include <sys/types.h>

#include "../calls.h"
#include "../support.h"
#include "engine/reply/reply.h"
#include "engine/sqlite/sqlite.h"

/* ---- a directory ----------------------------------------------------------------------------- */

struct fixture {
    char directory[PATH_MAX / 2];
    char file[PATH_MAX / 2 + 32]; /* the store's, in that directory; not made yet */
};

struct fixture fixture_make(void);
void fixture_remove(struct fixture *fixture); /* the directory and all the files in it */

/* Set-up and tear-down of a cmocka test whose *state is a struct fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state); /* also of a directory that was made read-only */

/* How many files are in the directory. */
size_t fixture_count_files(const struct fixture *fixture);

/* This time by $LK_TEST_STRETCH, which is more than 1 after a failure on a busy machine. */
int64_t fixture_stretched(int64_t duration);

/* ---- a clock --------------------------------------------------------------------------------- */

struct fixture_clock {
    struct lk_time_source source;
    int64_t now_us;
    int64_t wall_us;
};

void fixture_clock_init(struct fixture_clock *clock); /* its source points into it */
void fixture_clock_advance(struct fixture_clock *clock, int64_t duration_us);

/* ---- stores ---------------------------------------------------------------------------------- */

/* Opens sqlite:FILE?durability=relaxed; or with the default durability. */
struct lk_engine *fixture_open(const char *file, const struct lk_sqlite_options *options);
struct lk_engine *fixture_open_durable(const char *file);
void fixture_close(struct lk_engine *engine);

/* Returns the outcome of opening `rest`, and its message in *ret_error. Closes it at once. */
lk_outcome fixture_try_open(const char *rest, const struct lk_sqlite_options *options,
                            lk_error *ret_error);

/* Runs SQL on a separate connection to the file. Returns the first column, or 0. */
int64_t fixture_sql(const char *file, const char *text);

/* ---- asks ------------------------------------------------------------------------------------ */

/* Result of the last call; cleared by the next. */
lk_outcome fixture_ask(struct lk_engine *engine, const char *owner, const char *parts,
                       lk_style style, int64_t ttl_ms, lk_result *result);
lk_outcome fixture_renew(struct lk_engine *engine, const char *owner, const char *parts,
                         uint64_t token, lk_result *result);
lk_outcome fixture_release(struct lk_engine *engine, const char *owner, const char *parts,
                           uint64_t token, lk_result *result);

/* ---- work ------------------------------------------------------------------------------------ */

/* `needs` as in test_parts_parse(). */
lk_outcome fixture_push(struct lk_engine *engine, const char *queue, const char *id,
                        struct lk_slice value, int64_t delay_ms, const char *needs);

/* *claim is freed before, and set when granted; ret_pending may be NULL. */
lk_outcome fixture_take(struct lk_engine *engine, const char *queue, const char *owner,
                        int64_t ttl_ms, lk_claim_info **claim, struct pending_call *ret_pending);

lk_outcome fixture_finish(struct lk_engine *engine, const lk_claim_info *claim,
                          enum lk_finish_kind kind, int64_t delay_ms);

/* A value, or NULL where there is none. Any other outcome ends the program. */
lk_value *fixture_get(struct lk_engine *engine, const char *path);
lk_outcome fixture_put(struct lk_engine *engine, const char *path, struct lk_slice bytes);

/* ---- test cases of cmocka: a store in a fixture ---------------------------------------------- */

struct testcase {
    struct fixture fixture;
    struct fixture_clock clock;
    struct lk_sqlite_options options; /* what the engine is opened with */
    struct lk_engine *engine;
    lk_result result; /* of the last call */
    lk_claim_info *claim;
};

/* On a clock that the test moves; or on the machine's. */
int testcase_setup(void **state);
int testcase_setup_on_machine_clock(void **state);
int testcase_teardown(void **state);

/* Closes the store and opens it again, with the options as they are now. */
void testcase_reopen(struct testcase *testcase);

/* The steps that SQLite's machine has made for all statements of the store since the last call. */
int64_t testcase_steps(const struct testcase *testcase);

/* The machine is down for `down_us`, and comes up with a clock that starts again. */
void testcase_restart(struct testcase *testcase, const char *boot_id, int64_t down_us);

#endif
