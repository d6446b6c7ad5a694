/* SPDX-License-Identifier: Apache-2.0 */
/* How often a listener accepts, by an invented clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "server/connections/admission.h"

static const int64_t begun_us = 1000000;

static void note_burst(struct lk_pace *pace) {
    for (int i = 1; i < LK_PACE_BURST; i++) {
        assert_int_equal(lk_pace_note(pace, begun_us), 0);
    }
}

static void a_burst_is_accepted_at_once(void **state) {
    struct lk_pace pace = {0};

    (void)state;
    note_burst(&pace);
    assert_int_equal(lk_pace_note(&pace, begun_us), LK_PACE_PERIOD_US);
}

static void then_one_in_each_period(void **state) {
    struct lk_pace pace = {0};
    int64_t now_us = begun_us;

    (void)state;
    note_burst(&pace);
    for (int i = 0; i < 10; i++) {
        int64_t rest_us = lk_pace_note(&pace, now_us);
        assert_int_equal(rest_us, LK_PACE_PERIOD_US);
        now_us += rest_us;
    }
    assert_int_equal(lk_pace_note(&pace, now_us + LK_PACE_PERIOD_US), 0);
}

static void a_quiet_time_makes_the_burst_free_again(void **state) {
    struct lk_pace pace = {0};

    (void)state;
    note_burst(&pace);
    for (int i = 1; i < LK_PACE_BURST; i++) {
        assert_int_equal(
            lk_pace_note(&pace, begun_us + INT64_C(10) * LK_PACE_BURST * LK_PACE_PERIOD_US), 0);
    }
}

static void who_has_called_does_not_count(void **state) {
    struct lk_pace pace = {0};

    (void)state;
    for (int i = 0; i < 10 * LK_PACE_BURST; i++) {
        assert_int_equal(lk_pace_note(&pace, begun_us), 0);
        lk_pace_forget(&pace);
    }
    note_burst(&pace);
    assert_int_equal(lk_pace_note(&pace, begun_us), LK_PACE_PERIOD_US);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_is_accepted_at_once),
        cmocka_unit_test(then_one_in_each_period),
        cmocka_unit_test(who_has_called_does_not_count),
        cmocka_unit_test(a_quiet_time_makes_the_burst_free_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
