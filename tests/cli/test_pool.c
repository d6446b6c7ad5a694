/* SPDX-License-Identifier: Apache-2.0 */
/* What `lk work` makes of a command for an item, and how it tells how far it is. */
#include <stdlib.h>
#include <string.h>

#include "cli/work/counters.h"
#include "cli/work/item.h"
#include "unit.h"

static void the_placeholder_is_replaced_in_every_word_but_the_first(void **state) {
    static char *const command[] = {"{id}", "{id}", "a{id}b{id}", "{i}{id",
                                    "",     "id}",  "{{id}}",     NULL};
    static const char *const known[] = {"{id}", "4711", "a4711b4711", "{i}{id",
                                        "",     "id}",  "{4711}"};
    (void)state;

    char **words = lk_pool_item_words(command, "4711");
    assert_non_null(words);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_string_equal(words[i], known[i]);
    }
    assert_null(words[sizeof known / sizeof known[0]]);
    free(words);
}

static void an_id_may_be_longer_or_shorter_than_the_placeholder(void **state) {
    char id[256];
    static char *const command[] = {"cmd", "{id}{id}{id}", NULL};
    (void)state;

    for (size_t size = 1; size < sizeof id; size++) {
        memset(id, 'x', size);
        id[size] = '\0';
        char **words = lk_pool_item_words(command, id);
        assert_non_null(words);
        assert_int_equal(strlen(words[1]), 3 * size);
        assert_int_equal(strspn(words[1], "x"), 3 * size);
        free(words);
    }
}

static void count(struct lk_pool_counters *tally, size_t place, lk_work_step step, bool is_stolen) {
    const lk_claim_info claim = {.is_stolen = is_stolen};
    const lk_work_progress progress = {.step = step, .claim = &claim};

    lk_pool_counters_count(tally, place, &progress);
}

static void counters_that_are_zero_are_not_printed(void **state) {
    struct lk_pool_counters *tally = lk_pool_counters_new();
    char text[160];
    (void)state;

    assert_non_null(tally);
    lk_pool_counters_describe(tally, text, sizeof text);
    assert_string_equal(text, "0 running, 0 done");
    count(tally, 0, LK_WORK_CLAIMED, false);
    count(tally, 7, LK_WORK_CLAIMED, true);
    lk_pool_counters_describe(tally, text, sizeof text);
    assert_string_equal(text, "2 running, 0 done, 1 stolen from the dead");
    count(tally, 0, LK_WORK_DONE, false);
    lk_pool_counters_clear(tally, 7);
    count(tally, 0, LK_WORK_RETRIED, false);
    count(tally, 0, LK_WORK_PARKED, false);
    count(tally, 0, LK_WORK_LOST, false);
    count(tally, 0, LK_WORK_UNKNOWN, false);
    lk_pool_counters_describe(tally, text, sizeof text);
    assert_string_equal(
        text, "0 running, 1 done, 1 given back, 1 parked, 2 lost, 1 stolen from the dead");
    lk_pool_counters_summarise(tally, text, sizeof text);
    assert_string_equal(text, "1 done, 1 given back, 1 parked, 2 lost, 1 stolen from the dead");
    lk_pool_counters_describe(tally, text, 12);
    assert_string_equal(text, "0 running, ");
    lk_pool_counters_free(tally);
}

static void a_failure_is_printed_once(void **state) {
    struct lk_pool_counters *tally = lk_pool_counters_new();
    (void)state;

    assert_non_null(tally);
    assert_true(lk_pool_counters_may_say_failure(tally));
    assert_false(lk_pool_counters_may_say_failure(tally));
    lk_pool_counters_free(tally);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_placeholder_is_replaced_in_every_word_but_the_first),
        cmocka_unit_test(an_id_may_be_longer_or_shorter_than_the_placeholder),
        cmocka_unit_test(counters_that_are_zero_are_not_printed),
        cmocka_unit_test(a_failure_is_printed_once),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
