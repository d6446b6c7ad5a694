/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores that a disk, a copy or another program has damaged: pages that are copies of others, bits
 * that flipped, definitions that changed, code that is not the store's. What a call does not meet,
 * the examination finds: what it calls sound grants nothing a second time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "fixture.h"

enum {
    HOLDERS = 40,
    WAITERS = 6,
    ITEMS = 20,
    PAGE_BYTES = 4096,
    FILE_BYTES_MAX = 64 * PAGE_BYTES,
    ROUNDS = 500, /* at LK_TEST_SCALE=100 */
};

struct image {
    size_t size;
    unsigned char bytes[FILE_BYTES_MAX];
};

static void read_image(const struct fixture *fixture, struct image *ret_image) {
    FILE *file = fopen(fixture->file, "rb");

    assert_non_null(file);
    ret_image->size = fread(ret_image->bytes, 1, sizeof ret_image->bytes, file);
    assert_true(ret_image->size > 0 && ret_image->size < sizeof ret_image->bytes);
    assert_int_equal(fclose(file), 0);
}

static void write_image(const struct fixture *fixture, const struct image *image) {
    static const char *const suffixes[] = {"-wal", "-shm"};
    char path[PATH_MAX];
    FILE *file;

    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        (void)snprintf(path, sizeof path, "%s%s", fixture->file, suffixes[i]);
        (void)remove(path);
    }
    file = fopen(fixture->file, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(image->bytes, 1, image->size, file), image->size);
    assert_int_equal(fclose(file), 0);
}

/* Several statements, by a program that keeps no rule. */
static void run(const struct fixture *fixture, const char *text) {
    sqlite3 *handle = NULL;
    char *message = NULL;

    if (sqlite3_open(fixture->file, &handle) != SQLITE_OK
        || sqlite3_exec(handle, text, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", text, message != NULL ? message : "");
    }
    (void)sqlite3_close(handle);
}

static void name_lock(char ret_path[64], int i) {
    (void)snprintf(ret_path, 64, "db/host%02d/a-path-that-fills-pages", i);
}

static lk_outcome ask(struct lk_engine *engine, const char *owner, int i, lk_style style) {
    lk_result result = {.outcome = LK_OK};
    char path[64];
    lk_outcome outcome;

    name_lock(path, i);
    outcome = fixture_ask(engine, owner, path, style, 3600000, &result);
    lk_result_clear(&result);
    return outcome;
}

/* Holders, waiters, items of which one is claimed, a value. */
static void fill(const struct fixture *fixture) {
    struct lk_engine *engine = fixture_open(fixture->file, &lk_sqlite_options_default);
    lk_claim_info *claim = NULL;
    char owner[64];

    for (int i = 0; i < HOLDERS; i++) {
        (void)snprintf(owner, sizeof owner, "holder-%d-of-a-lease-that-is-live", i);
        assert_int_equal(ask(engine, owner, i, LK_TRY), LK_GRANTED);
    }
    for (int i = 0; i < WAITERS; i++) {
        (void)snprintf(owner, sizeof owner, "waiter-%d", i);
        assert_int_equal(ask(engine, owner, i, LK_QUEUE), LK_WAITING);
    }
    for (int i = 0; i < ITEMS; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "job%d", i);
        assert_int_equal(fixture_push(engine, "work", id, lk_slice_of("payload"), 0, ""), LK_OK);
    }
    assert_int_equal(fixture_take(engine, "work", "worker", 3600000, &claim, NULL), LK_GRANTED);
    lk_claim_free(claim);
    fixture_close(engine);
}

static lk_outcome examine(struct lk_engine *engine, lk_error *ret_error) {
    const struct lk_patience patience = test_patience(20000000);
    lk_report *report = NULL;
    lk_outcome outcome = engine->ops->examine(engine, &patience, &report, ret_error);

    if (outcome == LK_OK) {
        lk_report_free(report);
    }
    return outcome;
}

static lk_outcome open_damaged(const struct fixture *fixture, struct lk_engine **ret_engine,
                               lk_error *ret_error) {
    const struct lk_patience patience = test_patience(20000000);
    char rest[PATH_MAX];

    (void)snprintf(rest, sizeof rest, "%s?durability=relaxed", fixture->file);
    return lk_sqlite_open(lk_slice_of(rest), &lk_sqlite_options_default, &patience, ret_engine,
                          ret_error);
}

/* ---- pages and bits -------------------------------------------------------------------------- */

/* One page over another, a few bits, or a page of zeros; `what` says which. */
static void damage(struct lk_random *random, const struct image *sound, struct image *image,
                   char what[64]) {
    size_t pages = image->size / PAGE_BYTES;
    size_t from = lk_random_next(random) % pages;
    size_t to = lk_random_next(random) % pages;

    switch (lk_random_next(random) % 8) {
    case 0:
        for (int i = 0; i < 3; i++) {
            size_t at = to * PAGE_BYTES + lk_random_next(random) % PAGE_BYTES;
            image->bytes[at] ^= (unsigned char)(1u << lk_random_next(random) % 8);
        }
        (void)snprintf(what, 64, "bits of page %zu", to + 1);
        break;
    case 1:
        memset(image->bytes + to * PAGE_BYTES, 0, PAGE_BYTES);
        (void)snprintf(what, 64, "page %zu is zero", to + 1);
        break;
    default:
        memcpy(image->bytes + to * PAGE_BYTES, sound->bytes + from * PAGE_BYTES, PAGE_BYTES);
        (void)snprintf(what, 64, "page %zu is page %zu", to + 1, from + 1);
    }
}

/* Every lock and the claimed item once more, by another owner, after the store was called sound. */
static int count_second_grants(struct lk_engine *engine) {
    lk_result result = {.outcome = LK_OK};
    int granted = 0;

    for (int i = 0; i < HOLDERS; i++) {
        granted += ask(engine, "thief", i, LK_TRY) == LK_GRANTED;
    }
    granted += fixture_ask(engine, "thief", "work/job0", LK_TRY, 3600000, &result) == LK_GRANTED;
    lk_result_clear(&result);
    return granted;
}

/* Damage at random, of the kinds that disks and copies make. */
static void what_is_called_sound_grants_nothing_twice(void **state) {
    struct fixture *fixture = *state;
    struct image *sound = calloc(1, sizeof *sound);
    struct image *image = calloc(1, sizeof *image);
    struct lk_random random = test_random();
    unsigned rounds = test_scaled(ROUNDS);

    assert_true(sound != NULL && image != NULL);
    fill(fixture);
    read_image(fixture, sound);
    for (unsigned round = 0; round < rounds; round++) {
        struct lk_engine *engine = NULL;
        lk_error error;
        char what[64];

        *image = *sound;
        damage(&random, sound, image, what);
        write_image(fixture, image);
        if (open_damaged(fixture, &engine, &error) != LK_OK) {
            continue;
        }
        if (examine(engine, &error) == LK_OK && count_second_grants(engine) > 0) {
            fail_msg("round %u, %s: granted twice", round, what);
        }
        fixture_close(engine);
    }
    free(image);
    free(sound);
}

/* Each page over each page of the indexes that locks are looked up by. */
static void an_index_that_lost_its_rows_is_found(void **state) {
    struct fixture *fixture = *state;
    struct image *sound = calloc(1, sizeof *sound);
    struct image *image = calloc(1, sizeof *image);
    struct lk_engine *engine = NULL;
    lk_error error;
    size_t root;

    assert_true(sound != NULL && image != NULL);
    fill(fixture);
    read_image(fixture, sound);
    root = (size_t)fixture_sql(fixture->file, "SELECT rootpage FROM sqlite_schema"
                                              " WHERE name = 'lk_part_by_path'");
    assert_true(root > 1);
    /* A root of the same kind, of a table without rows: SQLite itself finds every page sound. */
    *image = *sound;
    memcpy(image->bytes + (root - 1) * PAGE_BYTES,
           sound->bytes
               + (size_t)(fixture_sql(fixture->file, "SELECT rootpage FROM sqlite_schema"
                                                     " WHERE name = 'lk_ended'")
                          - 1)
                     * PAGE_BYTES,
           PAGE_BYTES);
    write_image(fixture, image);
    assert_int_equal(open_damaged(fixture, &engine, &error), LK_OK);
    assert_int_equal(examine(engine, &error), LK_UNAVAILABLE);
    assert_non_null(strstr(error.text, "damaged"));
    assert_non_null(strstr(error.text, "lk_part"));
    /* An ask notices it, too: the newest request is not where it is. */
    assert_int_equal(ask(engine, "thief", 0, LK_TRY), LK_UNAVAILABLE);
    fixture_close(engine);
    free(image);
    free(sound);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A change that leaves each page sound. */
static void expect_found(const struct fixture *fixture, const char *change, const char *about) {
    struct lk_engine *engine = NULL;
    lk_error error;

    run(fixture, change);
    assert_int_equal(open_damaged(fixture, &engine, &error), LK_OK);
    assert_int_equal(examine(engine, &error), LK_UNAVAILABLE);
    if (strstr(error.text, about) == NULL) {
        fail_msg("%s: %s", change, error.text);
    }
    fixture_close(engine);
}

static void rows_that_do_not_add_up_are_found(void **state) {
    static const struct {
        const char *change;
        const char *about;
    } cases[] = {
        {"DELETE FROM lk_part WHERE request = (SELECT max(request) FROM lk_part)", "no parts"},
        {"DELETE FROM lk_request WHERE id = (SELECT max(id) FROM lk_request)", "lk_part"},
        {"UPDATE lk_part SET position = 1 WHERE request = (SELECT max(request) FROM lk_part)",
         "missing"},
        {"DELETE FROM lk_root", "draws"},
        {"DELETE FROM lk_queue", "in no queue"},
        {"UPDATE lk_part SET turn = 7 WHERE request = (SELECT min(request) FROM lk_part)", "turns"},
        {"UPDATE lk_part SET path = (SELECT path FROM lk_part LIMIT 1)"
         " WHERE request = (SELECT max(request) FROM lk_part WHERE turn = 0 AND path > 'db'"
         "                  AND path < 'e')",
         "excludes"},
        {"UPDATE lk_item SET state = 'claimed' WHERE id = 'job7'", "claims"},
        {"DELETE FROM lk_item_value WHERE item = (SELECT number FROM lk_item WHERE id = 'job0');"
         " DELETE FROM lk_item WHERE id = 'job0'",
         "request"},
        {"INSERT INTO lk_item_value (item, bytes) VALUES (777, x'00')", "values of no item"},
        {"DELETE FROM lk_item_value WHERE item = (SELECT number FROM lk_item WHERE id = 'job7')",
         "pushed with"},
        {"UPDATE lk_item_value SET bytes = x'00'"
         " WHERE item = (SELECT number FROM lk_item WHERE id = 'job7')",
         "pushed with"},
    };
    struct fixture *fixture = *state;
    struct image *sound = calloc(1, sizeof *sound);

    assert_non_null(sound);
    fill(fixture);
    read_image(fixture, sound);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_image(fixture, sound);
        expect_found(fixture, cases[i].change, cases[i].about);
    }
    free(sound);
}

/* A worker would take an empty value for the item's. */
static void an_item_that_lost_its_value_is_not_given(void **state) {
    struct fixture *fixture = *state;
    struct lk_engine *engine = NULL;
    lk_claim_info *claim = NULL;
    lk_error error = {.text = ""};

    fill(fixture);
    run(fixture, "DELETE FROM lk_item_value");
    assert_int_equal(open_damaged(fixture, &engine, &error), LK_OK);
    assert_int_equal(fixture_take(engine, "work", "another worker", 3600000, &claim, NULL),
                     LK_UNAVAILABLE);
    assert_null(claim);
    fixture_close(engine);
    assert_int_equal(
        fixture_sql(fixture->file, "SELECT count(*) FROM lk_item WHERE state = 'claimed'"), 1);
}

/* What is overdue excludes nothing, although its row is there until a call ends it. */
static void overdue_rows_are_no_damage(void **state) {
    struct fixture *fixture = *state;
    struct lk_engine *engine = NULL;
    lk_error error;

    fill(fixture);
    run(fixture, "UPDATE lk_request SET deadline_us = 1, expires_unix_us = 1"
                 " WHERE id = (SELECT max(request) FROM lk_part WHERE path LIKE 'db/%'"
                 "             AND turn = 0)");
    run(fixture, "UPDATE lk_part SET path = (SELECT min(path) FROM lk_part)"
                 " WHERE request = (SELECT id FROM lk_request WHERE deadline_us = 1)");
    assert_int_equal(open_damaged(fixture, &engine, &error), LK_OK);
    if (examine(engine, &error) != LK_OK) {
        fail_msg("%s", error.text);
    }
    fixture_close(engine);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static void rewrite_schema(const struct fixture *fixture, const char *from, const char *to) {
    char text[512];

    (void)snprintf(text, sizeof text,
                   "PRAGMA writable_schema = ON;"
                   "UPDATE sqlite_schema SET sql = replace(sql, '%s', '%s');",
                   from, to);
    run(fixture, text);
}

/* One letter of a definition: the calls that meet it say that the file is damaged. */
static void a_damaged_definition_is_damage(void **state) {
    static const struct {
        const char *from;
        const char *to;
    } cases[] = {{"was_lost ", "wbs_lost "},     {"deadline_us ", "dfadline_us "},
                 {"unit_limit ", "unit_limiu "}, {"last_draw ", "last_drax "},
                 {"draw_floor ", "draw_gloor "}, {"in_doubt ", "in_dpubt "}};
    struct fixture *fixture = *state;
    struct image *sound = calloc(1, sizeof *sound);

    assert_non_null(sound);
    fill(fixture);
    read_image(fixture, sound);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lk_engine *engine = NULL;
        lk_error error;
        lk_outcome outcome;

        write_image(fixture, sound);
        rewrite_schema(fixture, cases[i].from, cases[i].to);
        outcome = open_damaged(fixture, &engine, &error);
        if (outcome == LK_OK) {
            outcome = examine(engine, &error);
            fixture_close(engine);
        }
        if (outcome != LK_UNAVAILABLE || strstr(error.text, "damaged") == NULL) {
            fail_msg("%s: %s: %s", cases[i].to, lk_outcome_name(outcome), error.text);
        }
    }
    free(sound);
}

/* ---- code of others -------------------------------------------------------------------------- */

static void expect_refused(const struct fixture *fixture, const char *create, const char *name) {
    struct lk_engine *engine = NULL;
    lk_error error;

    run(fixture, create);
    assert_int_equal(open_damaged(fixture, &engine, &error), LK_INVALID);
    if (strstr(error.text, name) == NULL) {
        fail_msg("%s: %s", create, error.text);
    }
}

static void code_of_others_is_refused(void **state) {
    static const struct {
        const char *create;
        const char *name;
    } cases[] = {
        {"CREATE TRIGGER evil AFTER INSERT ON lk_request BEGIN"
         " UPDATE lk_request SET owner = 'other' WHERE id = NEW.id; END",
         "evil"},
        {"DROP TRIGGER lk_part_came; CREATE TRIGGER lk_part_came AFTER INSERT ON lk_part BEGIN"
         " DELETE FROM lk_part WHERE request = NEW.request; END",
         "lk_part_came"},
        {"CREATE TRIGGER evil INSTEAD OF DELETE ON lk_locks BEGIN SELECT 1; END", "evil"},
        {"CREATE TRIGGER evil BEFORE DELETE ON LK_Request BEGIN SELECT raise(IGNORE); END", "evil"},
        {"CREATE VIEW lk_more AS SELECT 1", "lk_more"},
        {"DROP VIEW lk_locks; CREATE VIEW lk_locks AS SELECT 'all is free' AS path", "lk_locks"},
    };
    struct fixture *fixture = *state;
    struct image *sound = calloc(1, sizeof *sound);

    assert_non_null(sound);
    fill(fixture);
    read_image(fixture, sound);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_image(fixture, sound);
        expect_refused(fixture, cases[i].create, cases[i].name);
    }
    free(sound);
}

/* The store's own triggers, also those that only some stores need, and what touches no lock. */
static void code_of_the_store_and_of_its_owner_is_taken(void **state) {
    struct fixture *fixture = *state;
    struct lk_limits limits = {.live = 1000, .live_per_owner = 100};
    struct lk_engine *engine = fixture_open(fixture->file, &lk_sqlite_options_default);
    const struct lk_patience patience = test_patience(20000000);
    lk_error error;

    limits.size = sizeof limits;
    assert_int_equal(engine->ops->limits->set(engine, &limits, &patience, &error), LK_OK);
    for (int i = 0; i < 40; i++) { /* a line that is long enough for its own triggers */
        char owner[16];
        (void)snprintf(owner, sizeof owner, "o%d", i);
        assert_int_equal(ask(engine, owner, 0, LK_QUEUE), i == 0 ? LK_GRANTED : LK_WAITING);
    }
    fixture_close(engine);
    assert_int_equal(
        fixture_sql(fixture->file, "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'"),
        16);
    run(fixture, "CREATE VIEW holders AS SELECT path FROM lk_locks;"
                 "CREATE TABLE orders (id INTEGER PRIMARY KEY);"
                 "CREATE TRIGGER mine AFTER INSERT ON orders BEGIN SELECT 1; END");
    assert_int_equal(open_damaged(fixture, &engine, &error), LK_OK);
    if (examine(engine, &error) != LK_OK) {
        fail_msg("%s", error.text);
    }
    fixture_close(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_called_sound_grants_nothing_twice, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(an_index_that_lost_its_rows_is_found, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(rows_that_do_not_add_up_are_found, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(an_item_that_lost_its_value_is_not_given, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(overdue_rows_are_no_damage, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_damaged_definition_is_damage, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(code_of_others_is_refused, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(code_of_the_store_and_of_its_owner_is_taken, fixture_setup,
                                        fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
