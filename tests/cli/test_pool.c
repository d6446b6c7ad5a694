/* SPDX-License-Identifier: Apache-2.0 */
/* What `lk work` makes of a command for an item, and how it tells how far it is. */
#include <stdlib.h>
#include <string.h>

#include "cli/work/counters.h"
#include "cli/work/item.h"
#include "cli/work/relay.h"
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
    lk_pool_counters_count_cancelled(tally, 0);
    count(tally, 0, LK_WORK_PARKED, false);
    count(tally, 0, LK_WORK_LOST, false);
    count(tally, 0, LK_WORK_UNKNOWN, false);
    lk_pool_counters_describe(tally, text, sizeof text);
    assert_string_equal(
        text,
        "0 running, 1 done, 1 given back, 1 cancelled, 1 parked, 2 lost, 1 stolen from the dead");
    lk_pool_counters_summarise(tally, text, sizeof text);
    assert_string_equal(
        text, "1 done, 1 given back, 1 cancelled, 1 parked, 2 lost, 1 stolen from the dead");
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

/* The end of what was written in pieces of `piece` bytes. */
static const char *tail_of(const char *bytes, size_t size, size_t piece) {
    static char text[LK_POOL_TAIL_MAX + 1];
    struct lk_pool_tail tail = {.size = 0};

    for (size_t at = 0; at < size; at += piece) {
        lk_pool_tail_add(&tail, bytes + at, size - at < piece ? size - at : piece);
    }
    size_t used = lk_pool_tail_text(&tail, text);
    assert_int_equal(used, strlen(text));
    return text;
}

static void one_worker_says_that_the_store_is_away(void **state) {
    struct lk_pool_counters *tally = lk_pool_counters_new();
    (void)state;

    assert_non_null(tally);
    assert_false(lk_pool_counters_may_say_outage(tally, 3, false));
    assert_true(lk_pool_counters_may_say_outage(tally, 3, true));
    assert_false(lk_pool_counters_may_say_outage(tally, 0, true));
    assert_true(lk_pool_counters_may_say_outage(tally, 3, true));
    assert_false(lk_pool_counters_may_say_outage(tally, 0, false));
    assert_true(lk_pool_counters_may_say_outage(tally, 3, false));
    assert_false(lk_pool_counters_may_say_outage(tally, 3, false));
    /* One that has died says it no more. */
    assert_true(lk_pool_counters_may_say_outage(tally, 0, true));
    lk_pool_counters_clear(tally, 3);
    assert_false(lk_pool_counters_may_say_outage(tally, 3, true));
    lk_pool_counters_clear(tally, 0);
    assert_true(lk_pool_counters_may_say_outage(tally, 3, true));
    lk_pool_counters_free(tally);
}

static void the_end_of_what_was_written_is_text(void **state) {
    (void)state;

    assert_string_equal(tail_of("", 0, 1), "");
    assert_string_equal(tail_of("a\nb\n\r\n", 6, 2), "a\nb");
    assert_string_equal(tail_of("a\0b\xff\xc3\xa9\xc3", 7, 3), "a?b?\xc3\xa9?");
    assert_string_equal(tail_of("\n\n", 2, 1), "");
}

static void much_text_is_kept_from_the_beginning_of_a_line(void **state) {
    char bytes[5000];
    (void)state;

    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = i % 10 == 9 ? '\n' : (char)('0' + i % 10);
    }
    for (size_t piece = 1; piece <= sizeof bytes; piece += 333) {
        const char *text = tail_of(bytes, sizeof bytes, piece);

        assert_int_equal(strlen(text), 1020 - 1); /* 102 lines, the last one without its end */
        assert_memory_equal(text, "012345678\n", 10);
    }
}

static void a_line_that_is_too_long_is_kept_from_the_beginning_of_a_character(void **state) {
    char bytes[2001];
    (void)state;

    for (size_t i = 0; i + 1 < sizeof bytes; i += 2) {
        memcpy(bytes + i, "\xc3\xa9", 2);
    }
    bytes[2000] = '.';
    const char *text = tail_of(bytes, sizeof bytes, 7);
    assert_int_equal(strlen(text), 1023);
    assert_memory_equal(text, "\xc3\xa9", 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_placeholder_is_replaced_in_every_word_but_the_first),
        cmocka_unit_test(an_id_may_be_longer_or_shorter_than_the_placeholder),
        cmocka_unit_test(counters_that_are_zero_are_not_printed),
        cmocka_unit_test(a_failure_is_printed_once),
        cmocka_unit_test(one_worker_says_that_the_store_is_away),
        cmocka_unit_test(the_end_of_what_was_written_is_text),
        cmocka_unit_test(much_text_is_kept_from_the_beginning_of_a_line),
        cmocka_unit_test(a_line_that_is_too_long_is_kept_from_the_beginning_of_a_character),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
