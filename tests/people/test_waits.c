/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of who waits for whom, made of listings written down here. */
#include <stdlib.h>
#include <string.h>

#include "cli/print/wait_graph.h"
#include "unit.h"

enum { REQUESTS_MAX = 256 };

/*
 * A listing of requests named by letters: request i has owner i, ticket i + 1 and waits for those
 * whose numbers `blockers[i]` gives. What waits for nobody holds.
 */
struct story {
    lk_entry entries[REQUESTS_MAX];
    lk_blocker_info blockers[REQUESTS_MAX * 64];
    char owners[REQUESTS_MAX][8];
    size_t blocker_count;
    lk_listing listing;
};

static lk_entry *add(struct story *story, bool held) {
    size_t number = story->listing.count++;
    lk_entry *entry = &story->entries[number];

    (void)snprintf(story->owners[number], sizeof story->owners[number], "%zu", number);
    *entry = (lk_entry){.path = (char *)(uintptr_t) "x",
                        .owner = story->owners[number],
                        .ticket = number + 1,
                        .held = held,
                        .expires_in_ms = 60000,
                        .request_index = number,
                        .blockers = &story->blockers[story->blocker_count]};
    story->listing.entries = story->entries;
    return entry;
}

/* The entry added last waits for that one too. */
static void behind(struct story *story, lk_entry *entry, size_t number) {
    const lk_entry *other = &story->entries[number];

    story->blockers[story->blocker_count++] = (lk_blocker_info){.path = other->path,
                                                                .owner = other->owner,
                                                                .ticket = other->ticket,
                                                                .held = other->held,
                                                                .expires_in_ms = 60000};
    entry->blocker_count++;
    entry->position++;
}

static char *chain_of(struct story *story, size_t number, bool drawn) {
    const lk_listing *listings[] = {&story->listing};
    struct lk_wait_graph *waits = lk_wait_graph_new(listings, 1);
    struct lk_chain chain;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(waits);
    assert_non_null(out);
    lk_chain_make(waits, number + 1, story->owners[number], &chain);
    assert_true(chain.count <= LK_CHAIN_LINKS_MAX);
    for (size_t i = 0; i < chain.count; i++) {
        lk_chain_write(out, &chain, i, drawn);
        (void)fputc('\n', out);
    }
    assert_int_equal(fclose(out), 0);
    lk_wait_graph_free(waits);
    return text;
}

static void expect_chain(struct story *story, size_t number, const char *expected) {
    char *text = chain_of(story, number, false);

    assert_string_equal(text, expected);
    free(text);
}

static struct story *new_story(void) {
    struct story *story = calloc(1, sizeof *story);

    assert_non_null(story);
    return story;
}

static void a_queue_is_a_chain(void **state) {
    struct story *story = new_story();
    (void)state;

    (void)add(story, true);
    for (size_t i = 1; i < 4; i++) {
        lk_entry *entry = add(story, false);
        for (size_t ahead = 0; ahead < i; ahead++) {
            behind(story, entry, ahead);
        }
    }
    expect_chain(story, 1, "`- 0 holds x, 1m left\n");
    expect_chain(story, 3,
                 "`- 2 waits ahead for x, 1m left\n"
                 "   `- 1 waits ahead for x, 1m left\n"
                 "      `- 0 holds x, 1m left\n");
    expect_chain(story, 0, "");
    free(story);
}

static void branches_are_drawn_once(void **state) {
    struct story *story = new_story();
    lk_entry *entry;
    (void)state;

    (void)add(story, true); /* 0 and 1 hold, */
    (void)add(story, true);
    entry = add(story, false); /* 2 waits for both, */
    behind(story, entry, 0);
    behind(story, entry, 1);
    entry = add(story, false); /* 3 and 4 for 2, */
    behind(story, entry, 2);
    entry = add(story, false);
    behind(story, entry, 2);
    entry = add(story, false); /* 5 for 3 and 4 */
    behind(story, entry, 3);
    behind(story, entry, 4);
    expect_chain(story, 5,
                 "|- 3 waits ahead for x, 1m left\n"
                 "|  `- 2 waits ahead for x, 1m left\n"
                 "|     |- 0 holds x, 1m left\n"
                 "|     `- 1 holds x, 1m left\n"
                 "`- 4 waits ahead for x, 1m left\n"
                 "   `- 2 waits ahead for x, 1m left; for whom, see above\n");
    char *text = chain_of(story, 2, true);
    assert_string_equal(text, "\u251C\u2500 0 holds x, 1m left\n\u2514\u2500 1 holds x, 1m left\n");
    free(text);
    free(story);
}

static void notes_and_owners_are_made_visible(void **state) {
    struct story *story = new_story();
    (void)state;

    (void)add(story, true);
    (void)memcpy(story->owners[0], "e\x1b[2J", 6);
    lk_entry *entry = add(story, false);
    behind(story, entry, 0);
    story->blockers[0].note = (char *)(uintptr_t) "two\nlines";
    expect_chain(story, 1, "`- e\\x1b[2J holds x, 1m left (two\\x0alines)\n");
    free(story);
}

static void what_the_store_did_not_name_is_counted(void **state) {
    struct story *story = new_story();
    (void)state;

    (void)add(story, true);
    lk_entry *entry = add(story, false);
    behind(story, entry, 0);
    entry->position = 12;
    expect_chain(story, 1, "|- 0 holds x, 1m left\n`- and 11 more\n");
    free(story);
}

static void contradictions_end(void **state) {
    struct story *story = new_story();
    (void)state;

    lk_entry *first = add(story, false);
    lk_entry *second = add(story, false);
    first->blockers = &story->blockers[0];
    second->blockers = &story->blockers[1];
    behind(story, first, 1);
    behind(story, second, 0);
    expect_chain(story, 0,
                 "`- 1 waits ahead for x, 1m left\n"
                 "   `- 0 waits ahead for x, 1m left; for whom, see above\n");
    free(story);
}

static void long_queues_are_bounded(void **state) {
    struct story *story = new_story();
    (void)state;

    (void)add(story, true);
    for (size_t i = 1; i < REQUESTS_MAX; i++) {
        lk_entry *entry = add(story, false);
        for (size_t ahead = i > 63 ? i - 63 : 0; ahead < i; ahead++) {
            behind(story, entry, ahead);
        }
        entry->position = i;
    }
    char *text = chain_of(story, REQUESTS_MAX - 1, false);
    assert_non_null(strstr(text, "`- and 247 more\n")); /* 255 ahead, 8 of them drawn */
    free(text);
    free(story);
}

static void wide_ones_are_bounded(void **state) {
    struct story *story = new_story();
    (void)state;

    for (size_t i = 0; i < 63; i++) {
        (void)add(story, true);
    }
    lk_entry *one = add(story, false);
    for (size_t i = 0; i < 63; i++) {
        behind(story, one, i);
    }
    lk_entry *two = add(story, false);
    behind(story, two, 63);
    two->position = 9;
    char *text = chain_of(story, 64, false);
    /* One line for the waiter, 63 for its holders, and 8 more: the last one makes room. */
    assert_non_null(strstr(text, "\n`- and 9 more\n"));
    free(text);
    free(story);
}

static void what_is_not_listed_can_be_looked_up(void **state) {
    struct story *story = new_story();
    (void)state;

    (void)add(story, true);
    (void)add(story, false);
    lk_entry *entry = add(story, false);
    behind(story, entry, 0);
    behind(story, entry, 1);
    story->blockers[1].path = (char *)(uintptr_t) "elsewhere";

    const lk_listing some = {.entries = &story->entries[2], .count = 1};
    const lk_listing *listings[] = {&some, &story->listing};
    struct lk_wait_graph *waits = lk_wait_graph_new(listings, 1);
    assert_non_null(waits);
    assert_string_equal(lk_wait_graph_unknown(waits, 0), "elsewhere");
    assert_null(lk_wait_graph_unknown(waits, 1));
    assert_null(lk_wait_graph_find(waits, 2, "1"));
    lk_wait_graph_free(waits);

    waits = lk_wait_graph_new(listings, 2);
    assert_non_null(waits);
    assert_null(lk_wait_graph_unknown(waits, 0));
    assert_ptr_equal(lk_wait_graph_find(waits, 2, "1"), &story->entries[1]);
    lk_wait_graph_free(waits);
    free(story);
}

static void nothing_is_nothing(void **state) {
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_is_a_chain),
        cmocka_unit_test(branches_are_drawn_once),
        cmocka_unit_test(notes_and_owners_are_made_visible),
        cmocka_unit_test(what_the_store_did_not_name_is_counted),
        cmocka_unit_test(contradictions_end),
        cmocka_unit_test(long_queues_are_bounded),
        cmocka_unit_test(wide_ones_are_bounded),
        cmocka_unit_test(what_is_not_listed_can_be_looked_up),
        cmocka_unit_test(nothing_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
