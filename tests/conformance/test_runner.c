/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runner's own test: that it can fail. Wrong expectations must fail on a store that keeps the
 * rules, and a file that is not as README.md says must be a complaint with its line.
 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/engine.h"
#include "observed.h"
#include "play.h"
#include "scenario.h"

#define HEAD                                                                                       \
    "needs exclusive queue roots deadlock break values work events limits\n"                       \
    "scenario \"s\"\nrules R1\n"

/* A machine that is slow: the call of this number, from 1, begins 300 ms late. */
static unsigned ask_count;
static unsigned ask_late;

lk_outcome __real_lk_ask(lk_store *store, const lk_request *request, lk_result **ret_result,
                         lk_error *ret_error);
lk_outcome __wrap_lk_ask(lk_store *store, const lk_request *request, lk_result **ret_result,
                         lk_error *ret_error);

lk_outcome __wrap_lk_ask(lk_store *store, const lk_request *request, lk_result **ret_result,
                         lk_error *ret_error) {
    static const struct timespec late = {.tv_nsec = 300000000};

    if (++ask_count == ask_late) {
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &late, NULL);
    }
    return __real_lk_ask(store, request, ret_result, ret_error);
}

/* Plays the first scenario of a text on mem: and says what came of it. */
static enum verdict play_text(const char *text, char *ret_report, size_t size) {
    struct scenario_file *file = calloc(1, sizeof *file);
    struct complaint complaint = {0};
    assert_non_null(file);
    if (!scenario_file_read(file, "test", text, &complaint)) {
        fail_msg("%s", complaint.text);
    }
    FILE *report = tmpfile();
    assert_non_null(report);
    enum verdict verdict = scenario_play(&file->scenarios[0], "mem:", false, NULL, 1, report);
    rewind(report);
    size_t read = fread(ret_report, 1, size - 1, report);
    ret_report[read] = '\0';
    fclose(report);
    scenario_file_free(file);
    free(file);
    return verdict;
}

/* What is wrong behind this beginning fails; the report names the file, the line and the step. */
static void must_fail(const char *begin, const char *wrong, const char *place) {
    char text[1024];
    char report[4096];
    snprintf(text, sizeof text, "%s%s\n", begin, wrong);
    if (play_text(text, report, sizeof report) != VERDICT_FAILED) {
        fail_msg("this passed: %s", wrong);
    }
    assert_non_null(strstr(report, place));
}

static void right_expectations_pass(void **state) {
    (void)state;
    char report[2048];
    const char *text = HEAD "A asks x ttl 200ms note \"n\" -> granted, in use 0, token ticket\n"
                            "B asks x -> waiting, position 1, blocked by A at x held note \"n\"\n"
                            "list\n"
                            "| A holds x, note \"n\"\n"
                            "| B waits for x\n"
                            "pause 300ms\n"
                            "expect B holds x, token new\n"
                            "expect A has nothing at x\n";
    assert_int_equal(play_text(text, report, sizeof report), VERDICT_PASSED);
    assert_string_equal(report, "");
}

/* Every line here is wrong behind the same beginning. */
static void wrong_expectations_fail(void **state) {
    (void)state;
    static const char begin[] = HEAD "A asks x note \"n\" -> granted, keep token as t\n"
                                     "B asks x -> waiting\n"
                                     "P tries pool?limit=3&units=2 -> granted\n";
    static const char *const wrong[] = {
        "A asks x -> waiting",
        "C asks x -> granted",
        "C asks x -> waiting, position 1",
        "C asks x -> waiting, blocked by A",
        "C asks x -> waiting, blocked by B A",
        "C asks x -> waiting, blocked by A held B held",
        "C asks x -> waiting, blocked by A at y B",
        "C asks x -> waiting, blocked by A note \"m\" B",
        "C asks x -> waiting, blocked by nobody",
        "C asks x -> waiting, created no",
        "C asks x -> waiting, token ticket",
        "C asks x -> waiting, ticket none",
        "A asks x -> granted, token new",
        "A asks x -> granted, token above t",
        "A asks x -> granted, token above unknown",
        "A asks x -> granted, ttl 61s",
        "A asks x -> granted, expires within 1s",
        "A asks x -> granted, expires after 61s",
        "A asks x -> granted, fixed yes",
        "A asks y -> granted, token same",
        "P asks pool?limit=3&units=2 -> granted, in use 3",
        "A tries \"a//b\" -> invalid, says \"R99\"",
        "A releases x -> lost",
        "B renews x -> ok",
        "Admin breaks x reason \"r\" -> ok, count 1",
        "expect A holds y",
        "expect A holds x?shared",
        "expect A waits for x",
        "expect B holds x",
        "expect B has nothing at x",
        "expect A holds x, note \"m\"",
        "expect A holds x, revoked yes",
        "expect P holds pool?limit=3",
        "expect nothing",
        "expect nothing below pool",
        "list",
        "list\n| A holds x\n| P holds pool?limit=3&units=2\n| B waits for x",
        "list x\n| A holds x",
        "show x\n| A holds x\n| B waits for x, blocked by P",
        "show x -> invalid",
        "audit\n| Admin broke x held by A",
        "A gets x -> granted",
        "A cancels x -> cancelled",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        must_fail(begin, wrong[i], "test.scenario:7: ");
    }
}

/* The same for values and work. */
static void wrong_expectations_of_work_fail(void **state) {
    (void)state;
    static const char begin[] = HEAD "A puts x with \"v\" -> ok\n"
                                     "A pushes q/1 with \"w\" needs db -> ok, added yes\n"
                                     "A pushes q/2 delay 1h -> ok\n";
    static const char *const wrong[] = {
        "A reads x -> none",
        "A reads x -> ok, value w",
        "A reads x -> ok, value none",
        "A reads x -> ok, in doubt yes",
        "A reads y -> ok",
        "A puts x -> ok",
        "A puts x with \"v\" -> busy",
        "A deletes x token unknown -> ok",
        "A asks x -> granted, value v",
        "A asks x value -> granted, value none",
        "A pushes q/1 -> ok, added yes",
        "A pushes q -> ok",
        "A claims q -> busy",
        "A claims q -> granted, item 2",
        "A claims q -> granted, attempt 2",
        "A claims q -> granted, stolen yes",
        "A claims q -> granted, value v",
        "A claims q -> granted, token none",
        "A finishes q/1 -> ok",
        "A retries q/1 -> ok",
        "A unparks q/1 -> ok",
        "items q",
        "items q\n| 1 ready\n| 2 ready",
        "items q\n| 1 ready\n| 3 delayed",
        "items q\n| 1 claimed by A\n| 2 delayed",
        "items q\n| 1 ready, needs nothing\n| 2 delayed",
        "items q\n| 1 ready, needs db?shared\n| 2 delayed",
        "items q\n| 1 ready, attempts 1\n| 2 delayed",
        "items q\n| 1 ready\n| 2 delayed, due within 1m",
        "count q -> ok, pushed 1",
        "count q -> ok, parked 1",
        "A reads x -> ok, pushed 1",
        "expect A holds q/1",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        must_fail(begin, wrong[i], "test.scenario:7: ");
    }
}

static void wrong_expectations_of_events_fail(void **state) {
    (void)state;
    static const char *const begin = HEAD "watch db -> ok\n"
                                          "A asks db/t1 + x note \"n\" -> granted\n"
                                          "B tries db -> busy\n"
                                          "A deletes other -> ok\n"
                                          "C puts db/t1 with \"v\" -> busy\n"
                                          "events\n";
    static const char *const right = "| granted db/t1 + x by A, note \"n\"\n"
                                     "| refused busy db by B\n"
                                     "| refused busy db/t1 by C";
    static const char *const wrong[] = {
        "",
        "| granted db/t1 + x by A\n| refused busy db by B",
        "| granted db/t1 by A\n| refused busy db by B\n| refused busy db/t1 by C",
        "| granted db/t1 + x by B\n| refused busy db by B\n| refused busy db/t1 by C",
        "| granted db/t1 + x\n| refused busy db by B\n| refused busy db/t1 by C",
        "| queued db/t1 + x by A\n| refused busy db by B\n| refused busy db/t1 by C",
        "| granted db/t1 + x by A, note \"m\"\n| refused busy db by B\n| refused busy db/t1 by C",
        "| granted db/t1 + x by A\n| refused full db by B\n| refused busy db/t1 by C",
        "| granted db/t1 + x by A\n| gap\n| refused busy db/t1 by C",
        "| granted db/t1 + x deleted by A\n| refused busy db by B\n| refused busy db/t1 by C",
    };
    char text[1024];
    char report[4096];

    snprintf(text, sizeof text, "%s%s\n", begin, right);
    assert_int_equal(play_text(text, report, sizeof report), VERDICT_PASSED);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        must_fail(begin, wrong[i], "test.scenario:9: ");
    }
}

static void wrong_expectations_of_breaks_fail(void **state) {
    (void)state;
    static const char *const begin = HEAD "watch -> ok\n"
                                          "A asks x -> granted\n"
                                          "Admin breaks x now reason \"r\" -> ok, count 1\n"
                                          "events\n"
                                          "| granted x by A\n";
    static const char *const wrong[] = {
        "",
        "| broken x by A, broken by Root",
        "| broken x by A, reason \"s\"",
        "| broken x by A, broken by Root, reason \"r\"",
        "| broken x by A, broken by Admin, reason \"s\"",
    };
    char text[512];
    char report[4096];

    snprintf(text, sizeof text, "%s| broken x by A, broken by Admin, reason \"r\"\n", begin);
    assert_int_equal(play_text(text, report, sizeof report), VERDICT_PASSED);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        must_fail(begin, wrong[i], "test.scenario:7: ");
    }
}

static void a_passed_deadline_is_too_slow_not_failed(void **state) {
    (void)state;
    char report[2048];
    /* The wait takes longer than A's lease lives on the scenario's own clock. */
    const char *text = HEAD "A asks x ttl 200ms -> granted\n"
                            "B asks y -> granted\n"
                            "C waits for y within 300ms -> timeout\n"
                            "expect A has nothing at x\n";
    assert_int_equal(play_text(text, report, sizeof report), VERDICT_PASSED);
    struct observed observed = {0};
    const char *part = "x";
    struct observed_record *record = observed_find(&observed, "A", &part, 1);
    observed_promise(record, 1000, 200, 5000000);
    assert_false(observed_overrun(&observed, 1100, 4999999));
    assert_true(observed_overrun(&observed, 1100, 5000000));
    assert_false(observed_overrun(&observed, 1300, 5000000));
    assert_true(observed_in_doubt(&observed, 1190));
    assert_false(observed_in_doubt(&observed, 1300));
    observed_free(&observed);
}

/* The late answer of the last step is granted for a minute: what ended before it is remembered. */
static void an_answer_does_not_hide_a_passed_deadline(void **state) {
    (void)state;
    char report[2048];
    const char *text = HEAD "A asks x ttl 200ms -> granted\n"
                            "Admin breaks x reason \"r\" -> ok, count 1\n"
                            "A asks x -> lost\n";
    assert_int_equal(play_text(text, report, sizeof report), VERDICT_PASSED);
    ask_late = ask_count + 2;
    assert_int_equal(play_text(text, report, sizeof report), VERDICT_TOO_SLOW);
    assert_int_equal(ask_count, ask_late);
    ask_late = 0;
}

/* A thread that is not run in time loses what it renews; no deadline that is known has passed. */
static void a_failure_beside_a_short_wait_is_too_slow(void **state) {
    (void)state;
    char report[2048];
    static const struct {
        const char *ttl;
        enum verdict verdict;
    } waits[] = {{"", VERDICT_FAILED}, {" ttl 2s", VERDICT_TOO_SLOW}};
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 HEAD "A asks x -> granted\nB begins waiting for x%s\nexpect C waits for x\n",
                 waits[i].ttl);
        assert_int_equal(play_text(text, report, sizeof report), waits[i].verdict);
        assert_non_null(strstr(report, "there is no such request"));
    }
}

/* Events that are read late may be followed by the end of what was to live on. */
static void wrong_events_beside_a_passed_deadline_are_too_slow(void **state) {
    (void)state;
    char report[2048];
    static const struct {
        const char *text;
        enum verdict verdict;
    } events[] = {
        {HEAD "watch -> ok\nA asks x -> granted\nB asks x -> waiting\nevents\n| granted x by A\n",
         VERDICT_FAILED},
        {HEAD "watch -> ok\nA asks x ttl 200ms -> granted\nB asks x -> waiting\nevents\n"
              "| granted x by A\n| queued x by B\n| perished x by A\n",
         VERDICT_TOO_SLOW},
    };
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        assert_int_equal(play_text(events[i].text, report, sizeof report), events[i].verdict);
    }
}

static void bad_files_are_reported(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *complaint; /* begins so */
    } bad[] = {
        {"", "test:0: no scenario"},
        {"# only a comment\n", "test:1: no scenario"},
        {"A asks x -> granted\n", "test:1: a step before the first scenario"},
        {"scenario\n", "test:1: the scenario's name is missing"},
        {"scenario \"s\"\nA tries p?limit=1 -> granted\n", "test:2: scenario \"s\" names no rules"},
        {"scenario \"s\"\nrules R1\npause 1s\n", "test:3: scenario \"s\" expects nothing"},
        {"scenario \"s\"\nrules X1\n", "test:2: rules are written R1"},
        {"needs wings\n", "test:1: unknown capability 'wings'"},
        {"scenario \"s\"\nrules R1\nA asks x -> granted\n", "test:3: this step needs 'exclusive'"},
        {HEAD "A asks x\n", "test:4: '-> OUTCOME' is missing"},
        {HEAD "A asks x -> grantd\n", "test:4: unknown outcome 'grantd'"},
        {HEAD "A asks x -> granted, colour red\n", "test:4: unknown expectation 'colour'"},
        {HEAD "A asks x -> granted position 1\n", "test:4: unexpected 'position'"},
        {HEAD "A asks x loudly -> granted\n", "test:4: unknown option 'loudly'"},
        {HEAD "A asks x ttl 3 -> granted\n", "test:4: a duration like"},
        {HEAD "A asks x ttl 3weeks -> granted\n", "test:4: a duration like"},
        {HEAD "A asks x + -> granted\n", "test:4: a part is missing"},
        {HEAD "A sees x -> granted\n", "test:4: unknown step 'A sees'"},
        {HEAD "A asks \"x -> granted\n", "test:4: a quoted text does not end"},
        {HEAD "A asks \"\\q\" -> granted\n", "test:4: unknown escape"},
        {HEAD "A asks \"\\{a*9999}\" -> granted\n", "test:4: unknown escape or too long"},
        {HEAD "A asks x -> granted, position many\n", "test:4: a number is needed"},
        {HEAD "A asks x -> granted, created maybe\n", "test:4: yes or no is needed"},
        {HEAD "expect A likes x\n", "test:4: expect OWNER holds PARTS"},
        {HEAD "| A holds x\n", "test:4: a line with '|' must follow"},
        {HEAD "show\n", "test:4: one path is needed"},
        {HEAD "items\n", "test:4: one path is needed"},
        {HEAD "items q\n| 1\n", "test:5: the state is missing"},
        {HEAD "count q -> ok, wrought 1\n", "test:4: unknown expectation 'wrought'"},
        {"scenario \"s\"\nrules R1\nA reads x -> ok\n", "test:3: this step needs 'values'"},
        {"scenario \"s\"\nrules R1\nA claims q -> ok\n", "test:3: this step needs 'work'"},
        {"needs exclusive queue\nscenario \"s\"\nrules R1\nA asks x value -> granted\n",
         "test:4: this step needs 'values'"},
        {HEAD "pause\n", "test:4: a duration like"},
        {HEAD "expect nothing\nscenario \"s\"\n", "test:5: a second scenario"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct scenario_file *file = calloc(1, sizeof *file);
        struct complaint complaint = {0};
        assert_non_null(file);
        if (scenario_file_read(file, "test", bad[i].text, &complaint)) {
            fail_msg("this was read: %s", bad[i].text);
        }
        if (strncmp(complaint.text, bad[i].complaint, strlen(bad[i].complaint)) != 0) {
            fail_msg("'%s' in place of '%s'", complaint.text, bad[i].complaint);
        }
        scenario_file_free(file);
        free(file);
    }
}

static void missing_capabilities_are_in_the_matrix(void **state) {
    (void)state;
    struct scenario scenarios[3] = {{.rules = {7}, .rule_count = 1},
                                    {.rules = {7}, .rule_count = 1},
                                    {.rules = {7, 13}, .rule_count = 2}};
    struct target targets[2] = {{.name = "full", .capabilities = ~0u},
                                {.name = "small", .capabilities = LK_CAN_QUEUE}};
    struct played played[6] = {{&scenarios[0], &targets[0], VERDICT_PASSED},
                               {&scenarios[1], &targets[0], VERDICT_FAILED},
                               {&scenarios[2], &targets[0], VERDICT_PASSED},
                               {&scenarios[0], &targets[1], VERDICT_PASSED},
                               {&scenarios[1], &targets[1], VERDICT_PASSED},
                               {&scenarios[2], &targets[1], VERDICT_UNSUPPORTED}};
    char text[4096];
    FILE *out = tmpfile();
    assert_non_null(out);
    matrix_write(out, targets, 2, played, 6);
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    fclose(out);
    assert_non_null(strstr(text, "1 FAILED of 3"));
    assert_non_null(strstr(text, "2 passed, 1 unsupported"));
    assert_non_null(strstr(text, "| R13 "));
    assert_null(strstr(text, "| R1 "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_expectations_pass),
        cmocka_unit_test(wrong_expectations_fail),
        cmocka_unit_test(wrong_expectations_of_work_fail),
        cmocka_unit_test(wrong_expectations_of_events_fail),
        cmocka_unit_test(wrong_expectations_of_breaks_fail),
        cmocka_unit_test(a_passed_deadline_is_too_slow_not_failed),
        cmocka_unit_test(a_failure_beside_a_short_wait_is_too_slow),
        cmocka_unit_test(an_answer_does_not_hide_a_passed_deadline),
        cmocka_unit_test(wrong_events_beside_a_passed_deadline_are_too_slow),
        cmocka_unit_test(bad_files_are_reported),
        cmocka_unit_test(missing_capabilities_are_in_the_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
