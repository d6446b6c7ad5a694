/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lk run in virtual time: the instants of SIGTERM and SIGKILL before the lease's deadline, and when
 * a line about a store that does not answer is due.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/run/deadline.h"
#include "cli/run/status.h"
#include "client/safe_until.h"

enum { SECOND_US = 1000000, MS_US = 1000, MINUTE_MS = 60000 };

/* Far from zero, like times since boot. */
static const int64_t start_us = 5000LL * SECOND_US;

static void check_margins(int64_t ttl_ms, int64_t terminate_before_us, int64_t kill_before_us) {
    int64_t deadline_us = start_us + ttl_ms * MS_US;
    struct lk_run_plan plan = lk_run_plan_deadline(ttl_ms, deadline_us);

    assert_int_equal(deadline_us - plan.terminate_us, terminate_before_us);
    assert_int_equal(deadline_us - plan.kill_us, kill_before_us);
}

static void margins_are_a_sixth_and_a_twentieth_of_the_ttl(void **state) {
    (void)state;
    check_margins(6000, 1000 * MS_US, 300 * MS_US);
    check_margins(1200, 200 * MS_US, 60 * MS_US);
}

static void margins_of_long_leases_are_bounded(void **state) {
    (void)state;
    check_margins(MINUTE_MS, 10 * SECOND_US, SECOND_US);
    check_margins(366LL * 86400 * 1000, 10 * SECOND_US, SECOND_US);
    check_margins(20000, 20 * SECOND_US / 6, SECOND_US);
}

static void margins_of_short_leases_leave_time_to_kill(void **state) {
    (void)state;
    check_margins(400, 400 * MS_US / 6, 20 * MS_US);
    check_margins(200, 200 * MS_US / 6, 20 * MS_US);
    /* A sixth of the shortest ttl is less than what SIGKILL needs: both come together. */
    check_margins(50, 20 * MS_US, 20 * MS_US);
}

/*
 * The store's clock is faster than the client's, and there is no renewal between the grant and its
 * end, as with a fixed end (R11). CMD must be dead before the store grants the next request, with
 * the same kill margin as without drift.
 */
static void leases_do_not_overlap_if_clocks_drift(void **state) {
    static const int64_t spans_ms[] = {
        50, 1000, 60000, 3600000, 86400000, 604800000, 366LL * 86400 * 1000};

    (void)state;
    for (size_t i = 0; i < sizeof spans_ms / sizeof spans_ms[0]; i++) {
        int64_t span_us = spans_ms[i] * MS_US;
        int64_t end_us = lk_safe_until_end_us(start_us, spans_ms[i]);
        struct lk_run_plan plan = lk_run_plan_deadline(spans_ms[i], end_us);
        int64_t margin_us = end_us - plan.kill_us;
        int64_t dead_us = plan.kill_us - start_us;
        int64_t dead_by_store_us = dead_us + dead_us / 1000000 * LK_CLOCK_DRIFT_PPM
                                   + dead_us % 1000000 * LK_CLOCK_DRIFT_PPM / 1000000;

        assert_true(margin_us >= LK_RUN_KILL_MARGIN_MIN_MS * MS_US);
        assert_true(dead_by_store_us + margin_us <= span_us);
        /* The margin for drift is at most a thousandth. */
        assert_true(end_us - start_us >= span_us - span_us / 1000);
    }
}

static void each_step_begins_at_its_instant(void **state) {
    struct lk_run_plan plan = lk_run_plan_deadline(MINUTE_MS, start_us + 60 * SECOND_US);

    (void)state;
    assert_int_equal(lk_run_plan_step(plan, start_us), LK_RUN_GO_ON);
    assert_int_equal(lk_run_plan_step(plan, start_us + 50 * SECOND_US - 1), LK_RUN_GO_ON);
    assert_int_equal(lk_run_plan_step(plan, start_us + 50 * SECOND_US), LK_RUN_TERMINATE);
    assert_int_equal(lk_run_plan_step(plan, start_us + 59 * SECOND_US - 1), LK_RUN_TERMINATE);
    assert_int_equal(lk_run_plan_step(plan, start_us + 59 * SECOND_US), LK_RUN_KILL);
    assert_int_equal(lk_run_plan_step(plan, start_us + 600LL * SECOND_US), LK_RUN_KILL);
    assert_int_equal(lk_run_plan_step(lk_run_plan_none(), INT64_MAX - 1), LK_RUN_GO_ON);
}

static void a_lease_lost_early_keeps_the_instant_of_kill(void **state) {
    int64_t lost_us = start_us + 20 * SECOND_US;
    struct lk_run_plan plan = lk_run_plan_lost(MINUTE_MS, start_us + 60 * SECOND_US, lost_us);

    (void)state;
    assert_int_equal(plan.terminate_us, lost_us);
    assert_int_equal(plan.kill_us, start_us + 59 * SECOND_US);
}

/* A store's lease may last longer than its renewal interval: for instance as long as a process. */
static void a_lost_lease_leaves_the_command_a_ttl_at_most(void **state) {
    int64_t lost_us = start_us + 20 * SECOND_US;
    struct lk_run_plan plan =
        lk_run_plan_lost(MINUTE_MS, start_us + 366LL * 86400 * SECOND_US, lost_us);

    (void)state;
    assert_int_equal(plan.terminate_us, lost_us);
    assert_int_equal(plan.kill_us, lost_us + 60 * SECOND_US);
}

static void a_lease_lost_late_leaves_the_command_a_second(void **state) {
    const int64_t instants[] = {start_us + 59 * SECOND_US, start_us + 60 * SECOND_US,
                                start_us + 4000LL * SECOND_US};

    (void)state;
    for (size_t i = 0; i < sizeof instants / sizeof instants[0]; i++) {
        struct lk_run_plan plan =
            lk_run_plan_lost(MINUTE_MS, start_us + 60 * SECOND_US, instants[i]);
        assert_int_equal(plan.terminate_us, instants[i]);
        assert_int_equal(plan.kill_us, instants[i] + SECOND_US);
    }
}

static void max_time_leaves_at_least_a_second(void **state) {
    struct lk_run_plan longer = lk_run_plan_max_time(MINUTE_MS, start_us);
    struct lk_run_plan shorter = lk_run_plan_max_time(200, start_us);

    (void)state;
    assert_int_equal(longer.terminate_us, start_us);
    assert_int_equal(longer.kill_us, start_us + 10 * SECOND_US);
    assert_int_equal(shorter.terminate_us, start_us);
    assert_int_equal(shorter.kill_us, start_us + SECOND_US);
}

static void each_instant_is_the_earlier_one_of_two_plans(void **state) {
    struct lk_run_plan a = {.terminate_us = 10, .kill_us = 90};
    struct lk_run_plan b = {.terminate_us = 20, .kill_us = 30};
    struct lk_run_plan both = lk_run_plan_sooner(a, b);

    (void)state;
    assert_int_equal(both.terminate_us, 10);
    assert_int_equal(both.kill_us, 30);
    both = lk_run_plan_sooner(b, lk_run_plan_none());
    assert_int_equal(both.terminate_us, 20);
    assert_int_equal(both.kill_us, 30);
}

static void lk_looks_every_sixth_of_the_ttl_and_at_each_instant(void **state) {
    struct lk_run_plan plan = lk_run_plan_deadline(MINUTE_MS, start_us + 60 * SECOND_US);

    (void)state;
    assert_int_equal(lk_run_plan_look_us(plan, MINUTE_MS, start_us), start_us + 10 * SECOND_US);
    assert_int_equal(lk_run_plan_look_us(plan, MINUTE_MS, start_us + 45 * SECOND_US),
                     start_us + 50 * SECOND_US);
    assert_int_equal(lk_run_plan_look_us(plan, MINUTE_MS, start_us + 50 * SECOND_US),
                     start_us + 59 * SECOND_US);
    assert_int_equal(lk_run_plan_look_us(lk_run_plan_none(), 0, start_us), LK_RUN_NEVER_US);
}

/*
 * For every ttl of a wide range and every instant of the last look: SIGKILL is due before the
 * deadline and never before SIGTERM.
 */
static void no_plan_ends_after_the_deadline(void **state) {
    (void)state;
    for (int64_t ttl_ms = 50; ttl_ms < 40LL * 86400 * 1000; ttl_ms += 1 + ttl_ms / 7) {
        int64_t deadline_us = start_us + ttl_ms * MS_US;
        struct lk_run_plan plan = lk_run_plan_deadline(ttl_ms, deadline_us);
        assert_true(plan.kill_us < deadline_us);
        assert_true(plan.terminate_us <= plan.kill_us);
        /* A renewal every third of the ttl is never overtaken by the end it prevents. */
        assert_true(plan.terminate_us >= start_us + ttl_ms * MS_US / 3);
        for (int part = 0; part < 20; part++) {
            int64_t lost_us = start_us + ttl_ms * MS_US / 20 * part;
            struct lk_run_plan lost = lk_run_plan_lost(ttl_ms, deadline_us, lost_us);
            assert_true(lost.kill_us < deadline_us || lost_us >= plan.kill_us);
            assert_true(lost.terminate_us < lost.kill_us);
        }
    }
}

/* ---- lines about a store that does not answer ------------------------------------------------ */

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
        cmocka_unit_test(margins_are_a_sixth_and_a_twentieth_of_the_ttl),
        cmocka_unit_test(margins_of_long_leases_are_bounded),
        cmocka_unit_test(margins_of_short_leases_leave_time_to_kill),
        cmocka_unit_test(leases_do_not_overlap_if_clocks_drift),
        cmocka_unit_test(each_step_begins_at_its_instant),
        cmocka_unit_test(a_lease_lost_early_keeps_the_instant_of_kill),
        cmocka_unit_test(a_lost_lease_leaves_the_command_a_ttl_at_most),
        cmocka_unit_test(a_lease_lost_late_leaves_the_command_a_second),
        cmocka_unit_test(max_time_leaves_at_least_a_second),
        cmocka_unit_test(each_instant_is_the_earlier_one_of_two_plans),
        cmocka_unit_test(lk_looks_every_sixth_of_the_ttl_and_at_each_instant),
        cmocka_unit_test(no_plan_ends_after_the_deadline),
        cmocka_unit_test(lines_come_at_growing_intervals),
        cmocka_unit_test(a_reason_is_told_as_soon_as_it_is_known),
        cmocka_unit_test(a_return_is_told_once_and_only_behind_a_line),
    };
    return cmocka_run_group_tests_name("run: deadlines", tests, NULL, NULL);
}
