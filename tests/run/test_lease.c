/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting in the queue, renewing the lease, and losing it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"

/* Starts a run that holds `x` until it is ended, and waits until it holds it. */
static pid_t start_holder(struct fixture *fixture, const char *ttl, const char *ready) {
    pid_t run = FIXTURE_START(fixture, "run", "x", "--owner", "holder", "--ttl", ttl, "--",
                              fixture_child(), "hold", ready);

    fixture_await(ready);
    return run;
}

static void end_holder(struct fixture *fixture, pid_t run) {
    kill(run, SIGTERM);
    assert_int_equal(fixture_end(fixture, run), 128 + SIGTERM);
}

static void break_now(struct fixture *fixture) {
    assert_int_equal(FIXTURE_RUN(fixture, "break", "x", "--reason", "test", "--now"), 0);
}

/* ---- queued --------------------------------------------------------------------------------- */

static void runs_take_turns(void **state) {
    struct fixture *fixture = *state;
    const char *out = fixture_path(fixture, "order");
    const char *ready = fixture_path(fixture, "ready");
    const char *script = fixture_text(fixture, "echo 1 >%s; cat <%s/fifo; echo first >>%s", ready,
                                      fixture->directory, out);

    assert_int_equal(system(fixture_text(fixture, "mkfifo %s/fifo", fixture->directory)), 0);
    pid_t first = FIXTURE_START(fixture, "run", "x", "--", "sh", "-c", script);
    fixture_await(ready);
    pid_t second = FIXTURE_START(fixture, "run", "x", "--", "sh", "-c",
                                 fixture_text(fixture, "echo second >>%s", out));
    fixture_await_listed(fixture, "x", "waiting");
    assert_false(fixture_exists(out));
    assert_int_equal(system(fixture_text(fixture, ": >%s/fifo", fixture->directory)), 0);
    assert_int_equal(fixture_end(fixture, first), 0);
    assert_int_equal(fixture_end(fixture, second), 0);
    assert_string_equal(fixture_read(fixture, out), "first\nsecond\n");
}

static void a_refused_run_names_the_holder(void **state) {
    struct fixture *fixture = *state;
    pid_t holder = start_holder(fixture, "60s", fixture_path(fixture, "ready"));
    const char *never = fixture_path(fixture, "never");

    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--try", "--", "touch", never), 75);
    const char *err = fixture_read(fixture, fixture_path(fixture, "err"));
    assert_true(strncmp(err, "lk: BUSY: ", 10) == 0);
    assert_non_null(strstr(err, "x is held by holder"));
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "-n", "-E", "9", "--", "touch", never), 9);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--wait", "50ms", "--", "touch", never), 75);
    assert_int_equal(
        FIXTURE_RUN(fixture, "run", "x", "-w", "0", "-E", "8", "--cleanup", "exit", "--", "true"),
        8);
    assert_false(fixture_exists(never));
    end_holder(fixture, holder);
}

static void a_signal_while_waiting_withdraws_the_request(void **state) {
    struct fixture *fixture = *state;
    const int ending[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2};
    const char *never = fixture_path(fixture, "never");
    pid_t holder = start_holder(fixture, "60s", fixture_path(fixture, "ready"));

    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
        const char *cleanup = fixture_text(fixture, "touch %s", never);
        pid_t waiter = FIXTURE_START(fixture, "run", "x/y", "--owner", "waiter", "--cleanup",
                                     cleanup, "--", "touch", never);
        fixture_await_listed(fixture, "x/y", "waiting");
        kill(waiter, SIGWINCH); /* a signal that does not end lk */
        kill(waiter, ending[i]);
        assert_int_equal(fixture_end(fixture, waiter), 128 + ending[i]);
        assert_int_equal(FIXTURE_RUN(fixture, "release", "x/y", "--owner", "waiter"), 78);
    }
    assert_false(fixture_exists(never));
    end_holder(fixture, holder);
}

static void an_ignored_signal_does_not_end_the_wait(void **state) {
    struct fixture *fixture = *state;
    pid_t holder = start_holder(fixture, "60s", fixture_path(fixture, "ready"));

    signal(SIGHUP, SIG_IGN); /* as nohup does */
    pid_t waiter = FIXTURE_START(fixture, "run", "x/y", "--", "true");
    signal(SIGHUP, SIG_DFL);
    fixture_await_listed(fixture, "x/y", "waiting");
    kill(waiter, SIGHUP);
    kill(waiter, SIGUSR2);
    assert_int_equal(fixture_end(fixture, waiter), 128 + SIGUSR2);
    end_holder(fixture, holder);
}

static void a_waiting_run_names_its_blocker(void **state) {
    struct fixture *fixture = *state;
    const char *err = fixture_path(fixture, "err");
    pid_t holder = start_holder(fixture, "60s", fixture_path(fixture, "ready"));
    pid_t waiter = FIXTURE_START(fixture, "run", "-v", "x", "--", "true");

    fixture_await_text(err, "lk: WAITING: x is held by holder (");
    kill(waiter, SIGTERM);
    assert_int_equal(fixture_end(fixture, waiter), 128 + SIGTERM);
    /* Without -v and without a terminal, lk prints nothing. */
    size_t size = strlen(fixture_read(fixture, err));
    assert_int_equal(FIXTURE_RUN(fixture, "run", "-q", "x", "--wait", "700ms", "--", "true"), 75);
    assert_int_equal(strlen(fixture_read(fixture, err)), size);
    end_holder(fixture, holder);
}

/*
 * A waiter is stopped; it is granted the lease, which expires, and another request is granted. When
 * the waiter continues, it must not assume that it still has the lease.
 */
static void a_waiter_stopped_beyond_its_grant_waits_again(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *done = fixture_path(fixture, "done");
    pid_t holder = start_holder(fixture, "60s", ready);
    pid_t waiter = FIXTURE_START(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 3), "--",
                                 "touch", done);

    fixture_await_listed(fixture, "x", "waiting");
    store_stop_unlocked(fixture, waiter);
    end_holder(fixture, holder);
    pid_t other = start_holder(fixture, "60s", fixture_path(fixture, "other"));
    kill(waiter, SIGCONT);
    fixture_await_listed(fixture, "x", "waiting");
    assert_false(fixture_exists(done));
    end_holder(fixture, other);
    assert_int_equal(fixture_end(fixture, waiter), 0);
    assert_true(fixture_exists(done));
}

/* ---- kept ------------------------------------------------------------------------------------ */

static void a_short_lease_is_kept_alive(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    pid_t run = FIXTURE_START(fixture, "run", "x", "--owner", "me", "--ttl",
                              fixture_seconds(fixture, 4), "--", fixture_child(), "hold", ready);
    int64_t until_ms;

    fixture_await(ready);
    until_ms = fixture_now_ms() + 6000 * fixture_stretch();
    while (fixture_now_ms() < until_ms) {
        assert_int_equal(FIXTURE_RUN(fixture, "run", "-q", "x", "--try", "--", "true"), 75);
    }
    end_holder(fixture, run);
}

/* ---- lost ------------------------------------------------------------------------------------ */

static void a_lost_lease_ends_the_command(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *got = fixture_path(fixture, "got");
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 4), "--",
                              fixture_child(), "report", ready, got, "0");

    fixture_await(ready);
    break_now(fixture);
    assert_int_equal(fixture_end(fixture, run), 78);
    assert_int_equal(fixture_await(got), SIGTERM);
    assert_non_null(strstr(fixture_read(fixture, fixture_path(fixture, "err")), "lk: LOST: "));
}

static void a_revoked_lease_ends_before_its_deadline(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 4), "--",
                              fixture_child(), "ignore-term", ready);

    fixture_await(ready);
    assert_int_equal(FIXTURE_RUN(fixture, "break", "x", "--reason", "test"), 0);
    pid_t next = FIXTURE_START(fixture, "run", "x", "--", "true");
    assert_int_equal(fixture_end(fixture, run), 78);
    assert_int_equal(fixture_end(fixture, next), 0);
}

static void a_command_that_ignores_sigterm_is_killed(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *daemon = fixture_path(fixture, "daemon");
    const char *script = fixture_text(fixture, "%s daemon %s leave; exec %s ignore-term %s",
                                      fixture_child(), daemon, fixture_child(), ready);
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 4), "--", "sh",
                              "-c", script);

    pid_t daemonised = (pid_t)fixture_await(daemon);
    pid_t command = (pid_t)fixture_await(ready);
    assert_int_not_equal(getpgid(daemonised), command);
    break_now(fixture);
    assert_int_equal(fixture_end(fixture, run), 78);
    /* Already dead: when lk exits, no process of the command is left. */
    assert_true(fixture_is_dead(command));
    assert_true(fixture_is_dead(daemonised));
}

static void on_lost_warn_does_not_end_the_command(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *got = fixture_path(fixture, "got");
    const char *err = fixture_path(fixture, "err");
    pid_t run =
        FIXTURE_START(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 2), "--on-lost",
                      "warn", "--", fixture_child(), "report", ready, got, "0");

    fixture_await(ready);
    break_now(fixture);
    fixture_await_text(err, "lk: LOST: ");
    int64_t until_ms = fixture_now_ms() + 3000 * fixture_stretch(); /* well after the deadline */
    while (fixture_now_ms() < until_ms) {
        assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--try", "--", "true"), 0);
    }
    assert_false(fixture_exists(got));
    kill(run, SIGUSR1);
    assert_int_equal(fixture_end(fixture, run), 78);
    assert_int_equal(fixture_await(got), SIGUSR1);
}

static void a_loss_detected_at_the_release_is_reported(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", "60s", "--", fixture_child(), "report",
                              ready, fixture_path(fixture, "got"), "0");

    fixture_await(ready);
    break_now(fixture); /* the next renewal is twenty seconds away */
    kill(run, SIGTERM);
    assert_int_equal(fixture_end(fixture, run), 78);
    assert_non_null(strstr(fixture_read(fixture, fixture_path(fixture, "err")), "lk: LOST: "));
}

/* lk is stopped for longer than its ttl: the guard kills CMD before the next grant. */
static void if_lk_is_stopped_its_command_ends_before_the_deadline(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *log = fixture_path(fixture, "log");
    const char *next_log = fixture_path(fixture, "next-log");
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 6), "--",
                              fixture_child(), "tick", ready, log);

    pid_t command = (pid_t)fixture_await(ready);
    pid_t next = FIXTURE_START(fixture, "run", "x", "--", fixture_child(), "tick",
                               fixture_path(fixture, "next"), next_log);
    fixture_await_listed(fixture, "x", "waiting");
    store_stop_unlocked(fixture, run);
    fixture_await(fixture_path(fixture, "next"));
    assert_true(fixture_is_dead(command));
    int64_t last_ms = fixture_last_number(fixture, log);
    int64_t first_ms = strtoll(fixture_read(fixture, next_log), NULL, 10);
    assert_true(last_ms < first_ms);
    kill(run, SIGCONT);
    assert_int_equal(fixture_end(fixture, run), 78);
    assert_int_equal(fixture_last_number(fixture, log), last_ms);
    kill(next, SIGTERM);
    assert_int_equal(fixture_end(fixture, next), 128 + SIGTERM);
}

/* ---- a store that is away -------------------------------------------------------------------- */

static void a_short_outage_does_not_end_the_command(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *got = fixture_path(fixture, "got");
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 9), "--",
                              fixture_child(), "report", ready, got, "0");

    fixture_await(ready);
    sqlite3 *away = store_lock(fixture);
    /* More than a third of the ttl: a renewal waits. */
    int64_t until_ms = fixture_now_ms() + 3500 * fixture_stretch();
    while (fixture_now_ms() < until_ms) {
        fixture_pause();
    }
    store_unlock(away);
    until_ms = fixture_now_ms() + 6500 * fixture_stretch(); /* after the first deadline */
    while (fixture_now_ms() < until_ms) {
        assert_false(fixture_exists(got));
        fixture_pause();
    }
    kill(run, SIGUSR2);
    assert_int_equal(fixture_end(fixture, run), 0);
    assert_int_equal(fixture_await(got), SIGUSR2);
}

static void a_long_outage_ends_the_command_before_the_deadline(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *log = fixture_path(fixture, "log");
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 6), "--",
                              fixture_child(), "tick", ready, log);

    fixture_await(ready);
    sqlite3 *away = store_lock(fixture);
    int64_t away_ms = fixture_now_ms();
    assert_int_equal(fixture_end(fixture, run), 78);
    /* Whenever the last renewal was, it was before the store went away. SIGTERM comes a sixth of
     * the ttl before that deadline, which is plenty of time to die in. */
    assert_true(fixture_last_number(fixture, log) <= away_ms + 6000 * fixture_stretch());
    assert_non_null(strstr(fixture_read(fixture, fixture_path(fixture, "err")), "lk: LOST: "));
    store_unlock(away);
}

/* The store returns between SIGTERM and SIGKILL and renews the lease: CMD is killed anyway. */
static void a_command_that_was_sent_sigterm_is_killed_after_a_late_renewal(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *got = fixture_path(fixture, "got");
    const char *script = fixture_text(
        fixture, "trap 'echo 1 >%s' TERM; echo 1 >%s; while :; do sleep 60 & wait $!; done", got,
        ready);
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 5), "--", "sh",
                              "-c", script);

    fixture_await(ready);
    sqlite3 *away = store_lock(fixture);
    fixture_await(got);
    store_unlock(away);
    assert_int_equal(fixture_end(fixture, run), 78);
}

static void an_outage_at_the_release_does_not_hide_the_exit_code(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", "60s", "--", fixture_child(), "report",
                              ready, fixture_path(fixture, "got"), "7");

    fixture_await(ready);
    sqlite3 *away = store_lock(fixture);
    kill(run, SIGTERM);
    assert_int_equal(fixture_end(fixture, run), 7);
    assert_non_null(
        strstr(fixture_read(fixture, fixture_path(fixture, "err")), "lk: UNAVAILABLE: "));
    store_unlock(away);
}

/* Its last renewal was not made: the lease ends by its ttl, and the message says so. */
static void an_outage_at_the_end_ends_the_least_time(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", "60s", "--at-least", "1h", "--",
                              fixture_child(), "report", ready, fixture_path(fixture, "got"), "7");

    fixture_await(ready);
    sqlite3 *away = store_lock(fixture);
    kill(run, SIGTERM);
    assert_int_equal(fixture_end(fixture, run), 7);
    assert_non_null(strstr(fixture_read(fixture, fixture_path(fixture, "err")),
                           "the lease could not be kept for --at-least and ends by its ttl"));
    store_unlock(away);
}

/* ---- a fixed end ----------------------------------------------------------------------------- */

static void a_fixed_end_ends_the_command(void **state) {
    struct fixture *fixture = *state;
    const char *log = fixture_path(fixture, "log");
    struct timespec now;
    char until[64];
    struct tm broken_down;

    clock_gettime(CLOCK_REALTIME, &now);
    time_t end = now.tv_sec + 6 * fixture_stretch();
    assert_non_null(gmtime_r(&end, &broken_down));
    strftime(until, sizeof until, "%Y-%m-%dT%H:%M:%SZ", &broken_down);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--until", until, "--", fixture_child(),
                                 "tick", fixture_path(fixture, "ready"), log),
                     78);
    clock_gettime(CLOCK_REALTIME, &now);
    /* SIGTERM comes a sixth of the time before the end. */
    assert_in_range(now.tv_sec, end - fixture_stretch(), end + fixture_bound_ms() / 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        TEST(runs_take_turns),
        TEST(a_refused_run_names_the_holder),
        TEST(a_signal_while_waiting_withdraws_the_request),
        TEST(an_ignored_signal_does_not_end_the_wait),
        TEST(a_waiting_run_names_its_blocker),
        TEST(a_waiter_stopped_beyond_its_grant_waits_again),
        TEST(a_short_lease_is_kept_alive),
        TEST(a_lost_lease_ends_the_command),
        TEST(a_revoked_lease_ends_before_its_deadline),
        TEST(a_command_that_ignores_sigterm_is_killed),
        TEST(on_lost_warn_does_not_end_the_command),
        TEST(a_loss_detected_at_the_release_is_reported),
        TEST(if_lk_is_stopped_its_command_ends_before_the_deadline),
        TEST(a_short_outage_does_not_end_the_command),
        TEST(a_long_outage_ends_the_command_before_the_deadline),
        TEST(a_command_that_was_sent_sigterm_is_killed_after_a_late_renewal),
        TEST(an_outage_at_the_release_does_not_hide_the_exit_code),
        TEST(an_outage_at_the_end_ends_the_least_time),
        TEST(a_fixed_end_ends_the_command),
    };
    return cmocka_run_group_tests_name("run: the lease", tests, NULL, NULL);
}
