/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks of the public functions (src/engine/postgresql/sql/91_public_checks.sql) beside
 * those of the library, which they repeat: for hostile and random inputs both accept the same, and
 * refuse the rest with the same sentence.
 */
#include <libpq-fe.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../support.h"
#include "base/error.h"
#include "client/checked.h"
#include "engine/postgresql/postgresql.h"
#include "model/command_check.h"

enum { TEXT_MAX = 1200, RANDOM_PARTS = 3000, RANDOM_PUSHES = 1000, VALUES_MAX = 8 };

static PGconn *connection;

/* ---- both sides ------------------------------------------------------------------------------ */

/* What is answered: the value of the first column, or the sentence of an error. */
static void ask(const char *sql, int count, const char *const *values, char ret_text[TEXT_MAX]) {
    PGresult *begun = PQexec(connection, "BEGIN");
    PGresult *result = PQexecParams(connection, sql, count, NULL, values, NULL, NULL, 0);
    const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (PQresultStatus(result) == PGRES_TUPLES_OK) {
        (void)snprintf(ret_text, TEXT_MAX, "%s",
                       PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    } else if (code != NULL && strcmp(code, "LK064") == 0) {
        (void)snprintf(ret_text, TEXT_MAX, "%s",
                       PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
    } else {
        (void)snprintf(ret_text, TEXT_MAX, "%s: %s", code != NULL ? code : "",
                       PQresultErrorMessage(result));
    }
    PQclear(begun);
    PQclear(result);
    PQclear(PQexec(connection, "ROLLBACK"));
}

static void compare(const char *input, const char *expected, const char *got) {
    if (strcmp(expected, got) != 0) {
        test_die("of \"%s\"\n  the library says %s\n  and SQL says     %s", input, expected, got);
    }
}

/* ---- paths and parts ------------------------------------------------------------------------- */

static void expect_part(const char *text, const char *shared, const char *limit,
                        const char *units) {
    const char *const values[] = {text, shared, limit, units};
    const struct lk_part_defaults defaults = {
        .shared = shared[0] == 't',
        .limit = limit != NULL ? (uint32_t)strtoul(limit, NULL, 10) : 0,
        .units = units != NULL ? (uint32_t)strtoul(units, NULL, 10) : 0};
    char expected[TEXT_MAX];
    char got[TEXT_MAX];
    struct lk_part part;
    lk_error error;

    if (lk_part_parse(lk_slice_of(text), &defaults, &part, &error) == LK_OK) {
        (void)snprintf(expected, sizeof expected, "%.*s %u %u", (int)part.path.size,
                       part.path.bytes, part.limit, part.units);
    } else {
        (void)snprintf(expected, sizeof expected, "%s", error.text);
    }
    ask("SELECT p.path || ' ' || p.unit_limit || ' ' || p.units"
        " FROM checks.part_of($1, $2, $3, $4, false) AS p",
        4, values, got);
    compare(text, expected, got);
}

/* A text of `count` times `piece`, with `between`, into one of a few buffers in turn. */
static const char *times(const char *piece, const char *between, int count) {
    static char texts[4][TEXT_MAX];
    static unsigned next;
    char *text = texts[next++ % 4];
    size_t size = 0;

    for (int i = 0; i < count; i++) {
        const char *const words[] = {i > 0 ? between : "", piece};
        for (size_t k = 0; k < 2 && size + strlen(words[k]) < TEXT_MAX; k++) {
            memcpy(text + size, words[k], strlen(words[k]));
            size += strlen(words[k]);
        }
    }
    text[size] = '\0';
    return text;
}

static void test_hostile_parts(void **state) {
    static const char *const hostile[] = {
        "",
        "/",
        "//",
        "///",
        "a",
        "/a",
        "a/",
        "/a/",
        "//a",
        "a//",
        "a//b",
        "a/b/",
        ".",
        "..",
        "...",
        "a/.",
        "a/..",
        "a/../b",
        "./a",
        "a/.b",
        "a b",
        " a",
        "a\tb",
        "a\nb",
        "a\x7f",
        "a\x01",
        "{a",
        "a}",
        "\xc2\x85",
        "a\xc2\x80",
        "a\xc2\xa0",
        "a\xe1\x9a\x80",
        "a\xe2\x80\x80",
        "a\xe2\x80\x8a",
        "a\xe2\x80\x8b",
        "a\xe2\x80\xa8",
        "a\xe2\x80\xaf",
        "a\xe2\x81\x9f",
        "a\xe3\x80\x80",
        "\xc3\xa9",
        "\xf0\x9f\x98\x80/x",
        "a?",
        "a?shared",
        "a?shared&shared",
        "a?strict",
        "a?strict&strict",
        "a?strict&shared",
        "a?limit=2&strict",
        "a?strict&units=2",
        "a?strictly",
        "a?limit=3",
        "a?limit=0",
        "a?limit=2147483647",
        "a?limit=2147483648",
        "a?limit=99999999999",
        "a?limit=-1",
        "a?limit=",
        "a?limit=1e3",
        "a?limit=3&units=2",
        "a?limit=3?units=2",
        "a?units=2",
        "a?units=2&limit=3",
        "a?limit=3&units=4",
        "a?limit=3&limit=3",
        "a?limit=3&units=1&units=1",
        "a?Shared",
        "a?limit",
        "a?limit=007",
        "a?limit=3&",
        "a?&limit=3",
        "a??",
        "?",
        "?shared",
        "a/?shared",
        "a?shared/b",
        "a? shared",
        "a?limit=\xd9\xa3",
        "\xef\xbb\xbf.a",
        "a\\b",
        "a'b",
        "a\"b",
        "a%b",
        "$a",
        "a$$b",
    };
    static const char *const limits[] = {NULL, "1", "7", "2147483647"};

    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        for (size_t k = 0; k < sizeof limits / sizeof limits[0]; k++) {
            expect_part(hostile[i], k == 0 ? "f" : "t", limits[k], NULL);
            expect_part(hostile[i], "f", limits[k], "7");
        }
    }
    for (int depth = 30; depth <= 34; depth++) {
        expect_part(times("a", "/", depth), "f", NULL, NULL);
        expect_part(times("a b", "/", depth), "f", NULL, NULL);
    }
    for (int size = 250; size <= 260; size++) {
        expect_part(times("a", "", size), "f", NULL, NULL);
        expect_part(times("\xc3\xa9", "", size / 2), "f", NULL, NULL);
    }
    for (int size = 505; size <= 516; size++) {
        expect_part(times("a", size % 2 == 0 ? "/" : "", size / (size % 2 == 0 ? 2 : 1)), "f", NULL,
                    NULL);
        expect_part(times(times("x", "", 100), "/", size / 100), "f", NULL, NULL);
    }
    for (int last = 100; last <= 120; last++) { /* around 512 bytes */
        char text[TEXT_MAX];
        (void)snprintf(text, sizeof text, "/%s/%s", times(times("y", "", 99), "/", 4),
                       times("z", "", last));
        expect_part(text, "f", NULL, NULL);
    }
}

static void test_random_parts(void **state) {
    static const char *const pieces[] = {
        "a",
        "b",
        "/",
        "/",
        "/",
        ".",
        "..",
        "?",
        "&",
        "limit=",
        "units=",
        "shared",
        "0",
        "1",
        "29",
        "2147483647",
        "2147483648",
        " ",
        "{",
        "\t",
        "\xc2\x85",
        "\xc3\xa9",
        "\xe3\x80\x80",
        "\xf0\x9f\x98\x80",
        "=",
        "\x1f",
        "\x7f",
        "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
        "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac",
        "/a/b/c/d/e/f/g/h/i/j/k",
        "?shared",
        "?limit=3",
        "?strict",
        "&units=2"};
    struct lk_random random = test_random();
    unsigned count = test_scaled(RANDOM_PARTS);

    (void)state;
    for (unsigned i = 0; i < count; i++) {
        char text[TEXT_MAX] = "";
        int64_t length = lk_random_between(&random, 0, lk_random_between(&random, 1, 24));
        for (int64_t k = 0; k < length; k++) {
            size_t used = strlen(text);
            (void)snprintf(
                text + used, sizeof text - used, "%s",
                pieces[lk_random_between(&random, 0, sizeof pieces / sizeof pieces[0] - 1)]);
        }
        expect_part(text, lk_random_between(&random, 0, 3) == 0 ? "t" : "f",
                    lk_random_between(&random, 0, 3) == 0 ? "5" : NULL,
                    lk_random_between(&random, 0, 5) == 0 ? "5" : NULL);
    }
}

/* No text of SQL's has it; the server says so before any function is called. */
static void test_bytes_that_are_no_text(void **state) {
    const char *const values[] = {"a\xff", "f", NULL, NULL};
    char got[TEXT_MAX];

    (void)state;
    ask("SELECT checks.part_of($1, $2, $3, $4, false)", 4, values, got);
    assert_memory_equal(got, "22021", 5);
}

/* ---- several parts --------------------------------------------------------------------------- */

static void expect_parts(const char *list) {
    const char *const values[] = {list};
    struct lk_part parts[LK_PARTS_MAX + 2];
    char text[TEXT_MAX];
    char expected[TEXT_MAX] = "granted";
    char got[TEXT_MAX];
    size_t count = 0;
    lk_error error;
    lk_outcome outcome = LK_OK;

    (void)snprintf(text, sizeof text, "%s", list);
    for (char *rest = text, *word;
         outcome == LK_OK && (word = strtok_r(rest, " ", &rest)) != NULL;) {
        outcome = count > LK_PARTS_MAX
                      ? LK_OK
                      : lk_part_parse(lk_slice_of(word), NULL, &parts[count++], &error);
    }
    if (outcome == LK_OK) {
        outcome = lk_parts_check(parts, count, &error);
    }
    if (outcome != LK_OK) {
        (void)snprintf(expected, sizeof expected, "%s", error.text);
    }
    ask("SELECT (checks.acquire(string_to_array($1, ' '))).outcome", 1, values, got);
    compare(list, expected, got);
}

static void test_lists_of_parts(void **state) {
    (void)state;
    expect_parts("");
    expect_parts("a");
    expect_parts("a b?shared c/d?limit=3");
    expect_parts("a b a");
    expect_parts("a/b c a/b/");
    expect_parts("a b ? c");
    expect_parts("p1 p2 p3 p4 p5 p6 p7 p8 p9 p10 p11 p12 p13 p14 p15 p16");
    expect_parts("p1 p2 p3 p4 p5 p6 p7 p8 p9 p10 p11 p12 p13 p14 p15 p16 p17");
}

/* ---- owners, times, notes, values ------------------------------------------------------------ */

static void expect_acquire(const char *argument, const char *value, lk_outcome outcome,
                           const lk_error *error) {
    const char *const values[] = {value};
    char sql[TEXT_MAX];
    char got[TEXT_MAX];

    (void)snprintf(sql, sizeof sql, "SELECT (checks.acquire('x', %s => $1)).outcome", argument);
    ask(sql, 1, values, got);
    compare(value, outcome == LK_OK ? "granted" : error->text, got);
}

static void test_owners_and_notes(void **state) {
    static const int sizes[] = {0, 1, 127, 128, 129, 255, 256, 1000};
    lk_error error;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const char *text = times("o", "", sizes[i]);
        expect_acquire("owner", text, lk_owner_check(lk_slice_of(text), &error), &error);
        expect_acquire("note", text, lk_checked_note(text, &error), &error);
        text = times("\xc3\xa9", "", sizes[i] / 2);
        expect_acquire("owner", text, lk_owner_check(lk_slice_of(text), &error), &error);
        expect_acquire("note", text, lk_checked_note(text, &error), &error);
    }
    expect_acquire("owner", "an owner\t{?}", LK_OK, NULL);
}

static void test_times(void **state) {
    static const int64_t ttls[] = {1,
                                   49,
                                   50,
                                   51,
                                   60000,
                                   LK_TTL_MAX_MS,
                                   LK_TTL_MAX_MS + 1,
                                   -1,
                                   -60000,
                                   INT64_C(100000000000000)};
    lk_error error;

    (void)state;
    for (size_t i = 0; i < sizeof ttls / sizeof ttls[0]; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%lld ms", (long long)ttls[i]);
        expect_acquire("ttl", text, lk_ttl_check(ttls[i], &error), &error);
    }
    (void)lk_error_set(&error, LK_INVALID, "R11: a fixed end is a moment within 366 days");
    expect_acquire("until", "infinity", LK_INVALID, &error);
    expect_acquire("until", "1970-01-01 UTC", LK_INVALID, &error);
    (void)lk_error_set(&error, LK_INVALID,
                       "R11: a fixed end lies in the future and within 366 days");
    expect_acquire("until", "2001-01-01", LK_INVALID, &error);
    expect_acquire("until", "2400-01-01", LK_INVALID, &error);
    (void)lk_error_set(&error, LK_INVALID, "R11: a ttl is 50 ms to 366 days, not 0 ms");
    expect_acquire("ttl", "0", LK_INVALID, &error); /* to the library: not named */
    (void)lk_error_set(&error, LK_INVALID, "R10: a style is try or queue, not wait");
    expect_acquire("style", "wait", LK_INVALID, &error);
}

static void test_values(void **state) {
    static const char *const calls[] = {
        "SELECT checks.put('x', convert_to(repeat('v', $1), 'UTF8'))",
        "SELECT checks.put('x', repeat('v', $1))",
        "SELECT (checks.acquire('x', 'me')).outcome"
        " WHERE checks.release('x', 'me', value => repeat('v', $1), or_fail => false) > ''",
        "SELECT CASE WHEN checks.push('q', 'id', repeat('v', $1)) THEN 'ok' END",
        "SELECT CASE (checks.push('q', ARRAY['a', 'b'],"
        " ARRAY['', convert_to(repeat('v', $1), 'UTF8')]))[2] WHEN true THEN 'ok' END",
        "SELECT replace(checks.done('q', 'no', 'me', or_fail => false, result => repeat('v', $1)),"
        " 'lost', 'ok')",
        "SELECT replace(checks.done('q', 'no', convert_to(repeat('v', $1), 'UTF8'), 'me',"
        " or_fail => false), 'lost', 'ok')",
        "SELECT replace((checks.done('q', ARRAY['no'], 'me', or_fail => false,"
        " results => ARRAY[convert_to(repeat('v', $1), 'UTF8')]))[1], 'lost', 'ok')"};
    static const char *const sizes[] = {"0", "65536", "65537", "100000"};
    lk_error error;

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            const struct lk_slice value = {.bytes = "", .size = strtoul(sizes[k], NULL, 10)};
            char got[TEXT_MAX];
            ask(calls[i], 1, &sizes[k], got);
            if (lk_value_check(value, &error) != LK_OK) {
                compare(calls[i], error.text, got);
            } else {
                compare(calls[i], i == 2 ? "granted" : "ok", got);
            }
        }
    }
}

/* ---- work ------------------------------------------------------------------------------------ */

struct pushed {
    const char *queue;
    const char *id;
    int64_t delay_ms;
    int64_t keep_ms;
    int64_t priority;
    const char *needs; /* with a space between */
};

/* In the order in which the library checks: the queue, the item, then what it needs. */
static lk_outcome check_push(const struct pushed *pushed, lk_error *error) {
    struct lk_push push = {.id = lk_slice_of(pushed->id),
                           .delay_ms = pushed->delay_ms,
                           .keep_ms = pushed->keep_ms,
                           .priority = (int32_t)pushed->priority};
    struct lk_part needs[LK_NEEDS_MAX + 2];
    struct lk_item_path item;
    char text[TEXT_MAX];
    size_t count = 0;
    lk_outcome outcome = lk_path_parse(lk_slice_of(pushed->queue), &push.queue, error);

    if (outcome == LK_OK) {
        outcome = lk_push_check(&push, &item, error);
    }
    (void)snprintf(text, sizeof text, "%s", pushed->needs);
    for (char *rest = text, *word;
         outcome == LK_OK && (word = strtok_r(rest, " ", &rest)) != NULL;) {
        outcome = lk_need_parse(lk_slice_of(word), &needs[count++], error);
    }
    push.needs = needs;
    push.need_count = count;
    return outcome == LK_OK ? lk_push_check(&push, &item, error) : outcome;
}

static void expect_push(const struct pushed *pushed) {
    char delay[64];
    char keep[64];
    char priority[64];
    const char *const values[] = {pushed->queue, pushed->id, delay, priority, pushed->needs, keep};
    char got[TEXT_MAX];
    lk_error error;

    (void)snprintf(delay, sizeof delay, "%lld ms", (long long)pushed->delay_ms);
    (void)snprintf(keep, sizeof keep, "%lld ms", (long long)pushed->keep_ms);
    (void)snprintf(priority, sizeof priority, "%lld", (long long)pushed->priority);
    ask("SELECT checks.push($1, $2, delay => $3, priority => $4,"
        " needs => string_to_array($5, ' '), keep => $6)",
        6, values, got);
    compare(pushed->id, check_push(pushed, &error) == LK_OK ? "t" : error.text, got);
}

static void test_pushes(void **state) {
    static const char *const queues[] = {"q", "q/r", "/q/", "q//r", "a b", ""};
    static const char *const ids[] = {"1",   "",         "a/b", ".", "..",
                                      "a b", "\xc3\xa9", "a?",  "{", "x.y"};
    static const int64_t delays[] = {0, 1, 1000, LK_TTL_MAX_MS, LK_TTL_MAX_MS + 1, -1};
    static const int64_t priorities[] = {0, 0, 0, 5, -32768, 32767, -32769, 32768, 2000000000};
    static const char *const needs[] = {"",
                                        "",
                                        "pool?limit=3",
                                        "k?strict o",
                                        "k?strict&shared",
                                        "k?limit=2&strict",
                                        "k?strict k",
                                        "k?strict&x",
                                        "a b",
                                        "a a",
                                        "q/1",
                                        "a?x",
                                        "a/../b",
                                        "n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 n12 n13 n14 n15",
                                        "n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 n12 n13 n14 n15 n16"};
#define SOME(list) (list)[lk_random_between(&random, 0, sizeof(list) / sizeof(list)[0] - 1)]
    struct lk_random random = test_random();
    unsigned count = test_scaled(RANDOM_PUSHES);

    (void)state;
    for (unsigned i = 0; i < count; i++) {
        const struct pushed pushed = {SOME(queues), SOME(ids),        SOME(delays),
                                      SOME(delays), SOME(priorities), SOME(needs)};
        expect_push(&pushed);
    }
#undef SOME
    for (int size = 250; size <= 258; size++) {
        expect_push(&(struct pushed){.queue = "q", .id = times("i", "", size), .needs = ""});
        expect_push(&(struct pushed){
            .queue = times(times("q", "", 127), "/", 2), .id = times("i", "", size), .needs = ""});
    }
}

static void test_claims_and_ends(void **state) {
    static const char *const attempts[] = {"0", "1", "1000000", "1000001"};
    static const char *const sizes[] = {"0", "1024", "1025"};
    const struct lk_take take = {.owner = lk_slice_of("me")};
    char got[TEXT_MAX];
    lk_error error;

    (void)state;
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
        struct lk_take known = take;
        known.max_attempts = (uint32_t)strtoul(attempts[i], NULL, 10);
        ask("SELECT id FROM checks.claim('q', max_attempts => $1)", 1, &attempts[i], got);
        compare(attempts[i], lk_take_check(&known, &error) == LK_OK ? "" : error.text, got);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct lk_finish finish = {.id = lk_slice_of("1"), .owner = lk_slice_of("me")};
        struct lk_item_path item;
        finish.failure.text = (struct lk_slice){.bytes = "", .size = strtoul(sizes[i], NULL, 10)};
        (void)lk_path_parse(lk_slice_of("q"), &finish.queue, NULL);
        ask("SELECT checks.retry('q', '1', 'me', error => repeat('e', $1), or_fail => false)", 1,
            &sizes[i], got);
        compare(sizes[i], lk_finish_check(&finish, &item, &error) == LK_OK ? "lost" : error.text,
                got);
        finish.progress = finish.failure.text;
        finish.failure.text.size = 0;
        ask("SELECT checks.progress('q', '1', repeat('p', $1), 'me', or_fail => false)", 1,
            &sizes[i], got);
        compare(sizes[i], lk_finish_check(&finish, &item, &error) == LK_OK ? "lost" : error.text,
                got);
    }
}

static void test_times_of_results(void **state) {
    static const int64_t keeps[] = {0, 1, LK_TTL_MAX_MS, LK_TTL_MAX_MS + 1, -1};
    char got[TEXT_MAX];
    lk_error error;

    (void)state;
    for (size_t i = 0; i < sizeof keeps / sizeof keeps[0]; i++) {
        struct lk_finish finish = {
            .id = lk_slice_of("1"), .owner = lk_slice_of("me"), .keep_ms = keeps[i]};
        struct lk_item_path item;
        char text[64];
        const char *const values[] = {text};
        (void)snprintf(text, sizeof text, "%lld ms", (long long)keeps[i]);
        (void)lk_path_parse(lk_slice_of("q"), &finish.queue, NULL);
        ask("SELECT checks.done('q', '1', 'me', or_fail => false, keep => $1)", 1, values, got);
        compare(text, lk_finish_check(&finish, &item, &error) == LK_OK ? "lost" : error.text, got);
    }
}

/* ---- what concerns no library ---------------------------------------------------------------- */

/* NULL where a value is needed, lists of the wrong size: an error with LK064, and no other. */
static void test_what_sql_adds(void **state) {
    static const char *const calls[] = {
        "SELECT checks.acquire(NULL::text)",
        "SELECT checks.acquire(NULL::text[])",
        "SELECT checks.acquire(ARRAY['a', NULL])",
        "SELECT checks.acquire('x', style => NULL)",
        "SELECT checks.acquire('x', shared_limit => 0)",
        "SELECT checks.acquire('x', shared_limit => -3)",
        "SELECT checks.acquire('x', shared_limit => 3, units => 0)",
        "SELECT checks.acquire('x', ttl => '1 min', until => now() + interval '1 min')",
        "SELECT checks.renew('x')",
        "SELECT checks.release('x')",
        "SELECT checks.release(ARRAY['x'], 'me', vals => ARRAY['1', '2']::bytea[])",
        "SELECT checks.put('x', NULL)",
        "SELECT checks.get(NULL)",
        "SELECT checks.push('q', NULL::text)",
        "SELECT checks.push('q', NULL::text[])",
        "SELECT checks.push('q', '{}'::text[])",
        "SELECT checks.push('q', ARRAY['1', NULL])",
        "SELECT checks.push('q', ARRAY['1'], ARRAY['1', '2']::bytea[])",
        "SELECT checks.push('q', '1', priority => NULL)",
        "SELECT checks.push('q', '1', needs => ARRAY[NULL::text])",
        "SELECT checks.claim('q', 0)",
        "SELECT checks.claim('q', 257)",
        "SELECT checks.claim('q', NULL)",
        "SELECT checks.claim('q', max_attempts => -1)",
        "SELECT checks.claim('q', ask => 0)",
        "SELECT checks.done('q', '1')",
        "SELECT checks.done('q', NULL::text, 'me')",
        "SELECT checks.done('q', ARRAY['1'], 'me', results => ARRAY['1', '2']::bytea[])",
        "SELECT checks.done('q', '1', 'me', keep => '-1 s')",
        "SELECT checks.progress('q', '1', 'half')",
        "SELECT checks.break('x', '')",
        "SELECT checks.break('x', NULL)",
        "SELECT checks.break('x', repeat('r', 1025))",
        "SELECT checks.break('x', 'why', by => repeat('b', 256))",
    };

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        PGresult *result = PQexec(connection, calls[i]);
        const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        if (code == NULL || strcmp(code, "LK064") != 0) {
            test_die("%s: %s", calls[i], code != NULL ? PQresultErrorMessage(result) : "no error");
        }
        PQclear(result);
    }
}

static int open_store(void **state) {
    struct lk_patience patience = test_patience(20000000);
    struct lk_engine *engine = NULL;
    char text[512];
    lk_error error;

    (void)state;
    (void)snprintf(text, sizeof text, "//postgres@/postgres?host=%s&schema=checks&listen=no",
                   getenv("LK_TEST_SERVER"));
    if (lk_engine_postgresql.open(lk_slice_of(text), &patience, &engine, &error) != LK_OK) {
        test_die("cannot open the store: %s", error.text);
    }
    engine->ops->close(engine);
    (void)snprintf(text, sizeof text, "postgresql://postgres@/postgres?host=%s",
                   getenv("LK_TEST_SERVER"));
    connection = PQconnectdb(text);
    return PQstatus(connection) == CONNECTION_OK ? 0 : -1;
}

static int close_store(void **state) {
    (void)state;
    PQfinish(connection);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_parts),    cmocka_unit_test(test_random_parts),
        cmocka_unit_test(test_lists_of_parts),   cmocka_unit_test(test_bytes_that_are_no_text),
        cmocka_unit_test(test_owners_and_notes), cmocka_unit_test(test_times),
        cmocka_unit_test(test_values),           cmocka_unit_test(test_pushes),
        cmocka_unit_test(test_claims_and_ends),  cmocka_unit_test(test_times_of_results),
        cmocka_unit_test(test_what_sql_adds),
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
