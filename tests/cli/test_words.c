/* SPDX-License-Identifier: Apache-2.0 */
/* What people read: durations, foreign text, columns, likenesses, help. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/program.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/parse/caller.h"
#include "cli/print/human.h"
#include "cli/print/say.h"
#include "unit.h"

static void durations_have_two_units_at_most(void **state) {
    static const struct {
        int64_t ms;
        const char *text;
    } good[] = {
        {-5, "0ms"},       {0, "0ms"},          {850, "850ms"},        {999, "999ms"},
        {1000, "1s"},      {59999, "1m"},       {60000, "1m"},         {200000, "3m20s"},
        {3600000, "1h"},   {3659000, "1h1m"},   {7500000, "2h5m"},     {86400000, "1d"},
        {345600000, "4d"}, {349200000, "4d1h"}, {31622400000, "366d"}, {1499, "1s"},
        {1500, "2s"},      {59499, "59s"},      {3599499, "59m59s"},   {3599500, "1h"},
        {3629999, "1h"},   {3630000, "1h1m"},   {86369999, "23h59m"},  {86370000, "1d"},
        {88199999, "1d"},  {88200000, "1d1h"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char text[LK_HUMAN_DURATION_SIZE];
        lk_human_duration(good[i].ms, text);
        assert_string_equal(text, good[i].text);
    }
    char text[LK_HUMAN_DURATION_SIZE];
    lk_human_duration(INT64_MAX, text);
    assert_string_equal(text, "106751991167d7h");
}

static void rules_come_last_in_a_sentence(void **state) {
    static const struct {
        const char *text, *sentence;
    } pairs[] = {
        {"", ""},
        {"R16: there is no such parked item", "there is no such parked item (R16)"},
        {"part 1, \"a//b\": R1: a segment", "part 1, \"a//b\": a segment (R1)"},
        {"R16: what the work needs: R1: a segment", "what the work needs: a segment (R16, R1)"},
        {"line 3: R2: part 2: a is named twice; more",
         "line 3: part 2: a is named twice; more (R2)"},
        {"part 1, \"R1: a: R2: \": R1: white space", "part 1, \"R1: a: R2: \": white space (R1)"},
        {"R: none", "R: none"},
        {"R1 is held", "R1 is held"},
        {"the key XR1: none", "the key XR1: none"},
        {"R1: ", " (R1)"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char *sentence = lk_human_sentence(pairs[i].text);
        assert_non_null(sentence);
        assert_string_equal(sentence, pairs[i].sentence);
        free(sentence);
    }
}

static void foreign_text_cannot_move_the_cursor(void **state) {
    static const struct {
        const char *text;
        const char *visible;
    } good[] = {
        {"", ""},
        {"plain caf\xC3\xA9 \xE2\x82\xAC", "plain caf\xC3\xA9 \xE2\x82\xAC"},
        {"\x1b[2J", "\\x1b[2J"},
        {"two\nlines\t\r", "two\\x0alines\\x09\\x0d"},
        {"\x7f", "\\x7f"},
        {"\xC2\x9B", "\\xc2\\x9b"},          /* CSI as one character */
        {"\xE2\x80\xAE", "\\xe2\\x80\\xae"}, /* right-to-left override */
        {"\xFF\xFE", "\\xff\\xfe"},
        {"\xE2\x82", "\\xe2\\x82"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char *visible = lk_human_visible(good[i].text);
        assert_non_null(visible);
        assert_string_equal(visible, good[i].visible);
        free(visible);
    }
}

static void columns_are_aligned_by_characters(void **state) {
    static const char *const titles[] = {"A", "B", "C"};
    struct lk_table table;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    (void)state;

    assert_non_null(out);
    lk_table_open(&table, titles, 3);
    lk_table_add(&table, "caf\xC3\xA9");
    lk_table_add_number(&table, 12345);
    lk_table_add(&table, "");
    lk_table_add(&table, "x");
    lk_table_add_duration(&table, 90000);
    lk_table_add(&table, "note\n");
    assert_true(lk_table_write(&table, out, false));
    assert_true(lk_table_write(&table, out, true));
    lk_table_close(&table);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "A     B      C\n"
                              "caf\xC3\xA9  12345\n"
                              "x     1m30s  note\\x0a\n"
                              "\x1b[1mA     B      C\x1b[0m\n"
                              "caf\xC3\xA9  12345\n"
                              "x     1m30s  note\\x0a\n");
    free(text);
}

static void similar_words_are_suggested(void **state) {
    (void)state;

    assert_int_equal(lk_likeness("acquire", 7, "acquire"), 0);
    assert_int_equal(lk_likeness("aquire", 6, "acquire"), 1);
    assert_int_equal(lk_likeness("acq", 3, "acquire"), 1);
    assert_int_equal(lk_likeness("realese", 7, "release"), 2);
    assert_int_equal(lk_likeness("shwo", 4, "show"), 1);
    assert_int_equal(lk_likeness("puts", 4, "put"), 1);
    assert_true(lk_likeness("port", 4, "put") == LK_LIKENESS_NONE);
    assert_true(lk_likeness("job", 3, "top") == LK_LIKENESS_NONE);
    assert_true(lk_likeness("serve", 5, "release") == LK_LIKENESS_NONE);
    assert_true(lk_likeness("", 0, "ls") == LK_LIKENESS_NONE);
    assert_true(lk_likeness("zz", 2, "ls") == LK_LIKENESS_NONE);
}

static char *help_of(const struct lk_cli_command *command) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    if (command != NULL) {
        lk_help_command(out, command);
    } else {
        lk_help_overview(out);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

static void every_command_has_a_help_text(void **state) {
    char *overview = help_of(NULL);
    (void)state;

    for (size_t i = 0; lk_cli_command_at(i) != NULL; i++) {
        const struct lk_cli_command *command = lk_cli_command_at(i);
        char line[64];
        char *text = help_of(command);

        (void)snprintf(line, sizeof line, "\n  %s ", command->name);
        assert_non_null(strstr(overview, line));
        assert_non_null(strstr(overview, command->summary));

        (void)snprintf(line, sizeof line, "usage: lk %s [options]", command->name);
        assert_non_null(strstr(text, line));
        assert_non_null(strstr(text, command->arguments));
        assert_non_null(strstr(text, "\nExamples:\n"));
        assert_non_null(command->examples[0].line);
        assert_non_null(strstr(text, command->examples[0].line));
        assert_non_null(strstr(text, "\nExit codes:\n"));
        assert_non_null(strstr(text, "\n   64  invalid: "));
        free(text);
    }
    free(overview);
}

/* Whether the text has these words, and not only as the beginning of longer ones. */
static bool has_whole(const char *text, const char *words) {
    const char *at = strstr(text, words);

    return at != NULL && strchr(" \n", at[strlen(words)]) != NULL;
}

static void help_lists_exactly_the_options_of_the_command(void **state) {
    (void)state;

    for (size_t i = 0; lk_cli_command_at(i) != NULL; i++) {
        const struct lk_cli_command *command = lk_cli_command_at(i);
        char *text = help_of(command);
        char *options = strstr(text, "\nOptions:\n");
        char *examples = strstr(text, "\nExamples:\n");

        assert_true(options != NULL && examples != NULL && options < examples);
        *examples = '\0';
        for (int id = 0; id < LK_OPTION_COUNT; id++) {
            const struct lk_option *option = lk_option_at((enum lk_option_id)id);
            char line[64];
            (void)snprintf(line, sizeof line, "  %c%c%c --%s%s%s", option->letter != 0 ? '-' : ' ',
                           option->letter != 0 ? option->letter : ' ',
                           option->letter != 0 ? ',' : ' ', option->name,
                           option->value != NULL ? " " : "",
                           option->value != NULL ? option->value : "");
            bool is_listed = (command->options & ~command->idle & LK_OPTION_BIT(id)) != 0;
            /* One without a value looks as the beginning of its namesake that has one. */
            if (lk_option_by_name(option->name, strlen(option->name), command->options)
                == (enum lk_option_id)id) {
                assert_true(has_whole(options, line) == is_listed);
            }
        }
        free(text);
    }
}

static void expect_in_help(const char *name, const char *words, bool is_there) {
    char *text = help_of(lk_cli_command_by_name(name));

    assert_true((strstr(text, words) != NULL) == is_there);
    free(text);
}

/* An option that means something else to one command has a text of its own there. */
static void help_says_what_an_option_means_to_the_command(void **state) {
    (void)state;

    expect_in_help("claim", "(default: --try)", true);
    expect_in_help("claim", "wait for ever", false);
    expect_in_help("claim", "75  busy: nothing to claim", true);
    expect_in_help("acquire", "wait for ever", true);
    expect_in_help("acquire", "renew", true); /* the command, not the option's text */
    expect_in_help("acquire", "as before", false);
    expect_in_help("renew", "(as before)", true);
    expect_in_help("renew", "--limit", false);
    expect_in_help("break", "only the requests of this owner", true);
    expect_in_help("done", "only the claim with this token", true);
    expect_in_help("serve", "services share: postgresql://", true);
    expect_in_help("serve", "sqlite:PATH", false);
}

static void help_fits_a_terminal(void **state) {
    (void)state;

    for (size_t i = 0; lk_cli_command_at(i) != NULL; i++) {
        const struct lk_cli_command *command = lk_cli_command_at(i);
        char *text = help_of(command);
        for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
            assert_true(strlen(line) <= 80);
        }
        free(text);
    }
}

static void the_caller_s_owner_fits(void **state) {
    char owner[LK_OWNER_TEXT_SIZE];
    char again[LK_OWNER_TEXT_SIZE];
    char user[LK_OWNER_TEXT_SIZE];
    (void)state;

    lk_caller_claimant(owner);
    lk_caller_claimant(again);
    assert_string_equal(owner, again);
    lk_caller_owner(owner);
    lk_shell_user(user);
    assert_true(strlen(owner) <= 128);
    assert_non_null(strchr(user, '@'));
    assert_memory_equal(owner, user, strlen(user));
    assert_int_equal(owner[strlen(user)], '/');
}

/* Only the part of an owner that lk made: a name of the user's is shown as it is. */
static void people_see_the_first_part_of_a_made_owner(void **state) {
    static const char *const whole[] = {
        "ci-4711",       "ana@build1",          "ana@build1/61", "ana@build1/61:x",
        "a@b/61:1:2",    "a@b/61:1:2:3:4",      "a@b/:1:2:3",    "ci/61:1:2:3",
        "a@b/61:1:2:3 ", "a@b/61:1:2:3/second", "a/b@c",         "",
    };
    char made[LK_OWNER_TEXT_SIZE];
    (void)state;

    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        assert_int_equal(lk_human_owner_size(whole[i]), (int)strlen(whole[i]));
    }
    assert_int_equal(lk_human_owner_size("a@b/61:86a5c6fe:4026531836:60879"), strlen("a@b/61"));
    lk_owner_make(made);
    assert_int_equal(made[lk_human_owner_size(made)], ':');
    lk_caller_owner(made);
    assert_int_equal(made[lk_human_owner_size(made)], ':');
}

static void expect_note(const char *const *words, const char *expected) {
    char note[LK_COMMAND_NOTE_BYTES_MAX + 1];

    lk_command_note((char *const *)(uintptr_t)words, note);
    assert_string_equal(note, expected);
}

static void a_command_is_a_note_of_sixty_bytes(void **state) {
    const char *const plain[] = {"make", "-j2", "test", NULL};
    const char *const lines[] = {"sh", "-c", "a\n\tb", "\xff", NULL};
    const char *const secret[] = {"psql", "postgresql://ana:hush@db/x", NULL};
    const char *const wide[] = {"0123456789012345678901234567890123456789012345678901234567",
                                "\u20AC", NULL};
    const char *const fits[] = {"01234567890123456789012345678901234567890123456789012345",
                                "\u20AC", "x", NULL};
    (void)state;

    expect_note(plain, "make -j2 test");
    expect_note(lines, "sh -c a  b ?");
    expect_note(secret, "psql postgresql://ana@db/x");
    expect_note(wide, "0123456789012345678901234567890123456789012345678901234567 ");
    expect_note(fits, "01234567890123456789012345678901234567890123456789012345 \u20AC");
}

static void expect_named(const char *text, const char *expected) {
    char *named = lk_program_in(text);

    assert_string_equal(named, expected);
    free(named);
}

static void the_program_is_called_by_its_name(void **state) {
    static const char *const strange[] = {"", "-lk", "lk\n", "/usr/bin/", "a b", NULL};
    (void)state;

    lk_program_set("lk"); /* whatever this is built to be installed as */
    lk_program_set(NULL);
    for (size_t i = 0; strange[i] != NULL; i++) {
        lk_program_set(strange[i]);
        assert_string_equal(lk_program(), "lk");
    }
    lk_program_set("/usr/local/bin/lockkeeper");
    assert_string_equal(lk_program(), "lockkeeper");
    expect_named("lk: a `lk`, (lk run) and lk's, lk. lk\nlk",
                 "lockkeeper: a `lockkeeper`, "
                 "(lockkeeper run) and lockkeeper's, lockkeeper. lockkeeper\nlockkeeper");
    expect_named("lk://HOST lk+unix:PATH lk_open() /run/lk.sock lk.bash bulk lks",
                 "lk://HOST lk+unix:PATH lk_open() /run/lk.sock lk.bash bulk lks");
    lk_program_set("lk");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_have_two_units_at_most),
        cmocka_unit_test(rules_come_last_in_a_sentence),
        cmocka_unit_test(foreign_text_cannot_move_the_cursor),
        cmocka_unit_test(columns_are_aligned_by_characters),
        cmocka_unit_test(similar_words_are_suggested),
        cmocka_unit_test(every_command_has_a_help_text),
        cmocka_unit_test(help_lists_exactly_the_options_of_the_command),
        cmocka_unit_test(help_says_what_an_option_means_to_the_command),
        cmocka_unit_test(help_fits_a_terminal),
        cmocka_unit_test(the_caller_s_owner_fits),
        cmocka_unit_test(people_see_the_first_part_of_a_made_owner),
        cmocka_unit_test(a_command_is_a_note_of_sixty_bytes),
        cmocka_unit_test(the_program_is_called_by_its_name),
    };
    return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
