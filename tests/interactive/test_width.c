/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of characters, and text that is cut between characters. */
#include <string.h>

#include "cli/print/human.h"
#include "unit.h"

static void characters_have_their_width_in_columns(void **state) {
    static const struct {
        const char *text;
        int columns;
    } good[] = {
        {"", 0},
        {"plain", 5},
        {"caf\xC3\xA9", 4},
        {"e\xCC\x81", 1},                  /* e and a combining acute */
        {"\xE6\x97\xA5\xE6\x9C\xAC", 4},   /* two ideographs */
        {"\xF0\x9F\x94\x92", 2},           /* a padlock */
        {"\xEF\xBC\xA1", 2},               /* a full-width A */
        {"\xE2\x94\x94\xE2\x94\x80 x", 4}, /* a branch */
        {"\xFF", 1},                       /* no character at all */
    };
    (void)state;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(lk_width_of(good[i].text), good[i].columns);
    }
}

static void text_is_cut_between_characters(void **state) {
    static const struct {
        const char *text;
        int columns;
        size_t size;
        int used;
    } good[] = {
        {"abc", 5, 3, 3},           {"abc", 2, 2, 2},          {"abc", 0, 0, 0},
        {"abc", -1, 0, 0},          {"caf\xC3\xA9!", 4, 5, 4}, {"caf\xC3\xA9", 3, 3, 3},
        {"e\xCC\x81x", 1, 3, 1},    /* the mark stays with its letter */
        {"a\xE6\x97\xA5", 2, 1, 1}, /* half a wide one is none */
        {"a\xE6\x97\xA5", 3, 4, 3},
    };
    (void)state;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int used = -1;
        assert_int_equal(lk_width_fit(good[i].text, good[i].columns, &used), good[i].size);
        assert_int_equal(used, good[i].used);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_have_their_width_in_columns),
        cmocka_unit_test(text_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
