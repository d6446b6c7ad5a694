/* SPDX-License-Identifier: Apache-2.0 */
/*
 * R1, R2 and R5 to R9: every way to be no path, each with the rule and the byte that the message
 * names; the language of parts, every way to miss it, and the predicates on parts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "model/path.h"
#include "model/rules.h"

/* ---- paths ----------------------------------------------------------------------------------- */

/* What the untouched bytes of a result look like. */
#define UNTOUCHED 0xa5

static void accept(const char *bytes, size_t size, const char *expected, unsigned depth) {
    struct lk_path path;
    lk_error error;

    if (lk_path_parse((struct lk_slice){bytes, size}, &path, &error) != LK_OK) {
        fail_msg("refused: %.*s: %s", (int)size, bytes, error.text);
    }
    assert_int_equal(error.outcome, LK_OK);
    assert_int_equal(path.size, strlen(expected));
    assert_memory_equal(path.bytes, expected, path.size);
    assert_int_equal(path.depth, depth);
    assert_int_equal(path.ends[depth - 1], path.size);
}

static void accept_text(const char *text, const char *expected, unsigned depth) {
    accept(text, strlen(text), expected, depth);
}

static void refuse(const char *bytes, size_t size, size_t byte, const char *why) {
    struct lk_path path;
    struct lk_path before;
    lk_error error;
    char place[32];

    memset(&path, UNTOUCHED, sizeof path);
    memset(&before, UNTOUCHED, sizeof before);
    snprintf(place, sizeof place, "at byte %zu ", byte);
    if (lk_path_parse((struct lk_slice){bytes, size}, &path, &error) != LK_INVALID) {
        fail_msg("accepted: %.*s", (int)size, bytes);
    }
    assert_memory_equal(&path, &before, sizeof path);
    assert_int_equal(error.outcome, LK_INVALID);
    if (strncmp(error.text, "R1", 2) != 0 || strstr(error.text, place) == NULL
        || strstr(error.text, why) == NULL) {
        fail_msg("for '%.*s' the message is: %s", (int)size, bytes, error.text);
    }
    assert_int_equal(lk_path_parse((struct lk_slice){bytes, size}, &path, NULL), LK_INVALID);
}

static void refuse_text(const char *text, size_t byte, const char *why) {
    refuse(text, strlen(text), byte, why);
}

static void valid_paths_are_parsed(void **state) {
    (void)state;
    accept_text("a", "a", 1);
    accept_text("mydatabase/mytest", "mydatabase/mytest", 2);
    accept_text("/a/b/", "a/b", 2);
    accept_text("a/", "a", 1);
    accept_text(".a/..b/...", ".a/..b/...", 3);
    accept_text("a=b&c#d%25:~!", "a=b&c#d%25:~!", 1);
    accept_text("gr\xc3\xbc\xc3\x9f"
                "e/\xe6\x97\xa5\xe6\x9c\xac/\xf0\x9f\x94\x92",
                "gr\xc3\xbc\xc3\x9f"
                "e/\xe6\x97\xa5\xe6\x9c\xac/\xf0\x9f\x94\x92",
                3);
}

static void empty_segments_are_refused(void **state) {
    (void)state;
    refuse("", 0, 1, "at least one segment");
    refuse(NULL, 0, 1, "at least one segment");
    refuse_text("/", 2, "at least one segment");
    refuse_text("//", 2, "at least one segment");
    refuse_text("a//b", 3, "at least one byte");
    refuse_text("//a", 2, "at least one byte");
    refuse_text("a//", 3, "at least one byte");
}

static void dots(void **state) {
    (void)state;
    refuse_text(".", 1, "'.'");
    refuse_text("..", 1, "'..'");
    refuse_text("a/../b", 3, "'..'");
    refuse_text("/a/.", 4, "'.'");
}

static void characters(void **state) {
    (void)state;
    refuse_text("a?b", 2, "'?'");
    refuse_text("a/{b", 3, "'{'");
    refuse_text("a}/b", 2, "'}'");
    refuse_text("a b", 2, "white space");
    refuse_text("a b", 2, "write a blank as %20");
    refuse_text("a\tb", 2, "");
    refuse_text("a/b\n", 4, "");
    refuse_text("\x7f", 1, "control");
    refuse_text("a\x01", 2, "control");
    refuse("a\0b", 3, 2, "control");
    refuse_text("a\xc2\x85", 2, ""); /* next line */
    refuse_text("a\xc2\xa0", 2, "white space");
    refuse_text("ab/c\xe2\x80\x83", 5, "white space");
    refuse_text("ab/c\xe3\x80\x80", 5, "white space");
}

static void bytes_that_are_not_utf8_are_refused(void **state) {
    static const char *const broken[] = {
        "a\x80",             /* a continuation without a start */
        "a\xc3",             /* cut */
        "a\xc3/",            /* cut by a slash */
        "a\xc0\xaf",         /* an overlong slash */
        "a\xe0\x80\xaf",     /* another */
        "a\xed\xa0\x80",     /* a surrogate */
        "a\xf4\x90\x80\x80", /* behind the last character */
        "a\xf8\x88\x80\x80\x80",
        "a\xff",
    };

    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        refuse_text(broken[i], 2, "UTF-8");
    }
}

static void lengths(void **state) {
    char text[LK_PATH_BYTES_MAX + 8];
    char whole[LK_PATH_BYTES_MAX + 1];

    (void)state;
    memset(text, 'a', sizeof text);
    text[LK_SEGMENT_BYTES_MAX] = '\0';
    accept_text(text, text, 1);
    text[LK_SEGMENT_BYTES_MAX] = 'a';
    refuse(text, LK_SEGMENT_BYTES_MAX + 1, 1, "255");
    text[LK_SEGMENT_BYTES_MAX] = '/';
    text[LK_SEGMENT_BYTES_MAX + 100] = '/';
    text[LK_PATH_BYTES_MAX] = '\0';
    memcpy(whole, text, sizeof whole);
    accept(text, LK_PATH_BYTES_MAX, whole, 3);
    text[LK_PATH_BYTES_MAX] = 'a';
    refuse(text, LK_PATH_BYTES_MAX + 1, LK_PATH_BYTES_MAX + 1, "512");
    text[LK_PATH_BYTES_MAX] = '/'; /* dropped before the bytes are counted */
    accept(text, LK_PATH_BYTES_MAX + 1, whole, 3);
}

static void depths(void **state) {
    char text[2 * LK_PATH_DEPTH_MAX + 2];

    (void)state;
    for (size_t i = 0; i <= LK_PATH_DEPTH_MAX; i++) {
        text[2 * i] = 'a';
        text[2 * i + 1] = '/';
    }
    text[2 * LK_PATH_DEPTH_MAX - 1] = '\0';
    accept_text(text, text, LK_PATH_DEPTH_MAX);
    text[2 * LK_PATH_DEPTH_MAX - 1] = '/';
    refuse(text, 2 * LK_PATH_DEPTH_MAX + 1, 2 * LK_PATH_DEPTH_MAX + 1, "32");
}

static struct lk_path path_of(const char *text) {
    struct lk_path path;

    assert_int_equal(lk_path_parse(lk_slice_of(text), &path, NULL), LK_OK);
    return path;
}

static void segments(void **state) {
    struct lk_path path = path_of("/first/second/third");

    (void)state;
    assert_true(lk_slice_equal(lk_path_root(&path), lk_slice_of("first")));
    assert_true(lk_slice_equal(lk_path_segment(&path, 1), lk_slice_of("second")));
    assert_true(lk_slice_equal(lk_path_segment(&path, 2), lk_slice_of("third")));
}

static void r5_relations(void **state) {
    struct lk_path db = path_of("db");
    struct lk_path t1 = path_of("db/t1");
    struct lk_path t2 = path_of("db/t2");
    struct lk_path db2 = path_of("db2");

    (void)state;
    assert_true(lk_path_related(&db, &t1) && lk_path_related(&t1, &db));
    assert_true(lk_path_related(&t1, &t1) && lk_path_equal(&t1, &t1));
    assert_false(lk_path_related(&t1, &t2));
    assert_false(lk_path_related(&db, &db2) || lk_path_related(&db2, &db));
    assert_true(lk_path_contains(&db, &t1) && lk_path_contains(&db, &db));
    assert_false(lk_path_contains(&t1, &db) || lk_path_contains(&db, &db2));
    assert_true(lk_path_compare(&db, &t1) < 0 && lk_path_compare(&t2, &t1) > 0
                && lk_path_compare(&t1, &t1) == 0);
}

/* ---- parts ----------------------------------------------------------------------------------- */

#define UNTOUCHED_PART 0xa5

static struct lk_part part_with(const char *text, const struct lk_part_defaults *defaults) {
    struct lk_part part;
    lk_error error;

    if (lk_part_parse(lk_slice_of(text), defaults, &part, &error) != LK_OK) {
        fail_msg("refused: %s: %s", text, error.text);
    }
    return part;
}

static struct lk_part part_of(const char *text) {
    return part_with(text, NULL);
}

static void accept_with(const char *text, const struct lk_part_defaults *defaults,
                        enum lk_mode mode, uint32_t limit, uint32_t units) {
    struct lk_part part = part_with(text, defaults);

    if (part.mode != mode || part.limit != limit || part.units != units) {
        fail_msg("%s became mode %d, limit %u, units %u", text, (int)part.mode,
                 (unsigned)part.limit, (unsigned)part.units);
    }
    assert_int_equal(lk_parts_check(&part, 1, NULL), LK_OK);
}

/* `place` is "" where no byte can be named. */
static void refuse_with(const char *text, const struct lk_part_defaults *defaults,
                        const char *place, const char *why) {
    struct lk_part part;
    struct lk_part before;
    lk_error error;

    memset(&part, UNTOUCHED_PART, sizeof part);
    memset(&before, UNTOUCHED_PART, sizeof before);
    if (lk_part_parse(lk_slice_of(text), defaults, &part, &error) != LK_INVALID) {
        fail_msg("accepted: %s", text);
    }
    assert_memory_equal(&part, &before, sizeof part);
    if (error.outcome != LK_INVALID || strstr(error.text, place) == NULL
        || strstr(error.text, why) == NULL || error.text[0] != 'R') {
        fail_msg("for '%s' the message is: %s", text, error.text);
    }
}

static void refuse_part(const char *text, const char *place, const char *why) {
    refuse_with(text, NULL, place, why);
}

static void valid_parts_are_parsed(void **state) {
    (void)state;
    accept_with("db/t1", NULL, LK_EXCLUSIVE, 0, 0);
    accept_with("db?shared", NULL, LK_SHARED, 0, 1);
    accept_with("pool?limit=10", NULL, LK_SHARED, 10, 1);
    accept_with("pool?limit=10&units=2", NULL, LK_SHARED, 10, 2);
    accept_with("pool?shared?limit=10&units=2", NULL, LK_SHARED, 10, 2);
    accept_with("pool?units=2&limit=10&shared", NULL, LK_SHARED, 10, 2);
    accept_with("pool?limit=2147483647&units=2147483647", NULL, LK_SHARED, LK_LIMIT_MAX,
                LK_LIMIT_MAX);
    accept_with("pool?limit=1&units=1", NULL, LK_SHARED, 1, 1);
}

static void unknown_words_are_refused(void **state) {
    (void)state;
    refuse_part("db?", "at byte 4 ", "R2");
    refuse_part("db?exclusive", "at byte 4 ", "R2");
    refuse_part("db?Shared", "at byte 4 ", "R2");
    refuse_part("db?shared&", "at byte 11 ", "R2");
    refuse_part("db?shared=1", "at byte 4 ", "R2");
    refuse_part("db?limit", "at byte 4 ", "R2");
    refuse_part("db?shared&colour=red", "at byte 11 ", "R2");
    refuse_part("db?shared shared", "at byte 4 ", "R2");
}

static void malformed_numbers_are_refused(void **state) {
    static const char *const numbers[] = {"",     "0",          "-1",          "+1",  "1.5",
                                          "0x10", "2147483648", "99999999999", "1e3", " 1"};
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(text, sizeof text, "pool?limit=%s", numbers[i]);
        refuse_part(text, "at byte 12 ", "R2");
        snprintf(text, sizeof text, "pool?limit=3&units=%s", numbers[i]);
        refuse_part(text, "at byte 20 ", "R2");
    }
}

static void repeated_words_are_refused(void **state) {
    (void)state;
    refuse_part("db?shared?shared", "at byte 11 ", "once");
    refuse_part("db?limit=2&limit=2", "at byte 12 ", "once");
    refuse_part("db?limit=2&units=1&units=1", "at byte 20 ", "once");
}

static void units_and_limits(void **state) {
    (void)state;
    refuse_part("db?units=2", "", "units need a limit");
    refuse_part("db?shared&units=2", "", "units need a limit");
    refuse_part("db?limit=2&units=3", "", "R2");
}

static void a_bad_path_is_refused_with_r1(void **state) {
    (void)state;
    refuse_part("?shared", "at byte 1 ", "R1");
    refuse_part("a//b?shared", "at byte 3 ", "R1");
    refuse_part("a b", "at byte 2 ", "R1");
    refuse_part("", "at byte 1 ", "R1");
}

static void defaults_are_filled_in(void **state) {
    const struct lk_part_defaults shared = {.shared = true};
    const struct lk_part_defaults limited = {.limit = 5, .units = 2};
    const struct lk_part_defaults units = {.units = 2};
    const struct lk_part_defaults broken = {.limit = 2, .units = 3};

    (void)state;
    accept_with("db", &shared, LK_SHARED, 0, 1);
    accept_with("db?limit=3", &shared, LK_SHARED, 3, 1);
    accept_with("db", &limited, LK_SHARED, 5, 2);
    accept_with("db?shared", &limited, LK_SHARED, 5, 2);
    accept_with("db?limit=9", &limited, LK_SHARED, 9, 2);
    accept_with("db?limit=9&units=4", &limited, LK_SHARED, 9, 4);
    accept_with("db?limit=4", &units, LK_SHARED, 4, 2);
    refuse_with("db", &units, "", "units need a limit");
    refuse_with("db", &broken, "", "R2");
    refuse_with("db?units=2", &limited, "", "units need a limit"); /* D11: in the same text */
}

static void requests_of_parts(void **state) {
    struct lk_part parts[LK_PARTS_MAX + 1];
    char names[LK_PARTS_MAX + 1][8];
    lk_error error;

    (void)state;
    for (size_t i = 0; i <= LK_PARTS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "p%zu", i);
        parts[i] = part_of(names[i]);
    }
    assert_int_equal(lk_parts_check(parts, LK_PARTS_MAX, &error), LK_OK);
    assert_int_equal(lk_parts_check(parts, LK_PARTS_MAX + 1, &error), LK_INVALID);
    assert_non_null(strstr(error.text, "R2"));
    assert_int_equal(lk_parts_check(parts, 0, &error), LK_INVALID);
    parts[7] = part_of("/p3/");
    assert_int_equal(lk_parts_check(parts, LK_PARTS_MAX, &error), LK_INVALID);
    assert_non_null(strstr(error.text, "part 8"));
    assert_non_null(strstr(error.text, "p3"));
}

static void numbers_given_by_a_program_are_checked(void **state) {
    static const struct {
        enum lk_mode mode;
        uint32_t limit;
        uint32_t units;
    } impossible[] = {{LK_EXCLUSIVE, 1, 0},
                      {LK_EXCLUSIVE, 0, 1},
                      {LK_SHARED, 0, 0},
                      {LK_SHARED, 0, 2},
                      {LK_SHARED, 3, 0},
                      {LK_SHARED, 3, 4},
                      {LK_SHARED, UINT32_C(1) << 31, 1},
                      {(enum lk_mode)7, 0, 1}};
    struct lk_part part = part_of("p");
    lk_error error;

    (void)state;
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        part.mode = impossible[i].mode;
        part.limit = impossible[i].limit;
        part.units = impossible[i].units;
        assert_int_equal(lk_parts_check(&part, 1, &error), LK_INVALID);
        assert_non_null(strstr(error.text, "part 1"));
    }
}

static bool parts_conflict(const struct lk_part *a, const struct lk_part *b) {
    return lk_modes_conflict(a->mode, b->mode) && lk_path_related(&a->path, &b->path);
}

static bool conflict(const char *a, const char *b) {
    struct lk_part left = part_of(a);
    struct lk_part right = part_of(b);

    assert_int_equal(parts_conflict(&left, &right), parts_conflict(&right, &left));
    return parts_conflict(&left, &right);
}

static void r6_conflicts(void **state) {
    (void)state;
    assert_true(conflict("db", "db/t1?shared"));
    assert_true(conflict("db?limit=9", "db"));
    assert_false(conflict("db?shared", "db/t1?shared"));
    assert_false(conflict("db?limit=1", "db?limit=1"));
    assert_false(conflict("db", "db2"));
    assert_false(conflict("db/t1", "db/t2"));
}

static bool cover(const char *held, const char *asked) {
    struct lk_part left = part_of(held);
    struct lk_part right = part_of(asked);

    return lk_part_covers(&left, &right);
}

static void r8_covers(void **state) {
    (void)state;
    assert_true(cover("db", "db") && cover("db", "db/t1?shared") && cover("db", "db?limit=1"));
    assert_false(cover("db/t1", "db") || cover("db", "db2"));
    assert_true(cover("db?shared", "db/t1?shared"));
    assert_false(cover("db?shared", "db/t1") || cover("db?shared", "db?limit=2"));
    assert_false(cover("db?limit=2", "db?shared") || cover("db?limit=2", "db?limit=2"));
}

static bool stronger(const char *present, const char *asked) {
    struct lk_part left = part_of(present);
    struct lk_part right = part_of(asked);

    return lk_part_is_stronger(&left, &right);
}

static void r9_stronger(void **state) {
    (void)state;
    assert_true(stronger("p?shared", "p") && stronger("p?limit=3", "p"));
    assert_true(stronger("p?limit=3", "p?limit=3&units=2"));
    assert_true(stronger("p?shared", "p?limit=3&units=2"));
    assert_false(stronger("p", "p") || stronger("p", "p?shared"));
    assert_false(stronger("p", "p?limit=9&units=9"));
    assert_false(stronger("p?limit=3", "p?limit=9") || stronger("p?limit=9", "p?limit=3"));
    assert_false(stronger("p?limit=3&units=2", "p?shared"));
}

static void r7_fits(void **state) {
    struct lk_part part = part_of("p?limit=10&units=4");
    struct lk_part free_of_limit = part_of("p?shared");

    (void)state;
    assert_true(lk_units_fit(part.limit, part.units, 0) && lk_units_fit(part.limit, part.units, 6));
    assert_false(lk_units_fit(part.limit, part.units, 7)
                 || lk_units_fit(part.limit, part.units, UINT64_C(1) << 40));
    assert_true(lk_units_fit(free_of_limit.limit, free_of_limit.units, UINT64_C(1) << 40));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_paths_are_parsed),
        cmocka_unit_test(empty_segments_are_refused),
        cmocka_unit_test(dots),
        cmocka_unit_test(characters),
        cmocka_unit_test(bytes_that_are_not_utf8_are_refused),
        cmocka_unit_test(lengths),
        cmocka_unit_test(depths),
        cmocka_unit_test(segments),
        cmocka_unit_test(r5_relations),
        cmocka_unit_test(valid_parts_are_parsed),
        cmocka_unit_test(unknown_words_are_refused),
        cmocka_unit_test(malformed_numbers_are_refused),
        cmocka_unit_test(repeated_words_are_refused),
        cmocka_unit_test(units_and_limits),
        cmocka_unit_test(a_bad_path_is_refused_with_r1),
        cmocka_unit_test(defaults_are_filled_in),
        cmocka_unit_test(requests_of_parts),
        cmocka_unit_test(numbers_given_by_a_program_are_checked),
        cmocka_unit_test(r6_conflicts),
        cmocka_unit_test(r8_covers),
        cmocka_unit_test(r9_stronger),
        cmocka_unit_test(r7_fits),
    };

    return cmocka_run_group_tests_name("paths", tests, NULL, NULL);
}
