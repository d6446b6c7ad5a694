/* SPDX-License-Identifier: Apache-2.0 */
/* The fixture of tests of the embedded store, and what is set up before each test case. */
#include "fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../stretch.h"
#include "engine/sqlite/store.h"

#define CLOCK_FIRST_US INT64_C(1000000000)            /* a quarter of an hour after the boot */
#define CLOCK_FIRST_WALL_US INT64_C(1700000000000000) /* November 2023 */
#define PATIENCE_US INT64_C(60000000)

/* ---- a directory ----------------------------------------------------------------------------- */

struct fixture fixture_make(void) {
    const char *parent = getenv("TMPDIR");
    struct fixture fixture;

    (void)snprintf(fixture.directory, sizeof fixture.directory, "%s/lk-sqlite-XXXXXX",
                   parent != NULL && parent[0] != '\0' ? parent : "/tmp");
    if (mkdtemp(fixture.directory) == NULL) {
        test_die("no directory %s", fixture.directory);
    }
    (void)snprintf(fixture.file, sizeof fixture.file, "%s/locks.db", fixture.directory);
    return fixture;
}

/* Calls unlink() where `remove`; returns how many files there are. */
static size_t walk(const struct fixture *fixture, bool remove) {
    DIR *directory = opendir(fixture->directory);
    size_t count = 0;

    if (directory == NULL) {
        test_die("cannot read %s", fixture->directory);
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            count++;
            if (remove) {
                (void)unlinkat(dirfd(directory), entry->d_name, 0);
            }
        }
    }
    (void)closedir(directory);
    return count;
}

size_t fixture_count_files(const struct fixture *fixture) {
    return walk(fixture, false);
}

void fixture_remove(struct fixture *fixture) {
    (void)walk(fixture, true);
    if (rmdir(fixture->directory) != 0) {
        test_die("cannot remove %s", fixture->directory);
    }
}

int fixture_setup(void **state) {
    struct fixture *fixture = malloc(sizeof *fixture);

    if (fixture == NULL) {
        return 1;
    }
    *fixture = fixture_make();
    *state = fixture;
    return 0;
}

int fixture_teardown(void **state) {
    struct fixture *fixture = *state;

    (void)chmod(fixture->directory, 0700);
    fixture_remove(fixture);
    free(fixture);
    return 0;
}

int64_t fixture_stretched(int64_t duration) {
    return duration * test_stretch();
}

/* ---- a clock --------------------------------------------------------------------------------- */

static int64_t clock_now_us(void *context) {
    return ((struct fixture_clock *)context)->now_us;
}

static int64_t clock_wall_us(void *context) {
    return ((struct fixture_clock *)context)->wall_us;
}

void fixture_clock_init(struct fixture_clock *clock) {
    *clock = (struct fixture_clock){
        .source = {.now_us = clock_now_us, .wall_us = clock_wall_us, .context = clock},
        .now_us = CLOCK_FIRST_US,
        .wall_us = CLOCK_FIRST_WALL_US,
    };
}

void fixture_clock_advance(struct fixture_clock *clock, int64_t duration_us) {
    clock->now_us += duration_us;
    clock->wall_us += duration_us;
}

/* ---- stores ---------------------------------------------------------------------------------- */

static struct lk_engine *open_or_fail(const char *rest, const struct lk_sqlite_options *options) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct lk_engine *engine = NULL;
    lk_error error;

    if (lk_sqlite_open(lk_slice_of(rest), options, &patience, &engine, &error) != LK_OK) {
        test_die("%s: %s", rest, error.text);
    }
    return engine;
}

struct lk_engine *fixture_open(const char *file, const struct lk_sqlite_options *options) {
    char rest[PATH_MAX];

    (void)snprintf(rest, sizeof rest, "%s?durability=relaxed", file);
    return open_or_fail(rest, options);
}

struct lk_engine *fixture_open_durable(const char *file) {
    return open_or_fail(file, &lk_sqlite_options_default);
}

void fixture_close(struct lk_engine *engine) {
    engine->ops->close(engine);
}

lk_outcome fixture_try_open(const char *rest, const struct lk_sqlite_options *options,
                            lk_error *ret_error) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct lk_engine *engine = NULL;
    lk_outcome outcome;

    *ret_error = (lk_error){.outcome = LK_OK};
    outcome = lk_sqlite_open(lk_slice_of(rest), options, &patience, &engine, ret_error);
    if (outcome == LK_OK) {
        fixture_close(engine);
    } else if (ret_error->outcome != outcome || ret_error->text[0] == '\0') {
        test_die("%s: refused without a sentence", rest);
    }
    return outcome;
}

int64_t fixture_sql(const char *file, const char *text) {
    sqlite3 *handle = NULL;
    sqlite3_stmt *statement = NULL;
    int64_t value = 0;
    int code = sqlite3_open(file, &handle);

    (void)sqlite3_busy_timeout(handle, (int)(PATIENCE_US / 1000));
    if (code == SQLITE_OK) {
        code = sqlite3_prepare_v2(handle, text, -1, &statement, NULL);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    if (code == SQLITE_ROW) {
        value = sqlite3_column_int64(statement, 0);
    } else if (code != SQLITE_DONE) {
        test_die("%s: %s", text, sqlite3_errmsg(handle));
    }
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(handle);
    return value;
}

/* ---- asks in short --------------------------------------------------------------------------- */

lk_outcome fixture_ask(struct lk_engine *engine, const char *owner, const char *parts_text,
                       lk_style style, int64_t ttl_ms, lk_result *result) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct test_parts parts;
    struct lk_ask ask = {
        .owner = lk_slice_of(owner), .style = style, .ttl_ms = ttl_ms, .blockers_max = 16};

    test_parts_parse(&parts, parts_text);
    ask.parts = parts.parts;
    ask.part_count = parts.count;
    lk_result_clear(result);
    return call_ask(engine, &ask, &patience, result);
}

lk_outcome fixture_renew(struct lk_engine *engine, const char *owner, const char *parts_text,
                         uint64_t token, lk_result *result) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct test_parts parts;
    struct lk_renew renew = {.target = {.owner = lk_slice_of(owner), .token = token}};

    test_parts_parse(&parts, parts_text);
    renew.target.parts = parts.parts;
    renew.target.part_count = parts.count;
    lk_result_clear(result);
    return call_renew(engine, &renew, &patience, result);
}

lk_outcome fixture_release(struct lk_engine *engine, const char *owner, const char *parts_text,
                           uint64_t token, lk_result *result) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct test_parts parts;
    struct lk_release release = {.target = {.owner = lk_slice_of(owner), .token = token}};

    test_parts_parse(&parts, parts_text);
    release.target.parts = parts.parts;
    release.target.part_count = parts.count;
    lk_result_clear(result);
    return call_release(engine, &release, &patience, result);
}

/* ---- work in short --------------------------------------------------------------------------- */

static struct lk_path path_of(const char *text) {
    struct lk_path path;

    if (lk_path_parse(lk_slice_of(text), &path, NULL) != LK_OK) {
        test_die("%s is no path", text);
    }
    return path;
}

lk_outcome fixture_push(struct lk_engine *engine, const char *queue, const char *id,
                        struct lk_slice value, int64_t delay_ms, const char *needs) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct test_parts parts;
    struct lk_push push = {.queue = path_of(queue),
                           .id = lk_slice_of(id),
                           .value = value,
                           .delay_ms = delay_ms,
                           .needs = parts.parts};
    bool added;
    lk_error error;

    test_parts_parse(&parts, needs);
    push.need_count = parts.count;
    return call_push(engine, &push, &patience, &added, &error);
}

lk_outcome fixture_take(struct lk_engine *engine, const char *queue, const char *owner,
                        int64_t ttl_ms, lk_claim_info **claim, struct pending_call *ret_pending) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct lk_take take = {.queue = path_of(queue),
                           .owner = lk_slice_of(owner),
                           .ttl_ms = ttl_ms,
                           .ask_number = lk_random_draw()};
    lk_error error;

    lk_claim_free(*claim);
    return call_take(engine, &take, &patience, claim, ret_pending, &error);
}

lk_outcome fixture_finish(struct lk_engine *engine, const lk_claim_info *claim,
                          enum lk_finish_kind kind, int64_t delay_ms) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct lk_finish finish = {.queue = path_of(claim->queue),
                               .id = lk_slice_of(claim->id),
                               .owner = lk_slice_of(claim->owner),
                               .token = claim->token,
                               .kind = kind,
                               .delay_ms = delay_ms};
    lk_error error;

    return call_finish(engine, &finish, &patience, &error);
}

lk_value *fixture_get(struct lk_engine *engine, const char *path_text) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct lk_path path = path_of(path_text);
    lk_value *value = NULL;
    lk_error error;
    lk_outcome outcome = engine->ops->value_get(engine, &path, &patience, &value, &error);

    if (outcome != LK_OK && outcome != LK_NONE) {
        test_die("get %s: %s", path_text, error.text);
    }
    return value;
}

lk_outcome fixture_put(struct lk_engine *engine, const char *path, struct lk_slice bytes) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    const struct lk_put put = {.path = path_of(path), .bytes = bytes};
    lk_error error;

    return call_put(engine, &put, &patience, &error);
}

/* ---- test cases of cmocka -------------------------------------------------------------------- */

static struct testcase *make_scene(void) {
    struct testcase *testcase = calloc(1, sizeof *testcase);

    if (testcase == NULL) {
        test_die("memory is exhausted");
    }
    testcase->fixture = fixture_make();
    fixture_clock_init(&testcase->clock);
    testcase->options = lk_sqlite_options_default;
    return testcase;
}

int testcase_setup(void **state) {
    struct testcase *testcase = make_scene();

    testcase->options.time = &testcase->clock.source;
    testcase->options.boot_id = "first";
    testcase->engine = fixture_open(testcase->fixture.file, &testcase->options);
    *state = testcase;
    return 0;
}

int testcase_setup_on_machine_clock(void **state) {
    struct testcase *testcase = make_scene();

    testcase->engine = fixture_open(testcase->fixture.file, &testcase->options);
    *state = testcase;
    return 0;
}

int testcase_teardown(void **state) {
    struct testcase *testcase = *state;

    lk_claim_free(testcase->claim);
    lk_result_clear(&testcase->result);
    fixture_close(testcase->engine);
    fixture_remove(&testcase->fixture);
    free(testcase);
    return 0;
}

void testcase_reopen(struct testcase *testcase) {
    fixture_close(testcase->engine);
    testcase->engine = fixture_open(testcase->fixture.file, &testcase->options);
}

int64_t testcase_steps(const struct testcase *testcase) {
    const struct lk_sqlite *store = lk_sqlite_of(testcase->engine);
    int64_t count = 0;

    for (sqlite3_stmt *statement = sqlite3_next_stmt(store->sql.handle, NULL); statement != NULL;
         statement = sqlite3_next_stmt(store->sql.handle, statement)) {
        count += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
    }
    return count;
}

void testcase_restart(struct testcase *testcase, const char *boot_id, int64_t down_us) {
    fixture_close(testcase->engine);
    testcase->clock.now_us = 5000000;
    testcase->clock.wall_us += down_us;
    testcase->options.boot_id = boot_id;
    testcase->engine = fixture_open(testcase->fixture.file, &testcase->options);
}
