/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of command lines: where options may be, what they mean, what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/parse/command_line.h"
#include "cli/parse/value.h"
#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { ARGUMENTS_MAX = 24, TEXT_MAX = 512 };

static const int64_t now_unix_ms = INT64_C(1795262400000);

/* A command line written as one text: words are parted by single spaces, '' is the empty word. */
struct typed {
    char text[TEXT_MAX];
    char *argv[ARGUMENTS_MAX];
    int argc;
    struct lk_command_line line;
    lk_error error;
    lk_outcome outcome;
};

static void type(struct typed *typed, const char *text) {
    memset(typed, 0, sizeof *typed);
    assert_true(strlen(text) < sizeof typed->text);
    strcpy(typed->text, text);
    for (char *rest = typed->text, *word; (word = strsep(&rest, " ")) != NULL;) {
        assert_true(typed->argc < ARGUMENTS_MAX - 1);
        typed->argv[typed->argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
    }
    typed->outcome =
        lk_command_line_parse(typed->argc, typed->argv, now_unix_ms, &typed->line, &typed->error);
}

/* The words behind the command, joined by `+`. */
static void expect_words(const struct typed *typed, const char *expected) {
    char words[TEXT_MAX] = "";

    for (size_t i = 0; i < typed->line.word_count; i++) {
        strcat(words, i > 0 ? "+" : "");
        strcat(words, typed->line.words[i]);
    }
    assert_string_equal(words, expected);
}

static void options_stand_anywhere(void **state) {
    static const char *const same[] = {
        "lk acquire a b -n --ttl 5s -S mem:",     "lk -S mem: acquire -n a --ttl 5s b",
        "lk --ttl 5s -n -S mem: acquire a b",     "lk acquire --ttl=5s a -Smem: b -n",
        "lk -nSmem: --ttl 5s acquire a b",        "lk acquire --try a --store=mem: --ttl 5 b",
        "lk -S mem: acquire -n --ttl 5s -- a b",  "lk --ttl 5s -n --store mem: -- acquire a b",
        "lk -S x acquire a b -S mem: --ttl 5 -n",
    };
    (void)state;

    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct typed typed;
        type(&typed, same[i]);
        assert_int_equal(typed.outcome, LK_OK);
        assert_string_equal(typed.line.command->name, "acquire");
        expect_words(&typed, "a+b");
        assert_true(lk_command_line_has(&typed.line, LK_OPTION_TRY));
        assert_int_equal(lk_command_line_number(&typed.line, LK_OPTION_TTL, -1), 5000);
        assert_string_equal(lk_command_line_text(&typed.line, LK_OPTION_STORE), "mem:");
        assert_null(typed.line.tail);
        assert_int_equal(typed.line.given, LK_OPTION_BIT(LK_OPTION_TRY)
                                               | LK_OPTION_BIT(LK_OPTION_TTL)
                                               | LK_OPTION_BIT(LK_OPTION_STORE));
        lk_command_line_done(&typed.line);
    }
}

static void short_options_match_flock(void **state) {
    static const struct {
        const char *text;
        enum lk_option_id id;
        int64_t number;
    } letters[] = {
        {"lk acquire a -n", LK_OPTION_TRY, 0},
        {"lk acquire a -s", LK_OPTION_SHARED, 0},
        {"lk acquire a -x", LK_OPTION_EXCLUSIVE, 0},
        {"lk acquire a -q", LK_OPTION_QUIET, 0},
        {"lk acquire a -w 1.5", LK_OPTION_WAIT, 1500},
        {"lk acquire a -w1.5", LK_OPTION_WAIT, 1500},
        {"lk acquire a -E 9", LK_OPTION_CONFLICT_EXIT_CODE, 9},
        {"lk acquire a -E0", LK_OPTION_CONFLICT_EXIT_CODE, 0},
        {"lk acquire a --conflict-exit-code=255", LK_OPTION_CONFLICT_EXIT_CODE, 255},
        {"lk run a -v -- true", LK_OPTION_VERBOSE, 0},
    };
    (void)state;

    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        struct typed typed;
        type(&typed, letters[i].text);
        assert_int_equal(typed.outcome, LK_OK);
        assert_int_equal(typed.line.given, LK_OPTION_BIT(letters[i].id));
        assert_int_equal(lk_command_line_number(&typed.line, letters[i].id, -1), letters[i].number);
        lk_command_line_done(&typed.line);
    }
}

static void short_options_can_be_combined(void **state) {
    struct typed typed;
    (void)state;

    type(&typed, "lk acquire -nsqE3 a");
    assert_int_equal(typed.outcome, LK_OK);
    expect_words(&typed, "a");
    assert_true(lk_command_line_has(&typed.line, LK_OPTION_TRY));
    assert_true(lk_command_line_has(&typed.line, LK_OPTION_SHARED));
    assert_true(lk_command_line_has(&typed.line, LK_OPTION_QUIET));
    assert_int_equal(lk_command_line_number(&typed.line, LK_OPTION_CONFLICT_EXIT_CODE, -1), 3);
    lk_command_line_done(&typed.line);
}

static void run_takes_all_words_after_the_dashes(void **state) {
    struct typed typed;
    (void)state;

    type(&typed, "lk run a -n -- cmd -n --json -- --help");
    assert_int_equal(typed.outcome, LK_OK);
    expect_words(&typed, "a");
    assert_int_equal(typed.line.given, LK_OPTION_BIT(LK_OPTION_TRY));
    assert_string_equal(typed.line.tail[0], "cmd");
    assert_string_equal(typed.line.tail[1], "-n");
    assert_string_equal(typed.line.tail[3], "--");
    assert_string_equal(typed.line.tail[4], "--help");
    assert_null(typed.line.tail[5]);
    lk_command_line_done(&typed.line);
}

static void after_the_dashes_options_are_words(void **state) {
    struct typed typed;
    (void)state;

    type(&typed, "lk acquire -n -- -n --json");
    assert_int_equal(typed.outcome, LK_OK);
    expect_words(&typed, "-n+--json");
    assert_int_equal(typed.line.given, LK_OPTION_BIT(LK_OPTION_TRY));
    lk_command_line_done(&typed.line);
}

static void values_may_look_like_options(void **state) {
    struct typed typed;
    (void)state;

    type(&typed, "lk acquire a --owner --json --note=a=b --store ''");
    assert_int_equal(typed.outcome, LK_OK);
    assert_string_equal(lk_command_line_text(&typed.line, LK_OPTION_OWNER), "--json");
    assert_string_equal(lk_command_line_text(&typed.line, LK_OPTION_NOTE), "a=b");
    assert_string_equal(lk_command_line_text(&typed.line, LK_OPTION_STORE), "");
    assert_false(lk_command_line_has(&typed.line, LK_OPTION_JSON));
    lk_command_line_done(&typed.line);
}

static void until_is_computed_from_now(void **state) {
    struct typed typed;
    (void)state;

    type(&typed, "lk acquire a --until 2026-11-21T12:00:10Z");
    assert_int_equal(typed.outcome, LK_OK);
    assert_int_equal(lk_command_line_number(&typed.line, LK_OPTION_UNTIL, 0), now_unix_ms + 10000);
    lk_command_line_done(&typed.line);
}

static void help_and_version_need_nothing_else(void **state) {
    static const char *const lines[] = {"lk --help",      "lk -h",
                                        "lk acquire -h",  "lk --version",
                                        "lk -V",          "lk acquire --help --bogus",
                                        "lk run --help",  "lk --help run -- cmd",
                                        "lk show --help", "lk break a --help"};
    (void)state;

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct typed typed;
        type(&typed, lines[i]);
        assert_int_equal(typed.outcome, LK_OK);
        lk_command_line_done(&typed.line);
    }
}

static void mistakes_are_reported_with_their_position(void **state) {
    static const struct {
        const char *text;
        const char *said;
    } bad[] = {
        {"lk -S mem:", "a command is needed"},
        {"lk --", "a command is needed"},
        {"lk aquire a", "unknown command \"aquire\"; did you mean \"acquire\"?"},
        {"lk rel a", "did you mean \"release\"?"},
        {"lk exist", "unknown command \"exist\"; see: lk help"},
        {"lk ''", "unknown command \"\""},
        {"lk acquire", "acquire needs PART"},
        {"lk show", "show needs PATH"},
        {"lk show a b", "\"b\" is one argument too many"},
        {"lk ls a b", "\"b\" is one argument too many"},
        {"lk doctor a", "\"a\" is one argument too many"},
        {"lk run a", "run needs --"},
        {"lk run a --", "run needs --"},
        {"lk run -- cmd", "run needs PART"},
        {"lk -- run a cmd", "run needs --"},
        {"lk run a --json -- cmd", "run does not take --json"},
        {"lk acquire a --bogus", "unknown option --bogus"},
        {"lk acquire a --not=x", "did you mean --note?"},
        {"lk acquire a -z", "unknown option -z"},
        {"lk acquire a -nz", "unknown option -z"},
        {"lk acquire -5", "unknown option -5"},
        {"lk acquire a --ttl", "--ttl needs a value: D"},
        {"lk acquire a -w", "-w needs a value: D"},
        {"lk acquire a --try=yes", "--try takes no value, not \"yes\""},
        {"lk acquire a --ttl 5x", "--ttl: \"5x\" is not a duration"},
        {"lk acquire a --ttl=", "--ttl: \"\" is not a duration"},
        {"lk acquire a --ttl 0", "--ttl: \"0\" is shorter than 50 ms"},
        {"lk acquire a --ttl 49ms", "shorter than 50 ms"},
        {"lk acquire a --ttl 367d", "longer than 366 d"},
        {"lk acquire a -w -1", "-w: \"-1\" is not a duration"},
        {"lk acquire a --limit 0", "--limit: \"0\" is less than 1"},
        {"lk acquire a --limit 2147483648", "greater than 2147483647"},
        {"lk acquire a --units 1.5", "--units: \"1.5\" is not a whole number: see byte 2"},
        {"lk acquire a -E 256", "-E: \"256\" is greater than 255"},
        {"lk acquire a -E -1", "-E: \"-1\" is less than 0"},
        {"lk acquire a --limit -7", "--limit: \"-7\" is less than 1"},
        {"lk acquire a --limit -7x", "--limit: \"-7x\" is not a whole number: see byte 1"},
        {"lk renew a --token 0", "--token: \"0\" is less than 1"},
        {"lk renew a --token x", "--token: \"x\" is not a whole number"},
        {"lk acquire a --until 17", "--until: \"17\" is no time"},
        {"lk acquire a --until 2000-01-01T00:00:00Z", "is not in the future"},
        {"lk run a --on-lost cry -- cmd", "--on-lost: \"cry\" is not kill or warn"},
        {"lk run a --max-time 0 -- cmd", "--max-time: \"0\" is shorter than 1 ms"},
        {"lk acquire a -n -w 5", "--try and --wait contradict"},
        {"lk acquire a --queue -n", "--try and --queue contradict"},
        {"lk acquire a --queue --wait 5", "--wait and --queue contradict"},
        {"lk acquire a -s -x", "--shared and --exclusive contradict"},
        {"lk acquire a -x --limit 3", "--exclusive and --limit contradict"},
        {"lk acquire a --ttl 5 --until 17:00", "--ttl and --until contradict"},
        {"lk run a -q -v -- cmd", "--verbose and --quiet contradict"},
        {"lk renew a -n", "renew does not take --try"},
        {"lk renew a --until 17:00", "renew does not take --until"},
        {"lk release a --ttl 5", "release does not take --ttl"},
        {"lk ls --owner a", "ls does not take --owner"},
        {"lk acquire a --reason x", "acquire does not take --reason"},
        {"lk bogus --help", "unknown command"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct typed typed;
        type(&typed, bad[i].text);
        if (typed.outcome != LK_INVALID || strstr(typed.error.text, bad[i].said) == NULL) {
            fail_msg("%s: outcome %d, \"%s\"", bad[i].text, (int)typed.outcome, typed.error.text);
        }
        lk_command_line_done(&typed.line);
    }
}

static void json_is_recognised_after_a_mistake(void **state) {
    struct typed typed;
    (void)state;

    type(&typed, "lk acquire a --bogus --ttl x --json");
    assert_int_equal(typed.outcome, LK_INVALID);
    assert_string_equal(typed.error.text, "unknown option --bogus");
    assert_true(lk_command_line_has(&typed.line, LK_OPTION_JSON));
    lk_command_line_done(&typed.line);
}

static void long_arguments_are_truncated_in_messages(void **state) {
    char word[4096];
    char *const argv[] = {"lk", word, NULL};
    (void)state;

    for (int dashes = 0; dashes <= 2; dashes++) {
        struct lk_command_line line;
        lk_error error;
        memset(word, 'a', sizeof word);
        memset(word, '-', (size_t)dashes);
        word[sizeof word - 1] = '\0';
        assert_int_equal(lk_command_line_parse(2, argv, now_unix_ms, &line, &error), LK_INVALID);
        assert_true(strlen(error.text) < LK_ERROR_TEXT_MAX);
        lk_command_line_done(&line);
    }
}

/* ---- any words in any order ------------------------------------------------------------------ */

/* xorshift64*: the same seed, the same lines. */
static uint64_t draw(uint64_t *seed) {
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * UINT64_C(2685821657736338717);
}

static const char *draw_word(uint64_t *seed) {
    static const char *const plain[] = {
        "acquire", "run", "release", "break",   "ls",    "help",     "a",        "b?shared", "--",
        "-",       "''",  "5s",      "1.5",     "17:00", "-n",       "-nw",      "-w5",      "-sx",
        "-E",      "-ES", "-q",      "--ttl=5", "--=",   "--store=", "\xff\xfe",
    };
    static char option[64];
    uint64_t which = draw(seed) % (COUNT(plain) + LK_OPTION_COUNT);

    if (which < COUNT(plain)) {
        return plain[which];
    }
    (void)snprintf(option, sizeof option, "--%s",
                   lk_option_at((enum lk_option_id)(which - COUNT(plain)))->name);
    return option;
}

/* What must hold of every line that was accepted. */
static void check_accepted(const struct typed *typed) {
    const struct lk_command_line *line = &typed->line;

    if (lk_command_line_has(line, LK_OPTION_HELP) || lk_command_line_has(line, LK_OPTION_VERSION)) {
        return;
    }
    assert_non_null(line->command);
    assert_int_equal(line->given & ~line->command->options, 0);
    assert_in_range(line->word_count, (unsigned)line->command->words.min,
                    (unsigned)line->command->words.max);
    assert_true((line->tail != NULL) == line->command->has_tail);
    for (int id = 0; id < LK_OPTION_COUNT; id++) {
        const struct lk_option *option = lk_option_at((enum lk_option_id)id);
        if (lk_command_line_has(line, (enum lk_option_id)id)) {
            assert_int_equal(line->given & option->excludes, 0);
            assert_true((line->values[id].text != NULL) == (option->kind != LK_KIND_FLAG));
        }
    }
}

static void repeated_options_are_listed_in_order(void **state) {
    struct typed typed;
    (void)state;

    type(&typed, "lk push q --needs a 1 --needs=b --delay 2s --needs a");
    assert_int_equal(typed.outcome, LK_OK);
    assert_int_equal(typed.line.listed_count, 3);
    assert_string_equal(typed.line.listed[0], "a");
    assert_string_equal(typed.line.listed[1], "b");
    assert_string_equal(typed.line.listed[2], "a");
    assert_int_equal(typed.line.word_count, 2);
    assert_int_equal(lk_command_line_number(&typed.line, LK_OPTION_DELAY, 0), 2000);
    lk_command_line_done(&typed.line);
}

static void any_words_are_accepted_or_refused_with_a_message(void **state) {
    const char *given = getenv("LK_TEST_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    size_t accepted = 0;
    (void)state;

    seed |= 1; /* zero would stay zero */
    print_message("# LK_TEST_SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < 100000; i++) {
        struct typed typed;
        char text[TEXT_MAX] = "lk";
        for (uint64_t words = draw(&seed) % 8; words > 0; words--) {
            strcat(strcat(text, " "), draw_word(&seed));
        }
        type(&typed, text);
        if (typed.outcome == LK_OK) {
            check_accepted(&typed);
            accepted++;
        } else {
            assert_int_equal(typed.outcome, LK_INVALID);
            assert_true(typed.error.text[0] != '\0');
        }
        lk_command_line_done(&typed.line);
    }
    assert_in_range(accepted, 1000, 99000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_stand_anywhere),
        cmocka_unit_test(short_options_match_flock),
        cmocka_unit_test(short_options_can_be_combined),
        cmocka_unit_test(run_takes_all_words_after_the_dashes),
        cmocka_unit_test(after_the_dashes_options_are_words),
        cmocka_unit_test(values_may_look_like_options),
        cmocka_unit_test(until_is_computed_from_now),
        cmocka_unit_test(help_and_version_need_nothing_else),
        cmocka_unit_test(mistakes_are_reported_with_their_position),
        cmocka_unit_test(json_is_recognised_after_a_mistake),
        cmocka_unit_test(long_arguments_are_truncated_in_messages),
        cmocka_unit_test(repeated_options_are_listed_in_order),
        cmocka_unit_test(any_words_are_accepted_or_refused_with_a_message),
    };
    return cmocka_run_group_tests_name("command line", tests, NULL, NULL);
}
