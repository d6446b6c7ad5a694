/* SPDX-License-Identifier: Apache-2.0 */
/* R2 and the predicates on parts (R6 to R9): the language of parts, and every way to miss it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "model/rules.h"

#define UNTOUCHED 0xa5

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

    memset(&part, UNTOUCHED, sizeof part);
    memset(&before, UNTOUCHED, sizeof before);
    if (lk_part_parse(lk_slice_of(text), defaults, &part, &error) != LK_INVALID) {
        fail_msg("accepted: %s", text);
    }
    assert_memory_equal(&part, &before, sizeof part);
    if (error.outcome != LK_INVALID || strstr(error.text, place) == NULL
        || strstr(error.text, why) == NULL || error.text[0] != 'R') {
        fail_msg("for '%s' the message is: %s", text, error.text);
    }
}

static void refuse(const char *text, const char *place, const char *why) {
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
    refuse("db?", "at byte 4 ", "R2");
    refuse("db?exclusive", "at byte 4 ", "R2");
    refuse("db?Shared", "at byte 4 ", "R2");
    refuse("db?shared&", "at byte 11 ", "R2");
    refuse("db?shared=1", "at byte 4 ", "R2");
    refuse("db?limit", "at byte 4 ", "R2");
    refuse("db?shared&colour=red", "at byte 11 ", "R2");
    refuse("db?shared shared", "at byte 4 ", "R2");
}

static void malformed_numbers_are_refused(void **state) {
    static const char *const numbers[] = {"",     "0",          "-1",          "+1",  "1.5",
                                          "0x10", "2147483648", "99999999999", "1e3", " 1"};
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(text, sizeof text, "pool?limit=%s", numbers[i]);
        refuse(text, "at byte 12 ", "R2");
        snprintf(text, sizeof text, "pool?limit=3&units=%s", numbers[i]);
        refuse(text, "at byte 20 ", "R2");
    }
}

static void repeated_words_are_refused(void **state) {
    (void)state;
    refuse("db?shared?shared", "at byte 11 ", "once");
    refuse("db?limit=2&limit=2", "at byte 12 ", "once");
    refuse("db?limit=2&units=1&units=1", "at byte 20 ", "once");
}

static void units_and_limits(void **state) {
    (void)state;
    refuse("db?units=2", "", "units need a limit");
    refuse("db?shared&units=2", "", "units need a limit");
    refuse("db?limit=2&units=3", "", "R2");
}

static void a_bad_path_is_refused_with_r1(void **state) {
    (void)state;
    refuse("?shared", "at byte 1 ", "R1");
    refuse("a//b?shared", "at byte 3 ", "R1");
    refuse("a b", "at byte 2 ", "R1");
    refuse("", "at byte 1 ", "R1");
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

    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
