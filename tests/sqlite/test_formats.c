/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats (docs/operations.md): a store of another one is refused and not touched. There is one
 * format so far, so a program of the next one is made up: it has one step, from the present one.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "engine/event.h"
#include "engine/sqlite/files.h"
#include "engine/sqlite/upgrade.h"
#include "fixture.h"

enum { RACERS = 12, CLIENTS = 3, GRANTS = 20, ROUNDS = 5 };

/* Of a client of the race: it holds a lock for so long, and rests for up to as long. */
enum { HOLD_US = 1000, REST_US = 12000 };

#define SECOND_US INT64_C(1000000)

/* ---- programs -------------------------------------------------------------------------------- */

static const char *const steps[] = {NULL,
                                    "ALTER TABLE lk_audit ADD COLUMN made_up INTEGER DEFAULT 7;"
                                    " CREATE TABLE lk_made_up (path TEXT PRIMARY KEY)"};
static const struct lk_sql_formats next = {.format = 2, .writable_from = 2, .steps = steps};

/* It has forgotten the step from format 1. */
static const char *const late_steps[] = {NULL, NULL, "CREATE TABLE lk_made_up_later (path TEXT)"};
static const struct lk_sql_formats late = {.format = 3, .writable_from = 3, .steps = late_steps};

struct two_formats {
    struct fixture fixture;
    struct fixture_clock clock;
    struct lk_sqlite_options present;
    struct lk_sqlite_options later; /* of the program of format 2 */
};

static int set_up(void **state) {
    struct two_formats *testcase = calloc(1, sizeof *testcase);

    if (testcase == NULL) {
        return 1;
    }
    testcase->fixture = fixture_make();
    fixture_clock_init(&testcase->clock);
    testcase->present = lk_sqlite_options_default;
    testcase->present.time = &testcase->clock.source;
    testcase->present.boot_id = "first";
    testcase->later = testcase->present;
    testcase->later.formats = &next;
    *state = testcase;
    return 0;
}

static int teardown(void **state) {
    struct two_formats *testcase = *state;

    fixture_remove(&testcase->fixture);
    free(testcase);
    return 0;
}

static struct lk_engine *open_present(const struct two_formats *testcase) {
    return fixture_open(testcase->fixture.file, &testcase->present);
}

static struct lk_engine *open_later(const struct two_formats *testcase) {
    return fixture_open(testcase->fixture.file, &testcase->later);
}

static int64_t query(const struct two_formats *testcase, const char *text) {
    return fixture_sql(testcase->fixture.file, text);
}

static int64_t format_of(const struct two_formats *testcase) {
    return query(testcase, "SELECT format FROM lk_meta");
}

/* A store with a value, an item, a bound and a record of the audit, and nothing in use. */
static void leave_a_store(struct two_formats *testcase) {
    struct lk_engine *engine = open_present(testcase);
    struct lk_patience patience = test_patience(10 * SECOND_US);
    const lk_limits limits = {sizeof limits,  50, LK_LIMIT_AS_IS, LK_LIMIT_AS_IS,
                              LK_LIMIT_AS_IS, 10};
    lk_result result = {.outcome = LK_OK};
    lk_error error;

    assert_int_equal(engine->ops->limits->set(engine, &limits, &patience, &error), LK_OK);
    assert_int_equal(fixture_put(engine, "x", lk_slice_of("a value")), LK_OK);
    assert_int_equal(fixture_push(engine, "q", "1", lk_slice_of("work"), 0, ""), LK_OK);
    assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 0, &result), LK_GRANTED);
    assert_int_equal(fixture_release(engine, "A", "x", result.token, &result), LK_OK);
    lk_result_clear(&result);
    fixture_close(engine);
    (void)query(testcase, "INSERT INTO lk_audit (at_unix_us, broken_by, reason, path, owner, note,"
                          " ticket, token, held) VALUES (1, 'root', 'for a test', 'x', 'D', '',"
                          " 3, 4, 1)");
}

/* ---- what is in the file --------------------------------------------------------------------- */

struct image {
    char *bytes;
    size_t size;
};

/* All that is in the file, of which no connection is open. */
static struct image read_file(const struct two_formats *testcase) {
    FILE *file = fopen(testcase->fixture.file, "re");
    struct image image = {.size = 0};
    long size = 0;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) {
        test_die("%s cannot be read", testcase->fixture.file);
    }
    rewind(file);
    image.size = (size_t)size;
    image.bytes = malloc(image.size);
    if (image.bytes == NULL || fread(image.bytes, 1, image.size, file) != image.size) {
        test_die("%s cannot be read", testcase->fixture.file);
    }
    (void)fclose(file);
    return image;
}

static void expect_same_file(const struct two_formats *testcase, struct image *before) {
    struct image after = read_file(testcase);

    assert_int_equal(after.size, before->size);
    assert_memory_equal(after.bytes, before->bytes, after.size);
    free(after.bytes);
    free(before->bytes);
}

/* ---- other formats --------------------------------------------------------------------------- */

static void expect_refused(const struct two_formats *testcase,
                           const struct lk_sqlite_options *options, const char *what) {
    struct image before;
    lk_error error;

    (void)query(testcase, "PRAGMA journal_mode = DELETE"); /* all is in the file itself */
    before = read_file(testcase);
    assert_int_equal(fixture_try_open(testcase->fixture.file, options, &error), LK_UNSUPPORTED);
    assert_int_equal(lk_outcome_exit_code(error.outcome), 79);
    assert_non_null(strstr(error.text, what));
    assert_non_null(strstr(error.text, "use the program that made them"));
    expect_same_file(testcase, &before);
}

static void other_formats_are_refused_and_not_touched(void **state) {
    static const struct {
        const char *change;
        const char *what;
    } others[] = {
        {"UPDATE lk_meta SET format = 2, writable_from = 2", "have format 2, and this"},
        {"UPDATE lk_meta SET format = 8, writable_from = 7", "have format 8, and this"},
        {"UPDATE lk_meta SET format = 0", "tell no format"},
        {"UPDATE lk_meta SET format = -1", "tell no format"},
        {"UPDATE lk_meta SET format = 'one'", "tell no format"},
        {"DELETE FROM lk_meta", "tell no format"},
        {"ALTER TABLE lk_meta RENAME COLUMN format TO form", "tell no format"},
        {"DROP TABLE lk_meta", "tell no format"},
    };
    struct two_formats *testcase = *state;

    leave_a_store(testcase);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        (void)query(testcase, others[i].change);
        expect_refused(testcase, &testcase->present, others[i].what);
    }
}

static void an_older_format_without_a_step_is_refused(void **state) {
    struct two_formats *testcase = *state;
    struct lk_sqlite_options options = testcase->present;

    options.formats = &late;
    leave_a_store(testcase);
    expect_refused(testcase, &options, "have format 1, and this program knows format 3");
}

static void a_newer_format_that_allows_this_program_is_used(void **state) {
    struct two_formats *testcase = *state;
    struct lk_engine *engine;
    lk_result result = {.outcome = LK_OK};

    leave_a_store(testcase);
    (void)query(testcase, "UPDATE lk_meta SET format = 9, writable_from = 1");
    engine = open_present(testcase);
    assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 0, &result), LK_GRANTED);
    assert_int_equal(format_of(testcase), 9);
    lk_result_clear(&result);
    fixture_close(engine);
}

/* ---- calls that read ------------------------------------------------------------------------- */

typedef lk_outcome call(struct lk_engine *engine, struct lk_patience *patience, lk_error *error);

static lk_outcome list(struct lk_engine *engine, struct lk_patience *patience, lk_error *error) {
    lk_listing *listing = NULL;
    lk_outcome outcome = engine->ops->list(engine, NULL, patience, &listing, error);

    lk_listing_free(listing);
    return outcome;
}

static lk_outcome audit(struct lk_engine *engine, struct lk_patience *patience, lk_error *error) {
    lk_audit *found = NULL;
    lk_outcome outcome = engine->ops->audit(engine, NULL, patience, &found, error);

    lk_audit_free(found);
    return outcome;
}

static lk_outcome queues(struct lk_engine *engine, struct lk_patience *patience, lk_error *error) {
    const struct lk_queue_query asked = {.max = 10};
    lk_queue_list *found = NULL;
    bool has_more = false;
    lk_outcome outcome =
        engine->ops->batches->queues(engine, &asked, patience, &found, &has_more, error);

    lk_queue_list_free(found);
    return outcome;
}

static lk_outcome examine(struct lk_engine *engine, struct lk_patience *patience, lk_error *error) {
    lk_report *report = NULL;
    lk_outcome outcome = engine->ops->examine(engine, patience, &report, error);

    lk_report_free(report);
    return outcome;
}

static lk_outcome follow(struct lk_engine *engine, struct lk_patience *patience, lk_error *error) {
    const struct lk_event_query asked = {.after = 1, .max = 10};
    struct lk_event_page *page = NULL;
    lk_outcome outcome = engine->ops->events->read(engine, &asked, patience, &page, error);

    lk_event_page_free(page);
    return outcome;
}

static lk_outcome limits_get(struct lk_engine *engine, struct lk_patience *patience,
                             lk_error *error) {
    lk_limits limits = {.size = sizeof limits};

    return engine->ops->limits->get(engine, patience, &limits, error);
}

static call *const reads[] = {list, audit, queues, examine, follow, limits_get};
enum { READS = sizeof reads / sizeof reads[0] };

static void a_read_upgrades_nothing(void **state) {
    struct two_formats *testcase = *state;
    struct image before;
    struct lk_engine *engine;
    lk_error error;

    leave_a_store(testcase);
    fixture_close(open_present(testcase));
    before = read_file(testcase);
    engine = open_later(testcase);
    for (size_t i = 0; i < READS; i++) {
        struct lk_patience patience = test_patience(10 * SECOND_US);
        assert_int_equal(reads[i](engine, &patience, &error), LK_UNSUPPORTED);
        assert_non_null(strstr(error.text, "has format 1, and this program reads format 2"));
    }
    fixture_close(engine);
    expect_same_file(testcase, &before);
}

/* ---- calls that write ------------------------------------------------------------------------ */

static lk_outcome try_to_lock(struct lk_engine *engine, struct lk_patience *patience,
                              lk_error *error) {
    lk_result result = {.outcome = LK_OK};
    lk_outcome outcome = fixture_ask(engine, "L", "other", LK_TRY, 0, &result);

    (void)patience;
    (void)lk_error_set(error, outcome, "%s", result.error != NULL ? result.error : "");
    lk_result_clear(&result);
    return outcome == LK_GRANTED ? LK_OK : outcome;
}

static lk_outcome put(struct lk_engine *engine, struct lk_patience *patience, lk_error *error) {
    (void)patience;
    return lk_error_set(error, fixture_put(engine, "y", lk_slice_of("v")), "put");
}

static lk_outcome push(struct lk_engine *engine, struct lk_patience *patience, lk_error *error) {
    (void)patience;
    return lk_error_set(error, fixture_push(engine, "q", "2", lk_slice_of("v"), 0, ""), "push");
}

static lk_outcome take(struct lk_engine *engine, struct lk_patience *patience, lk_error *error) {
    lk_claim_info *claim = NULL;
    lk_outcome outcome = fixture_take(engine, "q", "L", 0, &claim, NULL);

    (void)patience;
    lk_claim_free(claim);
    return lk_error_set(error, outcome == LK_GRANTED ? LK_OK : outcome, "take");
}

static lk_outcome limits_set(struct lk_engine *engine, struct lk_patience *patience,
                             lk_error *error) {
    const lk_limits limits = {sizeof limits,  LK_LIMIT_AS_IS, LK_LIMIT_AS_IS,
                              LK_LIMIT_AS_IS, LK_LIMIT_AS_IS, LK_LIMIT_AS_IS};

    return engine->ops->limits->set(engine, &limits, patience, error);
}

static lk_outcome begin_to_serve(struct lk_engine *engine, struct lk_patience *patience,
                                 lk_error *error) {
    return lk_sqlite_bring_up_to_date(engine, patience, error);
}

static call *const writes[] = {try_to_lock, put, push, take, limits_set, begin_to_serve};
enum { WRITES = sizeof writes / sizeof writes[0] };

static void expect_nothing_lost(const struct two_formats *testcase, struct lk_engine *engine) {
    lk_value *value = fixture_get(engine, "x");

    assert_int_equal(format_of(testcase), 2);
    assert_int_equal(query(testcase, "SELECT writable_from FROM lk_meta"), 2);
    assert_int_equal(query(testcase, "SELECT made_up FROM lk_audit WHERE owner = 'D'"), 7);
    assert_int_equal(query(testcase, "SELECT count(*) FROM lk_item WHERE id = '1'"), 1);
    assert_int_equal(query(testcase, "SELECT live_max FROM lk_meta"), 50);
    assert_int_equal(query(testcase, "SELECT requests FROM lk_request_count"),
                     query(testcase, "SELECT count(*) FROM lk_request"));
    assert_non_null(value);
    assert_string_equal(value->bytes, "a value");
    lk_value_free(value);
}

static void the_first_call_that_writes_upgrades(void **state) {
    for (size_t i = 0; i < WRITES; i++) {
        struct two_formats *testcase = *state;
        struct lk_patience patience = test_patience(10 * SECOND_US);
        struct lk_engine *engine;
        struct lk_engine *other;
        lk_error error;

        leave_a_store(testcase);
        engine = open_later(testcase);
        other = open_later(testcase);
        assert_int_equal(format_of(testcase), 1);
        assert_int_equal(writes[i](engine, &patience, &error), LK_OK);
        expect_nothing_lost(testcase, engine);
        for (size_t k = 0; k < READS; k++) {
            assert_int_equal(reads[k](engine, &patience, &error), LK_OK);
            assert_int_equal(reads[k](other, &patience, &error), LK_OK);
        }
        fixture_close(engine);
        fixture_close(other);
        assert_int_equal(teardown(state), 0);
        assert_int_equal(set_up(state), 0);
    }
}

/* ---- what is in use -------------------------------------------------------------------------- */

static void expect_in_use(const struct two_formats *testcase, const char *what) {
    struct lk_engine *engine = open_later(testcase);
    int64_t rows = query(testcase, "SELECT count(*) FROM lk_request");
    lk_error error;

    for (size_t i = 0; i < WRITES; i++) {
        struct lk_patience patience = test_patience(10 * SECOND_US);
        assert_int_equal(writes[i](engine, &patience, &error), LK_UNSUPPORTED);
        if (writes[i] == try_to_lock) {
            assert_non_null(strstr(error.text, what));
        }
    }
    fixture_close(engine);
    assert_int_equal(format_of(testcase), 1);
    assert_int_equal(query(testcase, "SELECT count(*) FROM lk_request"), rows);
    assert_int_equal(query(testcase, "SELECT count(*) FROM sqlite_schema"
                                     " WHERE name = 'lk_made_up'"),
                     0);
}

static void expect_upgraded(const struct two_formats *testcase) {
    struct lk_engine *engine = open_later(testcase);
    struct lk_patience patience = test_patience(10 * SECOND_US);
    lk_error error;

    assert_int_equal(try_to_lock(engine, &patience, &error), LK_OK);
    assert_int_equal(format_of(testcase), 2);
    fixture_close(engine);
}

static void nothing_is_upgraded_while_something_is_in_use(void **state) {
    struct two_formats *testcase = *state;
    struct lk_engine *engine;
    lk_claim_info *claim = NULL;
    lk_result held = {.outcome = LK_OK};
    lk_result result = {.outcome = LK_OK};

    leave_a_store(testcase);
    engine = open_present(testcase);
    assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 0, &held), LK_GRANTED);
    expect_in_use(testcase, "1 lease is held by programs of the earlier version");
    assert_int_equal(fixture_ask(engine, "B", "x", LK_QUEUE, 0, &result), LK_WAITING);
    assert_int_equal(fixture_ask(engine, "C", "z", LK_TRY, 0, &result), LK_GRANTED);
    assert_int_equal(fixture_take(engine, "q", "W", 0, &claim, NULL), LK_GRANTED);
    expect_in_use(testcase, "2 leases are held, 1 item is claimed, 1 request waits by programs");
    assert_int_equal(fixture_release(engine, "C", "z", 0, &result), LK_OK);
    assert_int_equal(fixture_release(engine, "B", "x", 0, &result), LK_OK);
    assert_int_equal(fixture_release(engine, "A", "x", held.token, &result), LK_OK);
    expect_in_use(testcase, "1 item is claimed by");
    assert_int_equal(fixture_finish(engine, claim, LK_FINISH_RETRY, 0), LK_OK);
    lk_claim_free(claim);
    expect_upgraded(testcase);
    lk_result_clear(&held);
    lk_result_clear(&result);
    fixture_close(engine);
}

static void what_is_overdue_is_not_in_use(void **state) {
    struct two_formats *testcase = *state;
    struct lk_engine *engine = open_present(testcase);
    lk_result result = {.outcome = LK_OK};

    assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 5000, &result), LK_GRANTED);
    fixture_clock_advance(&testcase->clock, 4 * SECOND_US);
    expect_in_use(testcase, "1 lease is held");
    fixture_clock_advance(&testcase->clock, 2 * SECOND_US);
    expect_upgraded(testcase);
    lk_result_clear(&result);
    fixture_close(engine);
}

static void another_boot_counts_by_the_wall_clock(void **state) {
    struct two_formats *testcase = *state;
    struct lk_engine *engine = open_present(testcase);
    lk_result result = {.outcome = LK_OK};

    assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 5000, &result), LK_GRANTED);
    lk_result_clear(&result);
    fixture_close(engine);
    testcase->later.boot_id = "second";
    testcase->clock.now_us = SECOND_US;
    expect_in_use(testcase, "1 lease is held");
    testcase->clock.wall_us += 6 * SECOND_US;
    expect_upgraded(testcase);
}

/* ---- a program whose store is upgraded ------------------------------------------------------- */

static void a_program_that_has_it_open_is_refused(void **state) {
    struct two_formats *testcase = *state;
    struct lk_engine *engine;
    lk_error error;

    leave_a_store(testcase);
    engine = open_present(testcase);
    expect_upgraded(testcase);
    for (size_t i = 0; i < READS + WRITES; i++) {
        call *one = i < READS ? reads[i] : writes[i - READS];
        struct lk_patience patience = test_patience(10 * SECOND_US);
        int64_t rows = query(testcase, "SELECT count(*) FROM lk_request");
        assert_int_equal(one(engine, &patience, &error), LK_UNSUPPORTED);
        assert_int_equal(query(testcase, "SELECT count(*) FROM lk_request"), rows);
        if (one == try_to_lock || i < READS) {
            assert_non_null(strstr(error.text, "have format 2, and this program knows format 1"));
        }
    }
    fixture_close(engine);
}

/* The row about the store may look otherwise, but for what each format has. */
static void a_row_that_cannot_be_read_is_refused(void **state) {
    struct two_formats *testcase = *state;
    struct lk_engine *engine;
    struct lk_patience patience = test_patience(10 * SECOND_US);
    lk_error error;

    leave_a_store(testcase);
    engine = open_present(testcase);
    (void)query(testcase, "ALTER TABLE lk_meta RENAME COLUMN served TO kept_by");
    (void)query(testcase, "UPDATE lk_meta SET format = 2, writable_from = 2");
    assert_int_equal(try_to_lock(engine, &patience, &error), LK_UNSUPPORTED);
    assert_non_null(strstr(error.text, "have format 2"));
    fixture_close(engine);
}

/* How many children have begun to use the store; shared with them. */
static atomic_int *begun;

/* A child that is late would find the next format when it opens the store. */
static void await_begun(int children) {
    while (atomic_load(begun) < children) {
        (void)usleep(1000);
    }
    atomic_store(begun, 0);
}

/* Waits in a process of its own until the store has told that; exits with the outcome. */
static pid_t start_waiter(const struct two_formats *testcase, bool is_worker) {
    pid_t child = test_fork();

    if (child == 0) {
        struct lk_engine *engine = fixture_open(testcase->fixture.file, &lk_sqlite_options_default);
        struct pending_call pending;
        struct test_parts parts;
        struct lk_ask ask = {.owner = lk_slice_of("B"), .style = LK_WAIT};
        bool has_begun = false;
        lk_outcome outcome;

        test_parts_parse(&parts, "x");
        ask.parts = parts.parts;
        ask.part_count = parts.count;
        do {
            struct lk_patience patience = test_patience(10 * SECOND_US);
            lk_result result = {.outcome = LK_OK};
            lk_claim_info *claim = NULL;
            outcome = is_worker ? fixture_take(engine, "none", "W", 0, &claim, &pending)
                                : call_ask_pending(engine, &ask, &patience, &result, &pending);
            if (!has_begun) {
                atomic_fetch_add(begun, 1);
                has_begun = true;
            }
            if (outcome == LK_WAITING || outcome == LK_BUSY) { /* BUSY: the queue is empty */
                (void)call_await(engine, &pending, LK_NEVER, NULL);
            }
            lk_result_clear(&result);
        } while (outcome == LK_WAITING || outcome == LK_BUSY);
        _exit(lk_outcome_exit_code(outcome));
    }
    return child;
}

/*
 * The format is raised behind the backs of those that wait: nothing that an upgrade does, which
 * waits for the end of them.
 */
static void those_that_wait_end(void **state) {
    struct two_formats *testcase = *state;
    struct lk_engine *engine = fixture_open(testcase->fixture.file, &lk_sqlite_options_default);
    lk_result result = {.outcome = LK_OK};
    pid_t waiter;
    pid_t worker;

    assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 60000, &result), LK_GRANTED);
    waiter = start_waiter(testcase, false);
    worker = start_waiter(testcase, true);
    await_begun(2);
    (void)query(testcase, "UPDATE lk_meta SET format = 2, writable_from = 2");
    assert_int_equal(test_exit_status(waiter), 79);
    assert_int_equal(test_exit_status(worker), 79);
    assert_int_equal(query(testcase, "SELECT count(*) FROM lk_request WHERE state = 'held'"), 1);
    lk_result_clear(&result);
    fixture_close(engine);
}

/* Locks and unlocks until it is refused. Exits with 0 if it gave back all that it was granted. */
static pid_t start_client(const struct two_formats *testcase, int number) {
    pid_t child = test_fork();

    if (child == 0) {
        struct lk_engine *engine = fixture_open(testcase->fixture.file, &lk_sqlite_options_default);
        lk_result result = {.outcome = LK_OK};
        struct lk_random random = {lk_random_draw()};
        lk_outcome outcome;
        char owner[16];

        (void)snprintf(owner, sizeof owner, "o%d", number);
        atomic_fetch_add(begun, 1);
        do {
            outcome = fixture_ask(engine, owner, owner, LK_TRY, 0, &result);
            if (outcome == LK_GRANTED) {
                (void)usleep(HOLD_US);
                if (fixture_release(engine, owner, owner, result.token, &result) != LK_OK) {
                    _exit(1);
                }
            }
            (void)usleep((useconds_t)lk_random_between(&random, 0, REST_US));
        } while (outcome == LK_GRANTED || outcome == LK_BUSY);
        _exit(outcome == LK_UNSUPPORTED ? 0 : 2);
    }
    return child;
}

static void race_with_an_upgrade(struct two_formats *testcase) {
    pid_t clients[CLIENTS];
    struct lk_engine *engine;
    lk_error error;
    lk_outcome outcome;

    testcase->present = lk_sqlite_options_default;
    testcase->later = lk_sqlite_options_default;
    testcase->later.formats = &next;
    leave_a_store(testcase);
    engine = open_later(testcase);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = start_client(testcase, i);
    }
    await_begun(CLIENTS);
    while (query(testcase, "SELECT last_event FROM lk_meta") < GRANTS) {
        (void)usleep(1000);
    }
    do {
        struct lk_patience patience = test_patience(10 * SECOND_US);
        (void)usleep(HOLD_US); /* clients write meanwhile */
        outcome = put(engine, &patience, &error);
        assert_true(outcome == LK_OK || outcome == LK_UNSUPPORTED || outcome == LK_UNAVAILABLE);
    } while (outcome != LK_OK);
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(test_exit_status(clients[i]), 0);
    }
    assert_int_equal(format_of(testcase), 2);
    assert_int_equal(query(testcase, "SELECT count(*) FROM lk_request"), 0);
    fixture_close(engine);
}

/* The upgrade finds a moment at which nothing is held. */
static void no_program_takes_what_it_cannot_give_back(void **state) {
    for (int i = 0; i < ROUNDS; i++) {
        race_with_an_upgrade(*state);
        assert_int_equal(teardown(state), 0);
        assert_int_equal(set_up(state), 0);
    }
}

/* ---- an upgrade that is hindered ------------------------------------------------------------- */

static lk_outcome try_to_upgrade(const struct two_formats *testcase, lk_error *error) {
    struct lk_engine *engine = open_later(testcase);
    struct lk_patience patience = test_patience(10 * SECOND_US);
    lk_outcome outcome = lk_sqlite_bring_up_to_date(engine, &patience, error);

    fixture_close(engine);
    return outcome;
}

/* Runs `hindrance`, and expects that nothing is changed until `help` is run. */
static void expect_hindered(struct two_formats *testcase, const char *hindrance, const char *name,
                            const char *help) {
    struct image before;
    lk_error error;

    leave_a_store(testcase);
    (void)query(testcase, hindrance);
    before = read_file(testcase);
    assert_int_equal(try_to_upgrade(testcase, &error), LK_INVALID);
    assert_non_null(strstr(error.text, name));
    assert_non_null(strstr(error.text, "nothing was changed"));
    expect_same_file(testcase, &before);
    (void)query(testcase, help);
    assert_int_equal(try_to_upgrade(testcase, &error), LK_OK);
    assert_int_equal(format_of(testcase), 2);
}

static void a_name_that_is_taken_leaves_the_old_format(void **state) {
    expect_hindered(*state, "CREATE TABLE lk_made_up (x)", "lk_made_up", "DROP TABLE lk_made_up");
}

static void a_running_service_keeps_the_old_format(void **state) {
    struct two_formats *testcase = *state;
    int lock = -1;
    lk_error error;

    leave_a_store(testcase);
    assert_int_equal(lk_sqlite_service_lock_take(testcase->fixture.file, &lock), 0);
    assert_int_equal(try_to_upgrade(testcase, &error), LK_DENIED);
    assert_int_equal(format_of(testcase), 1);
    (void)close(lock);
    assert_int_equal(try_to_upgrade(testcase, &error), LK_OK);
    assert_int_equal(format_of(testcase), 2);
}

static void a_kill_in_the_middle_leaves_the_old_format(void **state) {
    struct two_formats *testcase = *state;
    const char *file = testcase->fixture.file;
    lk_error error;
    int status;
    pid_t child;

    leave_a_store(testcase);
    child = test_fork();
    if (child == 0) {
        struct lk_sql sql;
        (void)lk_sql_open(&sql, file, SQLITE_OPEN_READWRITE, NULL);
        (void)lk_sql_execute(&sql, "PRAGMA cache_size = 1"); /* pages go to the log early */
        if (lk_sql_begin_write(&sql) != SQLITE_OK
            || lk_sql_format_upgrade(&sql, &next, 1) != SQLITE_OK) {
            _exit(1);
        }
        (void)raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(format_of(testcase), 1);
    assert_int_equal(
        query(testcase, "SELECT count(*) FROM sqlite_schema WHERE name = 'lk_made_up'"), 0);
    assert_int_equal(try_to_upgrade(testcase, &error), LK_OK);
    assert_int_equal(format_of(testcase), 2);
}

static void a_full_disk_leaves_the_old_format(void **state) {
    struct two_formats *testcase = *state;
    lk_error error;

    leave_a_store(testcase);
    testcase->later.page_max = (int)query(testcase, "PRAGMA page_count");
    assert_int_equal(try_to_upgrade(testcase, &error), LK_UNAVAILABLE);
    assert_int_equal(format_of(testcase), 1);
    testcase->later.page_max = 0;
    assert_int_equal(try_to_upgrade(testcase, &error), LK_OK);
    assert_int_equal(format_of(testcase), 2);
}

/* The step cannot be done twice. */
static void concurrent_programs_upgrade_once(void **state) {
    struct two_formats *testcase = *state;

    leave_a_store(testcase);
    for (int i = 0; i < RACERS; i++) {
        if (test_fork() == 0) {
            lk_error error;
            _exit(try_to_upgrade(testcase, &error) == LK_OK ? 0 : 1);
        }
    }
    for (int i = 0; i < RACERS; i++) {
        assert_int_equal(test_exit_status(-1), 0);
    }
    assert_int_equal(format_of(testcase), 2);
}

static void several_steps_follow_each_other(void **state) {
    static const char *const two_steps[] = {
        NULL, "ALTER TABLE lk_audit ADD COLUMN one INTEGER NOT NULL DEFAULT 1",
        "ALTER TABLE lk_audit ADD COLUMN two INTEGER NOT NULL DEFAULT 2"};
    static const struct lk_sql_formats third = {
        .format = 3, .writable_from = 2, .steps = two_steps};
    struct two_formats *testcase = *state;
    lk_error error;

    leave_a_store(testcase);
    testcase->later.formats = &third;
    assert_int_equal(try_to_upgrade(testcase, &error), LK_OK);
    assert_int_equal(format_of(testcase), 3);
    assert_int_equal(query(testcase, "SELECT writable_from FROM lk_meta"), 2);
    assert_int_equal(query(testcase, "SELECT one + two FROM lk_audit"), 3);
}

static void views_of_the_owner_stay(void **state) {
    struct two_formats *testcase = *state;
    lk_error error;

    leave_a_store(testcase);
    (void)query(testcase, "CREATE VIEW breaks AS SELECT path, owner FROM lk_audit");
    assert_int_equal(try_to_upgrade(testcase, &error), LK_OK);
    assert_int_equal(query(testcase, "SELECT count(*) FROM breaks WHERE owner = 'D'"), 1);
}

#define WITH_A_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_A_STORE(other_formats_are_refused_and_not_touched),
        WITH_A_STORE(an_older_format_without_a_step_is_refused),
        WITH_A_STORE(a_newer_format_that_allows_this_program_is_used),
        WITH_A_STORE(a_read_upgrades_nothing),
        WITH_A_STORE(the_first_call_that_writes_upgrades),
        WITH_A_STORE(nothing_is_upgraded_while_something_is_in_use),
        WITH_A_STORE(what_is_overdue_is_not_in_use),
        WITH_A_STORE(another_boot_counts_by_the_wall_clock),
        WITH_A_STORE(a_program_that_has_it_open_is_refused),
        WITH_A_STORE(a_row_that_cannot_be_read_is_refused),
        WITH_A_STORE(those_that_wait_end),
        WITH_A_STORE(no_program_takes_what_it_cannot_give_back),
        WITH_A_STORE(a_name_that_is_taken_leaves_the_old_format),
        WITH_A_STORE(a_running_service_keeps_the_old_format),
        WITH_A_STORE(a_kill_in_the_middle_leaves_the_old_format),
        WITH_A_STORE(a_full_disk_leaves_the_old_format),
        WITH_A_STORE(concurrent_programs_upgrade_once),
        WITH_A_STORE(several_steps_follow_each_other),
        WITH_A_STORE(views_of_the_owner_stay),
    };

    begun = mmap(NULL, sizeof *begun, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return begun == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
