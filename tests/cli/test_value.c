/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, durations and instants: what is taken, what is refused, and where. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/parse/value.h"
#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const int64_t untouched = -77;

static void a_number_is_digits_within_its_bounds(void **state) {
    static const struct {
        const char *text;
        int64_t number;
    } good[] = {{"1", 1}, {"007", 7}, {"2147483647", 2147483647}};
    (void)state;

    for (size_t i = 0; i < COUNT(good); i++) {
        int64_t number = untouched;
        assert_int_equal(lk_number_parse(good[i].text, 1, 2147483647, &number, NULL), LK_OK);
        assert_int_equal(number, good[i].number);
    }
}

static void a_number_can_be_the_largest_of_its_type(void **state) {
    int64_t number = untouched;
    (void)state;

    assert_int_equal(lk_number_parse("9223372036854775807", 1, INT64_MAX, &number, NULL), LK_OK);
    assert_true(number == INT64_MAX);
    number = untouched;
    assert_int_equal(lk_number_parse("9223372036854775808", 1, INT64_MAX, &number, NULL),
                     LK_INVALID);
    assert_int_equal(number, untouched);
}

static void a_number_of_one_digit_is_checked_against_its_bound(void **state) {
    int64_t number = untouched;
    (void)state;

    assert_int_equal(lk_number_parse("3", 0, 3, &number, NULL), LK_OK);
    assert_int_equal(number, 3);
    number = untouched;
    assert_int_equal(lk_number_parse("5", 0, 3, &number, NULL), LK_INVALID);
    assert_int_equal(number, untouched);
}

static void a_bad_number_is_refused_with_its_position(void **state) {
    static const struct {
        const char *text;
        const char *said;
    } bad[] = {
        {"", "byte 1"},
        {"x", "byte 1"},
        {"-1", "less than 1"},
        {"-", "byte 1"},
        {"-1x", "byte 1"},
        {"+1", "byte 1"},
        {" 1", "byte 1"},
        {"1 ", "byte 2"},
        {"1e3", "byte 2"},
        {"0x10", "byte 2"},
        {"12,5", "byte 3"},
        {"1.0", "byte 2"},
        {"0", "less than 1"},
        {"2147483648", "greater than 2147483647"},
        {"99999999999999999999999", "greater than 2147483647"},
    };
    (void)state;

    for (size_t i = 0; i < COUNT(bad); i++) {
        int64_t number = untouched;
        lk_error error = {.text = ""};
        assert_int_equal(lk_number_parse(bad[i].text, 1, 2147483647, &number, &error), LK_INVALID);
        assert_int_equal(number, untouched);
        assert_int_equal(error.outcome, LK_INVALID);
        assert_non_null(strstr(error.text, bad[i].said));
    }
}

static void durations_have_units_and_decimals(void **state) {
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {
        {"0", 0},
        {"250ms", 250},
        {"10s", 10000},
        {"5m", 300000},
        {"2h", 7200000},
        {"3d", 259200000},
        {"10", 10000},
        {"1.5", 1500},
        {"0.25", 250},
        {".5s", 500},
        {"1.5h", 5400000},
        {"0.1d", 8640000},
        {"2.5ms", 3},
        {"0.0001", 1},
        {"0.000", 0},
        {"1.0000000001", 1001},
        {".202873020730202d", 17528229},
        {"36600d", LK_DURATION_MAX_MS},
        {"1h30m", 5400000},
        {"1w", 604800000},
        {"2w3d", 1468800000},
        {"1m.5s250ms", 60750},
    };
    (void)state;

    for (size_t i = 0; i < COUNT(good); i++) {
        int64_t ms = untouched;
        assert_int_equal(lk_duration_parse(good[i].text, &ms, NULL), LK_OK);
        assert_int_equal(ms, good[i].ms);
    }
}

static void a_bad_duration_is_refused_with_its_position(void **state) {
    static const struct {
        const char *text;
        const char *said;
    } bad[] = {
        {"", "byte 1"},
        {"s", "byte 1"},
        {"-5", "byte 1"},
        {"+5", "byte 1"},
        {" 5", "byte 1"},
        {"5 s", "byte 2"},
        {"5x", "byte 2"},
        {"5S", "byte 2"},
        {"5sec", "byte 2"},
        {"1m30", "byte 5"},
        {"30s1m", "byte 5"},
        {"1m1m", "byte 4"},
        {"1d36600d", "byte 8"},
        {"5000w5000d", "hundred years"},
        {"1h ", "byte 2"},
        {"1.", "byte 2"},
        {".", "byte 1"},
        {"1.5.5", "byte 4"},
        {"1e3", "byte 2"},
        {"inf", "byte 1"},
        {"nan", "byte 1"},
        {"0x5", "byte 2"},
        {"1,5", "byte 2"},
        {"36601d", "hundred years"},
        {"36600.1d", "hundred years"},
        {"99999999999999999999999999d", "hundred years"},
    };
    (void)state;

    for (size_t i = 0; i < COUNT(bad); i++) {
        int64_t ms = untouched;
        lk_error error = {.text = ""};
        assert_int_equal(lk_duration_parse(bad[i].text, &ms, &error), LK_INVALID);
        assert_int_equal(ms, untouched);
        assert_non_null(strstr(error.text, bad[i].said));
    }
}

/* 2026-11-21T12:00:00Z */
#define NOON_MS INT64_C(1795262400000)

static void times_of_rfc_3339_are_parsed(void **state) {
    static const struct {
        const char *text;
        int64_t after_noon_ms;
    } good[] = {
        {"2026-11-21T12:00:01Z", 1000},      {"2026-11-21t12:00:01z", 1000},
        {"2026-11-21 12:00:01Z", 1000},      {"2026-11-21T13:00:01+01:00", 1000},
        {"2026-11-21T06:30:01-05:30", 1000}, {"2026-11-21T12:00:00.250Z", 250},
        {"2026-11-21T12:00:00.1239Z", 123},  {"2026-11-21T12:00:60Z", 60000},
        {"2026-11-22T00:00:00+12:00", -1},   {"2028-02-29T12:00:00Z", INT64_C(465) * 86400000},
    };
    (void)state;

    for (size_t i = 0; i < COUNT(good); i++) {
        int64_t unix_ms = untouched;
        lk_outcome expected = good[i].after_noon_ms > 0 ? LK_OK : LK_INVALID;
        assert_int_equal(lk_time_parse(good[i].text, NOON_MS, &unix_ms, NULL), expected);
        assert_int_equal(unix_ms, expected == LK_OK ? NOON_MS + good[i].after_noon_ms : untouched);
    }
}

static void a_time_of_day_is_its_next_occurrence(void **state) {
    static const struct {
        const char *text;
        int64_t hours_after_noon; /* UTC */
        int64_t seconds;
    } good[] = {
        {"17:00", 4, 0},                          /* local time is one hour ahead in winter */
        {"17:00:30", 4, 30},    {"13:00", 24, 0}, /* now: so tomorrow's */
        {"12:59", 23, 59 * 60}, {"00:00", 11, 0},
    };
    (void)state;

    assert_int_equal(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
    tzset();
    for (size_t i = 0; i < COUNT(good); i++) {
        int64_t unix_ms = untouched;
        assert_int_equal(lk_time_parse(good[i].text, NOON_MS, &unix_ms, NULL), LK_OK);
        assert_int_equal(unix_ms,
                         NOON_MS + good[i].hours_after_noon * 3600000 + good[i].seconds * 1000);
    }
    assert_int_equal(unsetenv("TZ"), 0);
    tzset();
}

static void a_date_is_of_local_time(void **state) {
    static const char *const good[] = {"2026-11-23", "2026-11-23 00:00", "2026-11-23T00:00"};
    (void)state;

    assert_int_equal(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
    tzset();
    for (size_t i = 0; i < COUNT(good); i++) {
        int64_t unix_ms = untouched;
        assert_int_equal(lk_time_parse(good[i], NOON_MS, &unix_ms, NULL), LK_OK);
        assert_int_equal(unix_ms, NOON_MS + 35 * 3600000);
    }
    assert_int_equal(unsetenv("TZ"), 0);
    tzset();
}

static void a_time_of_day_respects_daylight_saving(void **state) {
    /* 2026-10-24T12:00:00Z is 14:00 in summer; the clocks go back in the night. */
    const int64_t now_ms = INT64_C(1792843200000);
    int64_t unix_ms = untouched;
    (void)state;

    assert_int_equal(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
    tzset();
    assert_int_equal(lk_time_parse("13:00", now_ms, &unix_ms, NULL), LK_OK);
    assert_int_equal(unix_ms, now_ms + 24 * 3600000);
    assert_int_equal(unsetenv("TZ"), 0);
    tzset();
}

static void a_bad_time_is_refused_with_its_position(void **state) {
    static const struct {
        const char *text;
        const char *said;
    } bad[] = {
        {"", "byte 1"},
        {"tomorrow", "byte 1"},
        {"24:00", "byte 1"},
        {"12:60", "byte 4"},
        {"7:00", "byte 2"},
        {"17:0", "byte 5"},
        {"17:00x", "byte 6"},
        {"17:00Z", "byte 6"},
        {"2030-02-29T00:00:00Z", "byte 9"},
        {"2030-13-01T00:00:00Z", "byte 6"},
        {"2030-00-01T00:00:00Z", "byte 6"},
        {"2030-01-00T00:00:00Z", "byte 9"},
        {"2030-01-31T24:00:00Z", "byte 12"},
        {"2030-01-31T17:00Z", "byte 17"},
        {"2030-01-31T17:00:00", "byte 20"},
        {"2030-01-31T17:00:00.Z", "byte 21"},
        {"2030-01-31T17:00:00+0100", "byte 23"},
        {"2030-01-31T17:00:00+25:00", "byte 21"},
        {"2030-01-31T17:00:00Zulu", "byte 21"},
        {"2030-1-31T17:00:00Z", "byte 7"},
        {"1970-01-01T00:00:00Z", "not in the future"},
        {"1969-01-01T00:00:00Z", "not in the future"},
        {"2026-11-21T12:00:00Z", "not in the future"},
    };
    (void)state;

    for (size_t i = 0; i < COUNT(bad); i++) {
        int64_t unix_ms = untouched;
        lk_error error = {.text = ""};
        assert_int_equal(lk_time_parse(bad[i].text, NOON_MS, &unix_ms, &error), LK_INVALID);
        assert_int_equal(unix_ms, untouched);
        assert_non_null(strstr(error.text, bad[i].said));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_digits_within_its_bounds),
        cmocka_unit_test(a_number_can_be_the_largest_of_its_type),
        cmocka_unit_test(a_number_of_one_digit_is_checked_against_its_bound),
        cmocka_unit_test(a_bad_number_is_refused_with_its_position),
        cmocka_unit_test(durations_have_units_and_decimals),
        cmocka_unit_test(a_bad_duration_is_refused_with_its_position),
        cmocka_unit_test(times_of_rfc_3339_are_parsed),
        cmocka_unit_test(a_time_of_day_is_its_next_occurrence),
        cmocka_unit_test(a_date_is_of_local_time),
        cmocka_unit_test(a_time_of_day_respects_daylight_saving),
        cmocka_unit_test(a_bad_time_is_refused_with_its_position),
    };
    return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
