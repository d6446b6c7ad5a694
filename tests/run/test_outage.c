/* SPDX-License-Identifier: Apache-2.0 */
/* When a line about a store that does not answer is due, in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/run/status.h"

static void lines_come_at_growing_intervals(void **state) {
    struct lk_run_outage_log log = {.next_ms = 0};
    int64_t said_ms[16];
    size_t count = 0;
    (void)state;

    for (int64_t away_ms = 0; away_ms < 60000; away_ms += LK_RUN_OUTAGE_LOOK_MS) {
        if (lk_run_outage_log_next(&log, away_ms, true) == LK_RUN_OUTAGE_AWAY) {
            assert_true(count < 16);
            said_ms[count++] = away_ms;
        }
    }
    assert_int_equal(count, 6);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(said_ms[i], 1000 << i);
    }
}

static void a_reason_is_told_as_soon_as_it_is_known(void **state) {
    struct lk_run_outage_log log = {.next_ms = 0};
    (void)state;

    assert_int_equal(lk_run_outage_log_next(&log, 1000, false), LK_RUN_OUTAGE_AWAY);
    assert_int_equal(lk_run_outage_log_next(&log, 1100, false), LK_RUN_OUTAGE_NOTHING);
    assert_int_equal(lk_run_outage_log_next(&log, 1200, true), LK_RUN_OUTAGE_AWAY);
    assert_int_equal(lk_run_outage_log_next(&log, 1300, true), LK_RUN_OUTAGE_NOTHING);
    assert_int_equal(lk_run_outage_log_next(&log, 2300, true), LK_RUN_OUTAGE_NOTHING);
    assert_int_equal(lk_run_outage_log_next(&log, 2400, true), LK_RUN_OUTAGE_AWAY);
}

static void a_return_is_told_once_and_only_behind_a_line(void **state) {
    struct lk_run_outage_log log = {.next_ms = 0};
    (void)state;

    assert_int_equal(lk_run_outage_log_next(&log, 900, true), LK_RUN_OUTAGE_NOTHING);
    assert_int_equal(lk_run_outage_log_next(&log, 0, false), LK_RUN_OUTAGE_NOTHING);
    assert_int_equal(lk_run_outage_log_next(&log, 1000, true), LK_RUN_OUTAGE_AWAY);
    assert_int_equal(lk_run_outage_log_next(&log, 0, false), LK_RUN_OUTAGE_BACK);
    assert_int_equal(lk_run_outage_log_next(&log, 0, false), LK_RUN_OUTAGE_NOTHING);
    assert_int_equal(lk_run_outage_log_next(&log, 1000, true), LK_RUN_OUTAGE_AWAY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_at_growing_intervals),
        cmocka_unit_test(a_reason_is_told_as_soon_as_it_is_known),
        cmocka_unit_test(a_return_is_told_once_and_only_behind_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
