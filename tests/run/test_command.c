/* SPDX-License-Identifier: Apache-2.0 */
/* What CMD is given, and what lk makes of its end. */
#include <stdlib.h>
#include <string.h>

#include "stage.h"

static void exit_codes_are_those_of_the_command(void **state) {
    struct stage *stage = *state;

    assert_int_equal(STAGE_RUN(stage, "run", "x", "--", "true"), 0);
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--", "sh", "-c", "exit 7"), 7);
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--", "sh", "-c", "exit 255"), 255);
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--", "sh", "-c", "kill -TERM $$"),
                     128 + SIGTERM);
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--", "sh", "-c", "kill -KILL $$"),
                     128 + SIGKILL);
    /* Each of them was released: the next is not in anybody's way. */
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--try", "--", "true"), 0);
    assert_string_equal(stage_read(stage, stage_path(stage, "err")), "");
}

static void a_command_that_cannot_start_is_told_apart(void **state) {
    struct stage *stage = *state;
    const char *err = stage_path(stage, "err");

    assert_int_equal(STAGE_RUN(stage, "run", "x", "--", "no-such-command"), 127);
    assert_non_null(strstr(stage_read(stage, err), "lk: NOT FOUND: no-such-command: "));
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--", stage->directory), 126);
    assert_non_null(strstr(stage_read(stage, err), "lk: NOT EXECUTABLE: "));
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--try", "--", "true"), 0);
}

static void the_environment_names_the_lease(void **state) {
    struct stage *stage = *state;
    const char *script = "echo \"$LK_STORE|$LK_PATH|$LK_OWNER|$LK_TTL_MS\"; "
                         "lk=$1; \"$lk\" ls --json b/c; test \"$LK_TOKEN\" -gt 0";

    assert_int_equal(STAGE_RUN(stage, "run", "--owner", "me", "--ttl", "7s", "/b/c", "a?shared",
                               "--", "sh", "-c", script, "sh", getenv("LK_TEST_LK")),
                     0);
    const char *out = stage_read(stage, stage_path(stage, "out"));
    assert_non_null(
        strstr(out, stage_text(stage, "sqlite:%s/locks.db|b/c a|me|7000\n", stage->directory)));
    assert_non_null(strstr(out, "\"owner\":\"me\""));
}

/* The guard and the workers are forks, which have the same title. */
static void no_password_is_in_the_title(void **state) {
    struct stage *stage = *state;
    const char *script = "tr '\\0' ' ' </proc/$PPID/cmdline; \"$0\" ls --json x";

    assert_int_equal(STAGE_RUN(stage, "run", "x", "--note=redis://:hush@h/?a=b&password=hush", "--",
                               "sh", "-c", script, getenv("LK_TEST_LK"), "pg://me:mine@h"),
                     0);
    const char *out = stage_read(stage, stage_path(stage, "out"));
    const char *listing = strchr(out, '{');
    assert_non_null(strstr(out, "--note=redis://@h/?a=b "));
    assert_non_null(strstr(out, " pg://me:mine@h ")); /* the command's own */
    assert_non_null(listing);
    assert_non_null(strstr(listing, "\"note\":\"redis://:hush@h/?a=b&password=hush\""));
}

static void each_run_is_another_owner(void **state) {
    struct stage *stage = *state;
    const char *out = stage_path(stage, "out");

    setenv("LK_OWNER", "outer", 1);
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--", "sh", "-c", "echo $LK_OWNER"), 0);
    char *first = strdup(stage_read(stage, out));
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--", "sh", "-c", "echo $LK_OWNER"), 0);
    const char *both = stage_read(stage, out);
    assert_null(strstr(both, "outer"));
    assert_true(strlen(first) > 1 && strlen(both) > strlen(first));
    assert_string_not_equal(both + strlen(first), first);
    free(first);
}

/* The line of this process's status that begins so. */
static const char *status_line(struct stage *stage, const char *name) {
    const char *line = strstr(stage_read(stage, "/proc/self/status"), name);

    assert_non_null(line);
    return stage_text(stage, "%.*s", (int)strcspn(line, "\n") + 1, line);
}

static void nothing_leaks_into_the_command(void **state) {
    struct stage *stage = *state;
    const char *list = stage_path(stage, "list");

    assert_int_equal(STAGE_RUN(stage, "run", "x", "--", stage_actor(), "descriptors", list), 0);
    assert_string_equal(stage_read(stage, list), "0 1 2 ");
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--", "cat", "/proc/self/status"), 0);
    const char *out = stage_read(stage, stage_path(stage, "out"));
    assert_non_null(strstr(out, "SigPnd:\t0000000000000000\n"));
    /* lk was given this process's own. */
    assert_non_null(strstr(out, status_line(stage, "SigBlk:")));
    assert_non_null(strstr(out, status_line(stage, "SigIgn:")));
}

static void what_was_ignored_stays_ignored(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *go = stage_path(stage, "go");
    const char *script = stage_text(
        stage, "grep ^SigIgn /proc/self/status; echo 1 >%s; until test -e %s; do :; done", ready,
        go);

    signal(SIGHUP, SIG_IGN);
    pid_t run = STAGE_START(stage, "run", "x", "--", "sh", "-c", script);
    signal(SIGHUP, SIG_DFL);
    stage_await(ready);
    kill(run, SIGHUP);
    assert_int_equal(STAGE_RUN(stage, "run", "other", "--", "touch", go), 0);
    assert_int_equal(stage_end(stage, run), 0);
    const char *line = strstr(stage_read(stage, stage_path(stage, "out")), "SigIgn:");
    assert_non_null(line);
    assert_int_equal(strtoull(line + strlen("SigIgn:"), NULL, 16) & 1, 1); /* SIGHUP is 1 */
}

static void an_ignored_sigchld_hides_no_exit_code(void **state) {
    struct stage *stage = *state;

    signal(SIGCHLD, SIG_IGN);
    pid_t run = STAGE_START(stage, "run", "x", "--", "sh", "-c", "exit 5");
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(stage_end(stage, run), 5);
}

static void the_standard_descriptors_are_inherited(void **state) {
    struct stage *stage = *state;
    const char *in = stage_path(stage, "in");
    const char *outer = "echo from-stdin >$1; exec \"$0\" run x -- "
                        "sh -c 'cat; echo to-stderr >&2' <$1";

    /* The outer run only lends its shell. */
    assert_int_equal(
        STAGE_RUN(stage, "run", "y", "--", "sh", "-c", outer, getenv("LK_TEST_LK"), in), 0);
    assert_string_equal(stage_read(stage, stage_path(stage, "out")), "from-stdin\n");
    assert_string_equal(stage_read(stage, stage_path(stage, "err")), "to-stderr\n");
}

static void the_command_leads_its_own_group(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");

    pid_t run = STAGE_START(stage, "run", "x", "--", stage_actor(), "hold", ready);
    pid_t command = (pid_t)stage_await(ready);
    assert_int_equal(getpgid(command), command);
    assert_int_equal(getpgid(run), run);
    kill(run, SIGTERM);
    assert_int_equal(stage_end(stage, run), 128 + SIGTERM);
}

static void signals_are_passed_on(void **state) {
    struct stage *stage = *state;
    const int passed[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++) {
        const char *ready = stage_path(stage, stage_text(stage, "ready%d", passed[i]));
        const char *got = stage_path(stage, stage_text(stage, "got%d", passed[i]));
        pid_t run = STAGE_START(stage, "run", "x", "--", stage_actor(), "report", ready, got, "43");
        stage_await(ready);
        kill(run, passed[i]);
        assert_int_equal(stage_end(stage, run), 43);
        assert_int_equal(stage_await(got), passed[i]);
    }
}

static void a_shell_is_ended_with_its_child(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *script = stage_text(stage, "%s hold %s; exit 0", stage_actor(), ready);

    pid_t run = STAGE_START(stage, "run", "x", "--", "sh", "-c", script);
    pid_t inner = (pid_t)stage_await(ready);
    kill(run, SIGTERM);
    assert_int_equal(stage_end(stage, run), 128 + SIGTERM);
    stage_await_dead(inner);
}

static void usr1_reaches_the_command_alone(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    pid_t run = STAGE_START(stage, "run", "x", "--", stage_actor(), "parent", ready);

    stage_await(ready);
    kill(run, SIGUSR1); /* the command's child would die of it */
    assert_int_equal(stage_end(stage, run), 0);
}

static void a_command_in_another_group_is_reached_all_the_same(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    pid_t run = STAGE_START(stage, "run", "x", "--", stage_actor(), "leave", ready);

    stage_await(ready);
    kill(run, SIGTERM);
    assert_int_equal(stage_end(stage, run), 128 + SIGTERM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define STORY(name) cmocka_unit_test_setup_teardown(name, stage_open, stage_close)
        STORY(exit_codes_are_those_of_the_command),
        STORY(a_command_that_cannot_start_is_told_apart),
        STORY(the_environment_names_the_lease),
        STORY(no_password_is_in_the_title),
        STORY(each_run_is_another_owner),
        STORY(nothing_leaks_into_the_command),
        STORY(what_was_ignored_stays_ignored),
        STORY(an_ignored_sigchld_hides_no_exit_code),
        STORY(the_standard_descriptors_are_inherited),
        STORY(the_command_leads_its_own_group),
        STORY(signals_are_passed_on),
        STORY(a_shell_is_ended_with_its_child),
        STORY(usr1_reaches_the_command_alone),
        STORY(a_command_in_another_group_is_reached_all_the_same),
    };
    return cmocka_run_group_tests_name("run: the command", tests, NULL, NULL);
}
