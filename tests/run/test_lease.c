/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting in line, keeping the lease, and losing it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stage.h"
#include "store.h"

/* Starts a run that holds `x` until it is ended, and waits until it does. */
static pid_t start_holder(struct stage *stage, const char *ttl, const char *ready) {
    pid_t run = STAGE_START(stage, "run", "x", "--owner", "holder", "--ttl", ttl, "--",
                            stage_actor(), "hold", ready);

    stage_await(ready);
    return run;
}

static void end_holder(struct stage *stage, pid_t run) {
    kill(run, SIGTERM);
    assert_int_equal(stage_end(stage, run), 128 + SIGTERM);
}

static void break_now(struct stage *stage) {
    assert_int_equal(STAGE_RUN(stage, "break", "x", "--reason", "test", "--now"), 0);
}

/* ---- in line --------------------------------------------------------------------------------- */

static void one_runs_after_the_other(void **state) {
    struct stage *stage = *state;
    const char *out = stage_path(stage, "order");
    const char *ready = stage_path(stage, "ready");
    const char *script = stage_text(stage, "echo 1 >%s; cat <%s/fifo; echo first >>%s", ready,
                                    stage->directory, out);

    assert_int_equal(system(stage_text(stage, "mkfifo %s/fifo", stage->directory)), 0);
    pid_t first = STAGE_START(stage, "run", "x", "--", "sh", "-c", script);
    stage_await(ready);
    pid_t second = STAGE_START(stage, "run", "x", "--", "sh", "-c",
                               stage_text(stage, "echo second >>%s", out));
    stage_await_listed(stage, "x", "waiting");
    assert_false(stage_exists(out));
    assert_int_equal(system(stage_text(stage, ": >%s/fifo", stage->directory)), 0);
    assert_int_equal(stage_end(stage, first), 0);
    assert_int_equal(stage_end(stage, second), 0);
    assert_string_equal(stage_read(stage, out), "first\nsecond\n");
}

static void who_is_refused_says_by_whom(void **state) {
    struct stage *stage = *state;
    pid_t holder = start_holder(stage, "60s", stage_path(stage, "ready"));
    const char *never = stage_path(stage, "never");

    assert_int_equal(STAGE_RUN(stage, "run", "x", "--try", "--", "touch", never), 75);
    const char *err = stage_read(stage, stage_path(stage, "err"));
    assert_true(strncmp(err, "lk: BUSY: ", 10) == 0);
    assert_non_null(strstr(err, "x is held by holder"));
    assert_int_equal(STAGE_RUN(stage, "run", "x", "-n", "-E", "9", "--", "touch", never), 9);
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--wait", "50ms", "--", "touch", never), 75);
    assert_int_equal(
        STAGE_RUN(stage, "run", "x", "-w", "0", "-E", "8", "--cleanup", "exit", "--", "true"), 8);
    assert_false(stage_exists(never));
    end_holder(stage, holder);
}

static void a_signal_in_line_withdraws(void **state) {
    struct stage *stage = *state;
    const int ending[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    const char *never = stage_path(stage, "never");
    pid_t holder = start_holder(stage, "60s", stage_path(stage, "ready"));

    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
        const char *cleanup = stage_text(stage, "touch %s", never);
        pid_t waiter = STAGE_START(stage, "run", "x/y", "--owner", "waiter", "--cleanup", cleanup,
                                   "--", "touch", never);
        stage_await_listed(stage, "x/y", "waiting");
        kill(waiter, SIGWINCH); /* ends nobody */
        kill(waiter, ending[i]);
        assert_int_equal(stage_end(stage, waiter), 128 + ending[i]);
        assert_int_equal(STAGE_RUN(stage, "release", "x/y", "--owner", "waiter"), 78);
    }
    assert_false(stage_exists(never));
    end_holder(stage, holder);
}

static void what_was_ignored_ends_no_wait(void **state) {
    struct stage *stage = *state;
    pid_t holder = start_holder(stage, "60s", stage_path(stage, "ready"));

    signal(SIGHUP, SIG_IGN); /* as nohup does */
    pid_t waiter = STAGE_START(stage, "run", "x/y", "--", "true");
    signal(SIGHUP, SIG_DFL);
    stage_await_listed(stage, "x/y", "waiting");
    kill(waiter, SIGHUP);
    kill(waiter, SIGUSR2);
    assert_int_equal(stage_end(stage, waiter), 128 + SIGUSR2);
    end_holder(stage, holder);
}

static void the_one_in_the_way_is_named(void **state) {
    struct stage *stage = *state;
    const char *err = stage_path(stage, "err");
    pid_t holder = start_holder(stage, "60s", stage_path(stage, "ready"));
    pid_t waiter = STAGE_START(stage, "run", "-v", "x", "--", "true");

    stage_await_text(err, "lk: WAITING: x is held by holder, ");
    kill(waiter, SIGTERM);
    assert_int_equal(stage_end(stage, waiter), 128 + SIGTERM);
    /* Without -v, and with no terminal, nothing is said. */
    size_t size = strlen(stage_read(stage, err));
    assert_int_equal(STAGE_RUN(stage, "run", "-q", "x", "--wait", "700ms", "--", "true"), 75);
    assert_int_equal(strlen(stage_read(stage, err)), size);
    end_holder(stage, holder);
}

/*
 * A waiter is stopped; its turn comes and perishes, and somebody else gets in. When it wakes up
 * it must not believe in its old place.
 */
static void a_waiter_that_slept_through_its_turn_waits_again(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *done = stage_path(stage, "done");
    pid_t holder = start_holder(stage, "60s", ready);
    pid_t waiter = STAGE_START(stage, "run", "x", "--ttl", "3s", "--", "touch", done);

    stage_await_listed(stage, "x", "waiting");
    store_stop_outside(stage, waiter);
    end_holder(stage, holder);
    pid_t other = start_holder(stage, "60s", stage_path(stage, "other"));
    kill(waiter, SIGCONT);
    stage_await_listed(stage, "x", "waiting");
    assert_false(stage_exists(done));
    end_holder(stage, other);
    assert_int_equal(stage_end(stage, waiter), 0);
    assert_true(stage_exists(done));
}

/* ---- kept ------------------------------------------------------------------------------------ */

static void a_short_lease_is_kept_alive(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    pid_t run = STAGE_START(stage, "run", "x", "--owner", "me", "--ttl", "4s", "--", stage_actor(),
                            "hold", ready);
    int64_t until_ms;

    stage_await(ready);
    until_ms = stage_now_ms() + 6000;
    while (stage_now_ms() < until_ms) {
        assert_int_equal(STAGE_RUN(stage, "run", "-q", "x", "--try", "--", "true"), 75);
    }
    end_holder(stage, run);
}

/* ---- lost ------------------------------------------------------------------------------------ */

static void a_lost_lease_ends_the_command(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *got = stage_path(stage, "got");
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "4s", "--", stage_actor(), "report", ready,
                            got, "0");

    stage_await(ready);
    break_now(stage);
    assert_int_equal(stage_end(stage, run), 78);
    assert_int_equal(stage_await(got), SIGTERM);
    assert_non_null(strstr(stage_read(stage, stage_path(stage, "err")), "lk: LOST: "));
}

static void a_revoked_lease_ends_before_its_deadline(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "4s", "--", stage_actor(), "deaf", ready);

    stage_await(ready);
    assert_int_equal(STAGE_RUN(stage, "break", "x", "--reason", "test"), 0);
    pid_t next = STAGE_START(stage, "run", "x", "--", "true");
    assert_int_equal(stage_end(stage, run), 78);
    assert_int_equal(stage_end(stage, next), 0);
}

static void who_does_not_listen_is_killed(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *daemon = stage_path(stage, "daemon");
    const char *script = stage_text(stage, "%s daemon %s leave; exec %s deaf %s", stage_actor(),
                                    daemon, stage_actor(), ready);
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "4s", "--", "sh", "-c", script);

    pid_t daemonised = (pid_t)stage_await(daemon);
    pid_t command = (pid_t)stage_await(ready);
    assert_int_not_equal(getpgid(daemonised), command);
    break_now(stage);
    assert_int_equal(stage_end(stage, run), 78);
    /* Not: will be. Nobody is left when lk says that it is over. */
    assert_true(stage_is_dead(command));
    assert_true(stage_is_dead(daemonised));
}

static void a_warning_is_only_a_warning(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *got = stage_path(stage, "got");
    const char *err = stage_path(stage, "err");
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "2s", "--on-lost", "warn", "--",
                            stage_actor(), "report", ready, got, "0");

    stage_await(ready);
    break_now(stage);
    stage_await_text(err, "lk: LOST: ");
    int64_t until_ms = stage_now_ms() + 3000; /* well behind the deadline */
    while (stage_now_ms() < until_ms) {
        assert_int_equal(STAGE_RUN(stage, "run", "x", "--try", "--", "true"), 0);
    }
    assert_false(stage_exists(got));
    kill(run, SIGUSR1);
    assert_int_equal(stage_end(stage, run), 78);
    assert_int_equal(stage_await(got), SIGUSR1);
}

static void a_loss_seen_at_the_release_counts(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "60s", "--", stage_actor(), "report", ready,
                            stage_path(stage, "got"), "0");

    stage_await(ready);
    break_now(stage); /* the next renewal is twenty seconds away */
    kill(run, SIGTERM);
    assert_int_equal(stage_end(stage, run), 78);
    assert_non_null(strstr(stage_read(stage, stage_path(stage, "err")), "lk: LOST: "));
}

/* lk is stopped for longer than its ttl: the guard ends CMD before anybody else can get in. */
static void a_stopped_lk_does_not_let_its_command_run_on(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *log = stage_path(stage, "log");
    const char *next_log = stage_path(stage, "next-log");
    pid_t run =
        STAGE_START(stage, "run", "x", "--ttl", "6s", "--", stage_actor(), "tick", ready, log);

    pid_t command = (pid_t)stage_await(ready);
    pid_t next = STAGE_START(stage, "run", "x", "--", stage_actor(), "tick",
                             stage_path(stage, "next"), next_log);
    stage_await_listed(stage, "x", "waiting");
    store_stop_outside(stage, run);
    stage_await(stage_path(stage, "next"));
    assert_true(stage_is_dead(command));
    int64_t last_ms = stage_last_number(stage, log);
    int64_t first_ms = strtoll(stage_read(stage, next_log), NULL, 10);
    assert_true(last_ms < first_ms);
    kill(run, SIGCONT);
    assert_int_equal(stage_end(stage, run), 78);
    assert_int_equal(stage_last_number(stage, log), last_ms);
    kill(next, SIGTERM);
    assert_int_equal(stage_end(stage, next), 128 + SIGTERM);
}

/* ---- a store that is away -------------------------------------------------------------------- */

static void a_store_that_is_away_for_short_is_waited_out(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *got = stage_path(stage, "got");
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "9s", "--", stage_actor(), "report", ready,
                            got, "0");

    stage_await(ready);
    sqlite3 *away = store_take_away(stage);
    int64_t until_ms = stage_now_ms() + 3500; /* more than a third of the ttl: a renewal waits */
    while (stage_now_ms() < until_ms) {
        stage_breathe();
    }
    store_give_back(away);
    until_ms = stage_now_ms() + 6500; /* behind the deadline that was promised first */
    while (stage_now_ms() < until_ms) {
        assert_false(stage_exists(got));
        stage_breathe();
    }
    kill(run, SIGUSR2);
    assert_int_equal(stage_end(stage, run), 0);
    assert_int_equal(stage_await(got), SIGUSR2);
}

static void a_store_that_stays_away_ends_the_command_in_time(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *log = stage_path(stage, "log");
    pid_t run =
        STAGE_START(stage, "run", "x", "--ttl", "6s", "--", stage_actor(), "tick", ready, log);

    stage_await(ready);
    sqlite3 *away = store_take_away(stage);
    int64_t away_ms = stage_now_ms();
    assert_int_equal(stage_end(stage, run), 78);
    /* Whenever the last renewal was, it was before the store went away. SIGTERM comes a sixth of
     * the ttl before that deadline, which is plenty of time to die in. */
    assert_true(stage_last_number(stage, log) <= away_ms + 6000);
    assert_non_null(strstr(stage_read(stage, stage_path(stage, "err")), "lk: LOST: "));
    store_give_back(away);
}

/* Between SIGTERM and SIGKILL the store comes back and renews: CMD has to go all the same. */
static void who_was_asked_to_end_is_not_spared(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *got = stage_path(stage, "got");
    const char *script = stage_text(
        stage, "trap 'echo 1 >%s' TERM; echo 1 >%s; while :; do sleep 60 & wait $!; done", got,
        ready);
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "5s", "--", "sh", "-c", script);

    stage_await(ready);
    sqlite3 *away = store_take_away(stage);
    stage_await(got);
    store_give_back(away);
    assert_int_equal(stage_end(stage, run), 78);
}

static void a_store_away_at_the_release_hides_no_exit_code(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "60s", "--", stage_actor(), "report", ready,
                            stage_path(stage, "got"), "7");

    stage_await(ready);
    sqlite3 *away = store_take_away(stage);
    kill(run, SIGTERM);
    assert_int_equal(stage_end(stage, run), 7);
    assert_non_null(strstr(stage_read(stage, stage_path(stage, "err")), "lk: UNAVAILABLE: "));
    store_give_back(away);
}

/* ---- a fixed end ----------------------------------------------------------------------------- */

static void a_fixed_end_ends_the_command(void **state) {
    struct stage *stage = *state;
    const char *log = stage_path(stage, "log");
    struct timespec now;
    char until[64];
    struct tm broken_down;

    clock_gettime(CLOCK_REALTIME, &now);
    time_t end = now.tv_sec + 6;
    assert_non_null(gmtime_r(&end, &broken_down));
    strftime(until, sizeof until, "%Y-%m-%dT%H:%M:%SZ", &broken_down);
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--until", until, "--", stage_actor(), "tick",
                               stage_path(stage, "ready"), log),
                     78);
    clock_gettime(CLOCK_REALTIME, &now);
    /* SIGTERM comes a sixth of the time before the end. */
    assert_in_range(now.tv_sec, end - 1, end + STAGE_BOUND_MS / 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define STORY(name) cmocka_unit_test_setup_teardown(name, stage_open, stage_close)
        STORY(one_runs_after_the_other),
        STORY(who_is_refused_says_by_whom),
        STORY(a_signal_in_line_withdraws),
        STORY(what_was_ignored_ends_no_wait),
        STORY(the_one_in_the_way_is_named),
        STORY(a_waiter_that_slept_through_its_turn_waits_again),
        STORY(a_short_lease_is_kept_alive),
        STORY(a_lost_lease_ends_the_command),
        STORY(a_revoked_lease_ends_before_its_deadline),
        STORY(who_does_not_listen_is_killed),
        STORY(a_warning_is_only_a_warning),
        STORY(a_loss_seen_at_the_release_counts),
        STORY(a_stopped_lk_does_not_let_its_command_run_on),
        STORY(a_store_that_is_away_for_short_is_waited_out),
        STORY(a_store_that_stays_away_ends_the_command_in_time),
        STORY(who_was_asked_to_end_is_not_spared),
        STORY(a_store_away_at_the_release_hides_no_exit_code),
        STORY(a_fixed_end_ends_the_command),
    };
    return cmocka_run_group_tests_name("run: the lease", tests, NULL, NULL);
}
