/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of waiters and their blockers, drawn from given listings; and the columns of characters
 * that they are cut to.
 */
#include <stdlib.h>
#include <string.h>

#include "../cli/unit.h"
#include "cli/print/human.h"
#include "cli/print/wait_graph.h"

enum { REQUESTS_MAX = 256 };

/*
 * A listing of requests: request i has owner i and ticket i + 1. A request without blockers is a
 * lease.
 */
struct given_listing {
    lk_entry entries[REQUESTS_MAX];
    lk_blocker_info blockers[REQUESTS_MAX * 64];
    char owners[REQUESTS_MAX][8];
    size_t blocker_count;
    lk_listing listing;
};

static lk_entry *add(struct given_listing *given, bool held) {
    size_t number = given->listing.count++;
    lk_entry *entry = &given->entries[number];

    (void)snprintf(given->owners[number], sizeof given->owners[number], "%zu", number);
    *entry = (lk_entry){.path = (char *)(uintptr_t) "x",
                        .owner = given->owners[number],
                        .ticket = number + 1,
                        .held = held,
                        .expires_in_ms = 60000,
                        .request_index = number,
                        .blockers = &given->blockers[given->blocker_count]};
    given->listing.entries = given->entries;
    return entry;
}

/* The last entry waits for this one too. */
static void behind(struct given_listing *given, lk_entry *entry, size_t number) {
    const lk_entry *other = &given->entries[number];

    given->blockers[given->blocker_count++] = (lk_blocker_info){.path = other->path,
                                                                .owner = other->owner,
                                                                .ticket = other->ticket,
                                                                .held = other->held,
                                                                .expires_in_ms = 60000};
    entry->blocker_count++;
    entry->position++;
}

static char *chain_of(struct given_listing *given, size_t number, bool drawn) {
    const lk_listing *listings[] = {&given->listing};
    struct lk_wait_graph *waits = lk_wait_graph_new(listings, 1);
    struct lk_chain chain;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(waits);
    assert_non_null(out);
    lk_chain_make(waits, number + 1, given->owners[number], &chain);
    assert_true(chain.count <= LK_CHAIN_LINKS_MAX);
    for (size_t i = 0; i < chain.count; i++) {
        lk_chain_write(out, &chain, i, drawn);
        (void)fputc('\n', out);
    }
    assert_int_equal(fclose(out), 0);
    lk_wait_graph_free(waits);
    return text;
}

static void expect_chain(struct given_listing *given, size_t number, const char *expected) {
    char *text = chain_of(given, number, false);

    assert_string_equal(text, expected);
    free(text);
}

static struct given_listing *new_story(void) {
    struct given_listing *given = calloc(1, sizeof *given);

    assert_non_null(given);
    return given;
}

static void a_queue_is_drawn_as_a_chain(void **state) {
    struct given_listing *given = new_story();
    (void)state;

    (void)add(given, true);
    for (size_t i = 1; i < 4; i++) {
        lk_entry *entry = add(given, false);
        for (size_t ahead = 0; ahead < i; ahead++) {
            behind(given, entry, ahead);
        }
    }
    expect_chain(given, 1, "`- 0 holds x, 1m left\n");
    expect_chain(given, 3,
                 "`- 2 waits ahead for x, 1m left\n"
                 "   `- 1 waits ahead for x, 1m left\n"
                 "      `- 0 holds x, 1m left\n");
    expect_chain(given, 0, "");
    free(given);
}

static void branches_are_drawn_once(void **state) {
    struct given_listing *given = new_story();
    lk_entry *entry;
    (void)state;

    (void)add(given, true); /* 0 and 1 hold, */
    (void)add(given, true);
    entry = add(given, false); /* 2 waits for both, */
    behind(given, entry, 0);
    behind(given, entry, 1);
    entry = add(given, false); /* 3 and 4 for 2, */
    behind(given, entry, 2);
    entry = add(given, false);
    behind(given, entry, 2);
    entry = add(given, false); /* 5 for 3 and 4 */
    behind(given, entry, 3);
    behind(given, entry, 4);
    expect_chain(given, 5,
                 "|- 3 waits ahead for x, 1m left\n"
                 "|  `- 2 waits ahead for x, 1m left\n"
                 "|     |- 0 holds x, 1m left\n"
                 "|     `- 1 holds x, 1m left\n"
                 "`- 4 waits ahead for x, 1m left\n"
                 "   `- 2 waits ahead for x, 1m left; its blockers are above\n");
    char *text = chain_of(given, 2, true);
    assert_string_equal(text, "\u251C\u2500 0 holds x, 1m left\n\u2514\u2500 1 holds x, 1m left\n");
    free(text);
    free(given);
}

static void unprintable_notes_and_owners_are_escaped(void **state) {
    struct given_listing *given = new_story();
    (void)state;

    (void)add(given, true);
    (void)memcpy(given->owners[0], "e\x1b[2J", 6);
    lk_entry *entry = add(given, false);
    behind(given, entry, 0);
    given->blockers[0].note = (char *)(uintptr_t) "two\nlines";
    expect_chain(given, 1, "`- e\\x1b[2J holds x, 1m left (two\\x0alines)\n");
    free(given);
}

static void blockers_beyond_the_limit_are_counted(void **state) {
    struct given_listing *given = new_story();
    (void)state;

    (void)add(given, true);
    lk_entry *entry = add(given, false);
    behind(given, entry, 0);
    entry->position = 12;
    expect_chain(given, 1, "|- 0 holds x, 1m left\n`- and 11 more\n");
    free(given);
}

static void contradictory_listings_do_not_loop(void **state) {
    struct given_listing *given = new_story();
    (void)state;

    lk_entry *first = add(given, false);
    lk_entry *second = add(given, false);
    first->blockers = &given->blockers[0];
    second->blockers = &given->blockers[1];
    behind(given, first, 1);
    behind(given, second, 0);
    expect_chain(given, 0,
                 "`- 1 waits ahead for x, 1m left\n"
                 "   `- 0 waits ahead for x, 1m left; its blockers are above\n");
    free(given);
}

static void long_queues_are_bounded(void **state) {
    struct given_listing *given = new_story();
    (void)state;

    (void)add(given, true);
    for (size_t i = 1; i < REQUESTS_MAX; i++) {
        lk_entry *entry = add(given, false);
        for (size_t ahead = i > 63 ? i - 63 : 0; ahead < i; ahead++) {
            behind(given, entry, ahead);
        }
        entry->position = i;
    }
    char *text = chain_of(given, REQUESTS_MAX - 1, false);
    assert_non_null(strstr(text, "`- and 247 more\n")); /* 255 ahead, 8 of them drawn */
    free(text);
    free(given);
}

static void wide_queues_are_bounded(void **state) {
    struct given_listing *given = new_story();
    (void)state;

    for (size_t i = 0; i < 63; i++) {
        (void)add(given, true);
    }
    lk_entry *one = add(given, false);
    for (size_t i = 0; i < 63; i++) {
        behind(given, one, i);
    }
    lk_entry *two = add(given, false);
    behind(given, two, 63);
    two->position = 9;
    char *text = chain_of(given, 64, false);
    /* One line for the waiter, 63 for its holders, and 8 more: the last one makes room. */
    assert_non_null(strstr(text, "\n`- and 9 more\n"));
    free(text);
    free(given);
}

static void unlisted_blockers_can_be_looked_up(void **state) {
    struct given_listing *given = new_story();
    (void)state;

    (void)add(given, true);
    (void)add(given, false);
    lk_entry *entry = add(given, false);
    behind(given, entry, 0);
    behind(given, entry, 1);
    given->blockers[1].path = (char *)(uintptr_t) "elsewhere";

    const lk_listing some = {.entries = &given->entries[2], .count = 1};
    const lk_listing *listings[] = {&some, &given->listing};
    struct lk_wait_graph *waits = lk_wait_graph_new(listings, 1);
    assert_non_null(waits);
    assert_string_equal(lk_wait_graph_unknown(waits, 0), "elsewhere");
    assert_null(lk_wait_graph_unknown(waits, 1));
    assert_null(lk_wait_graph_find(waits, 2, "1"));
    lk_wait_graph_free(waits);

    waits = lk_wait_graph_new(listings, 2);
    assert_non_null(waits);
    assert_null(lk_wait_graph_unknown(waits, 0));
    assert_ptr_equal(lk_wait_graph_find(waits, 2, "1"), &given->entries[1]);
    lk_wait_graph_free(waits);
    free(given);
}

static void an_empty_listing_draws_nothing(void **state) {
    struct lk_wait_graph *waits = lk_wait_graph_new(NULL, 0);
    struct lk_chain chain;
    (void)state;

    assert_non_null(waits);
    assert_null(lk_wait_graph_find(waits, 1, "a"));
    assert_null(lk_wait_graph_unknown(waits, 0));
    lk_chain_make(waits, 1, "a", &chain);
    assert_int_equal(chain.count, 0);
    lk_wait_graph_free(waits);
    lk_wait_graph_free(NULL);
}

/* ---- columns of characters, and text that is cut between characters -------------------------- */

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
        cmocka_unit_test(a_queue_is_drawn_as_a_chain),
        cmocka_unit_test(branches_are_drawn_once),
        cmocka_unit_test(unprintable_notes_and_owners_are_escaped),
        cmocka_unit_test(blockers_beyond_the_limit_are_counted),
        cmocka_unit_test(contradictory_listings_do_not_loop),
        cmocka_unit_test(long_queues_are_bounded),
        cmocka_unit_test(wide_queues_are_bounded),
        cmocka_unit_test(unlisted_blockers_can_be_looked_up),
        cmocka_unit_test(an_empty_listing_draws_nothing),
        cmocka_unit_test(characters_have_their_width_in_columns),
        cmocka_unit_test(text_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
