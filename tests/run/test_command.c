/* SPDX-License-Identifier: Apache-2.0 */
/* The environment, descriptors and signals of CMD, and the exit code of lk after its end. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../emulated.h"
#include "fixture.h"

/*
 * The title of the process is that of the emulator. qemu-user 7.2 catches a signal that is ignored,
 * and exec() then gives it the default action.
 */
enum { NOT_EMULATED = 2 };

static void exit_codes_are_those_of_the_command(void **state) {
    struct fixture *fixture = *state;

    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--", "true"), 0);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--", "sh", "-c", "exit 7"), 7);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--", "sh", "-c", "exit 255"), 255);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--", "sh", "-c", "kill -TERM $$"),
                     128 + SIGTERM);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--", "sh", "-c", "kill -KILL $$"),
                     128 + SIGKILL);
    /* Each run has released its lease, or the next would be refused. */
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--try", "--", "true"), 0);
    assert_string_equal(fixture_read(fixture, fixture_path(fixture, "err")), "");
}

static void the_exit_code_of_a_refusal_may_be_any(void **state) {
    struct fixture *fixture = *state;
    const char *const words[] = {"0", "1", "255"};

    assert_int_equal(FIXTURE_RUN(fixture, "acquire", "x", "--owner", "other"), 0);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--try", "--", "true"), 75);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--try", "-E", words[i], "--", "true"),
                         atoi(words[i]));
    }
}

static void a_command_that_cannot_start_has_its_own_exit_code(void **state) {
    struct fixture *fixture = *state;
    const char *err = fixture_path(fixture, "err");

    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--", "no-such-command"), 127);
    assert_non_null(strstr(fixture_read(fixture, err), "lk: NOT FOUND: no-such-command: "));
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--", fixture->directory), 126);
    assert_non_null(strstr(fixture_read(fixture, err), "lk: NOT EXECUTABLE: "));
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--try", "--", "true"), 0);
}

static void the_environment_names_the_lease(void **state) {
    struct fixture *fixture = *state;
    const char *script = "echo \"$LK_STORE|$LK_PATH|$LK_OWNER|$LK_TTL_MS\"; "
                         "lk=$1; \"$lk\" ls --json b/c; test \"$LK_TOKEN\" -gt 0";

    assert_int_equal(FIXTURE_RUN(fixture, "run", "--owner", "me", "--ttl",
                                 fixture_seconds(fixture, 7), "/b/c", "a?shared", "--", "sh", "-c",
                                 script, "sh", getenv("LK_TEST_LK")),
                     0);
    const char *out = fixture_read(fixture, fixture_path(fixture, "out"));
    assert_non_null(strstr(out, fixture_text(fixture, "sqlite:%s/locks.db|b/c a|me|%d000\n",
                                             fixture->directory, 7 * fixture_stretch())));
    assert_non_null(strstr(out, "\"owner\":\"me\""));
}

/* The guard and the workers are forked from lk and have the same title. */
static void passwords_are_hidden_from_the_process_title(void **state) {
    struct fixture *fixture = *state;
    const char *script = "tr '\\0' ' ' </proc/$PPID/cmdline; \"$0\" ls --json x";

    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--note=redis://:hush@h/?a=b&password=hush",
                                 "--", "sh", "-c", script, getenv("LK_TEST_LK"), "pg://me:mine@h"),
                     0);
    const char *out = fixture_read(fixture, fixture_path(fixture, "out"));
    const char *listing = strchr(out, '{');
    assert_non_null(strstr(out, "--note=redis://@h/?a=b "));
    assert_non_null(strstr(out, " pg://me:mine@h ")); /* an argument of CMD */
    assert_non_null(listing);
    assert_non_null(strstr(listing, "\"note\":\"redis://:hush@h/?a=b&password=hush\""));
}

static void each_run_has_its_own_owner(void **state) {
    struct fixture *fixture = *state;
    const char *out = fixture_path(fixture, "out");

    setenv("LK_OWNER", "outer", 1);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--", "sh", "-c", "echo $LK_OWNER"), 0);
    char *first = strdup(fixture_read(fixture, out));
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--", "sh", "-c", "echo $LK_OWNER"), 0);
    const char *both = fixture_read(fixture, out);
    assert_null(strstr(both, "outer"));
    assert_true(strlen(first) > 1 && strlen(both) > strlen(first));
    assert_string_not_equal(both + strlen(first), first);
    free(first);
}

/* The line of /proc/self/status that begins with this name. */
static const char *status_line(struct fixture *fixture, const char *name) {
    const char *line = strstr(fixture_read(fixture, "/proc/self/status"), name);

    assert_non_null(line);
    return fixture_text(fixture, "%.*s", (int)strcspn(line, "\n") + 1, line);
}

static void no_descriptor_leaks_into_the_command(void **state) {
    struct fixture *fixture = *state;
    const char *list = fixture_path(fixture, "list");

    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--", fixture_child(), "descriptors", list),
                     0);
    assert_string_equal(fixture_read(fixture, list), "0 1 2 ");
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--", "cat", "/proc/self/status"), 0);
    const char *out = fixture_read(fixture, fixture_path(fixture, "out"));
    assert_non_null(strstr(out, "SigPnd:\t0000000000000000\n"));
    /* lk inherited those of this process. */
    assert_non_null(strstr(out, status_line(fixture, "SigBlk:")));
    assert_non_null(strstr(out, status_line(fixture, "SigIgn:")));
}

static void signals_ignored_at_the_start_stay_ignored(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *go = fixture_path(fixture, "go");
    const char *script = fixture_text(
        fixture, "grep ^SigIgn /proc/self/status; echo 1 >%s; until test -e %s; do :; done", ready,
        go);

    signal(SIGHUP, SIG_IGN);
    pid_t run = FIXTURE_START(fixture, "run", "x", "--", "sh", "-c", script);
    signal(SIGHUP, SIG_DFL);
    fixture_await(ready);
    kill(run, SIGHUP);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "other", "--", "touch", go), 0);
    assert_int_equal(fixture_end(fixture, run), 0);
    const char *line = strstr(fixture_read(fixture, fixture_path(fixture, "out")), "SigIgn:");
    assert_non_null(line);
    assert_int_equal(strtoull(line + strlen("SigIgn:"), NULL, 16) & 1, 1); /* SIGHUP is 1 */
}

static void an_ignored_sigchld_does_not_hide_the_exit_code(void **state) {
    struct fixture *fixture = *state;

    signal(SIGCHLD, SIG_IGN);
    pid_t run = FIXTURE_START(fixture, "run", "x", "--", "sh", "-c", "exit 5");
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(fixture_end(fixture, run), 5);
}

static void the_standard_descriptors_are_inherited(void **state) {
    struct fixture *fixture = *state;
    const char *in = fixture_path(fixture, "in");
    const char *outer = "echo from-stdin >$1; exec \"$0\" run x -- "
                        "sh -c 'cat; echo to-stderr >&2' <$1";

    /* The outer run is only there to start a shell. */
    assert_int_equal(
        FIXTURE_RUN(fixture, "run", "y", "--", "sh", "-c", outer, getenv("LK_TEST_LK"), in), 0);
    assert_string_equal(fixture_read(fixture, fixture_path(fixture, "out")), "from-stdin\n");
    assert_string_equal(fixture_read(fixture, fixture_path(fixture, "err")), "to-stderr\n");
}

static void the_command_leads_its_own_group(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");

    pid_t run = FIXTURE_START(fixture, "run", "x", "--", fixture_child(), "hold", ready);
    pid_t command = (pid_t)fixture_await(ready);
    assert_int_equal(getpgid(command), command);
    assert_int_equal(getpgid(run), run);
    kill(run, SIGTERM);
    assert_int_equal(fixture_end(fixture, run), 128 + SIGTERM);
}

static void signals_are_passed_on(void **state) {
    struct fixture *fixture = *state;
    const int passed[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGWINCH};

    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++) {
        const char *ready = fixture_path(fixture, fixture_text(fixture, "ready%d", passed[i]));
        const char *got = fixture_path(fixture, fixture_text(fixture, "got%d", passed[i]));
        pid_t run =
            FIXTURE_START(fixture, "run", "x", "--", fixture_child(), "report", ready, got, "43");
        fixture_await(ready);
        kill(run, passed[i]);
        assert_int_equal(fixture_end(fixture, run), 43);
        assert_int_equal(fixture_await(got), passed[i]);
    }
}

static void a_signal_ends_a_shell_and_its_child(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *script = fixture_text(fixture, "%s hold %s; exit 0", fixture_child(), ready);

    pid_t run = FIXTURE_START(fixture, "run", "x", "--", "sh", "-c", script);
    pid_t inner = (pid_t)fixture_await(ready);
    kill(run, SIGTERM);
    assert_int_equal(fixture_end(fixture, run), 128 + SIGTERM);
    fixture_await_dead(inner);
}

static void usr1_is_passed_to_the_command_only(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    pid_t run = FIXTURE_START(fixture, "run", "x", "--", fixture_child(), "parent", ready);

    fixture_await(ready);
    kill(run, SIGUSR1); /* the command's child would die of it */
    assert_int_equal(fixture_end(fixture, run), 0);
}

static void a_command_in_another_group_still_receives_signals(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    pid_t run = FIXTURE_START(fixture, "run", "x", "--", fixture_child(), "leave", ready);

    fixture_await(ready);
    kill(run, SIGTERM);
    assert_int_equal(fixture_end(fixture, run), 128 + SIGTERM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        TEST(exit_codes_are_those_of_the_command),
        TEST(the_exit_code_of_a_refusal_may_be_any),
        TEST(a_command_that_cannot_start_has_its_own_exit_code),
        TEST(the_environment_names_the_lease),
        TEST(each_run_has_its_own_owner),
        TEST(no_descriptor_leaks_into_the_command),
        TEST(an_ignored_sigchld_does_not_hide_the_exit_code),
        TEST(the_standard_descriptors_are_inherited),
        TEST(the_command_leads_its_own_group),
        TEST(signals_are_passed_on),
        TEST(a_signal_ends_a_shell_and_its_child),
        TEST(usr1_is_passed_to_the_command_only),
        TEST(a_command_in_another_group_still_receives_signals),
        /* NOT_EMULATED from here */
        TEST(passwords_are_hidden_from_the_process_title),
        TEST(signals_ignored_at_the_start_stay_ignored),
    };
    size_t count = test_case_count(sizeof tests / sizeof tests[0], NOT_EMULATED);

    return _cmocka_run_group_tests("run: the command", tests, count, NULL, NULL);
}
