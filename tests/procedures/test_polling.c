/* SPDX-License-Identifier: Apache-2.0 */
/* How long a worker rests that has found only items behind locks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "engine/procedures/polling.h"

#define MS INT64_C(1000)

static int64_t rest_after(int64_t took_us) {
    return lk_procedures_rest_us(&(struct lk_wait_cursor){.took_us = took_us});
}

static void it_rests_in_proportion_to_the_take(void **state) {
    (void)state;
    assert_int_equal(rest_after(0), 100 * MS); /* unknown */
    assert_int_equal(rest_after(2 * MS), 100 * MS);
    assert_int_equal(rest_after(100 * MS), 900 * MS);
    assert_int_equal(rest_after(3000 * MS), 2000 * MS);
    assert_int_equal(rest_after(INT64_MAX), 2000 * MS);
}

static void it_rests_until_something_is_due(void **state) {
    int64_t due_us = lk_clock_now_us() + 1000;
    const struct lk_wait_cursor cursor = {.in_the_way = 1, .took_us = 1000 * MS, .due_us = due_us};

    (void)state;
    assert_true(lk_procedures_claim_poll_us(&cursor) <= due_us + LK_PROCEDURES_POLL_MIN_US);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_rests_in_proportion_to_the_take),
        cmocka_unit_test(it_rests_until_something_is_due),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
