/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of lk top, drawn without a terminal from a store in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../cli/unit.h"
#include "cli/top/view.h"

enum { WIDTH = 90, HEIGHT = 14, LIST = 2 /* the list's first line */ };

struct setup {
    lk_store *store;
    struct lk_view view;
    struct lk_canvas canvas;
};

static int open_setup(void **state) {
    struct setup *setup = calloc(1, sizeof *setup);

    assert_non_null(setup);
    assert_int_equal(lk_open("mem:", &setup->store, NULL), LK_OK);
    lk_view_init(&setup->view, "mem:");
    setup->canvas.drawn = true;
    assert_true(lk_canvas_resize(&setup->canvas, WIDTH, HEIGHT));
    *state = setup;
    return 0;
}

static int close_setup(void **state) {
    struct setup *setup = *state;

    lk_view_done(&setup->view);
    lk_canvas_done(&setup->canvas);
    lk_close(setup->store);
    free(setup);
    return 0;
}

static void ask(struct setup *setup, const char *owner, const char *part, const char *note) {
    lk_request request = lk_request_init(&part, 1);

    request.owner = owner;
    request.style = LK_QUEUE;
    request.note = note;
    lk_outcome outcome = lk_ask(setup->store, &request, NULL, NULL);
    assert_true(outcome == LK_GRANTED || outcome == LK_WAITING);
}

static void end(struct setup *setup, const char *owner, const char *part) {
    lk_request request = lk_request_init(&part, 1);

    request.owner = owner;
    assert_int_equal(lk_release(setup->store, &request, 0, NULL, NULL), LK_OK);
}

/* Reads the store without its queues, and draws. */
static void look_at_requests(struct setup *setup) {
    struct lk_snapshot *snapshot = NULL;

    assert_int_equal(
        lk_snapshot_read(setup->store, NULL, setup->view.identity.path, &snapshot, NULL), LK_OK);
    lk_view_take(&setup->view, snapshot);
    lk_view_draw(&setup->view, &setup->canvas);
}

/* Reads the store and draws. */
static void look(struct setup *setup) {
    struct lk_snapshot *snapshot = NULL;

    assert_int_equal(
        lk_snapshot_read(setup->store, NULL, setup->view.identity.path, &snapshot, NULL), LK_OK);
    assert_int_equal(lk_snapshot_read_queues(setup->store, NULL, snapshot, NULL), LK_OK);
    lk_view_take(&setup->view, snapshot);
    lk_view_draw(&setup->view, &setup->canvas);
}

static enum lk_view_action press(struct setup *setup, uint32_t key) {
    enum lk_view_action action = lk_view_key(&setup->view, key);

    lk_view_draw(&setup->view, &setup->canvas);
    return action;
}

static void type(struct setup *setup, const char *text) {
    for (; *text != '\0'; text++) {
        assert_int_equal(press(setup, (unsigned char)*text), LK_VIEW_NOTHING);
    }
}

/* A row of the canvas as text of ASCII, other characters as '*', without blanks at its end. */
static const char *line(const struct setup *setup, int row) {
    static char text[LK_CANVAS_SIDE_MAX + 1];
    size_t size = 0;

    for (int column = 0; column < setup->canvas.width; column++) {
        uint32_t character = lk_canvas_at(&setup->canvas, row, column)->character;
        if (character != 0) {
            text[size++] = character < 0x80 ? (char)character : '*';
        }
    }
    while (size > 0 && text[size - 1] == ' ') {
        size--;
    }
    text[size] = '\0';
    return text;
}

static void expect_start(const struct setup *setup, int row, const char *start) {
    const char *text = line(setup, row);

    if (strncmp(text, start, strlen(start)) != 0) {
        fail_msg("line %d is \"%s\", not \"%s...\"", row, text, start);
    }
}

static void expect_text(const struct setup *setup, int row, const char *part) {
    const char *text = line(setup, row);

    if (strstr(text, part) == NULL) {
        fail_msg("line %d is \"%s\", without \"%s\"", row, text, part);
    }
}

/* ana and ben hold tests, a reset waits for both, cleo for the reset. */
static void play(struct setup *setup) {
    ask(setup, "ana", "db/t1", "nightly");
    ask(setup, "ben", "db/t2", NULL);
    ask(setup, "reset", "db", NULL);
    ask(setup, "cleo", "db/t3", NULL);
    ask(setup, "dora", "alone/in/the/depth?shared", NULL);
    look(setup);
}

/* ---- the list -------------------------------------------------------------------------------- */

static void an_empty_store_is_reported(void **state) {
    struct setup *setup = *state;

    lk_view_draw(&setup->view, &setup->canvas);
    expect_text(setup, 0, "reading ...");
    look(setup);
    expect_start(setup, LIST, "no requests");
    expect_text(setup, 0, "0 held, 0 waiting");
    assert_int_equal(press(setup, 'b'), LK_VIEW_NOTHING);
    expect_text(setup, HEIGHT - 1, "there is nothing to break");
    assert_int_equal(press(setup, LK_KEY_ENTER), LK_VIEW_NOTHING);
    assert_int_equal(press(setup, 'q'), LK_VIEW_QUIT);
}

static void paths_are_shown_as_a_tree_with_their_requests(void **state) {
    struct setup *setup = *state;

    play(setup);
    expect_start(setup, 0, "lk top  mem:");
    expect_text(setup, 0, "3 held, 2 waiting, longest wait");
    expect_start(setup, 1, "PATH");
    expect_start(setup, LIST, "alone/in/the/depth");
    expect_text(setup, LIST, "held    shared");
    expect_start(setup, LIST + 1, "db");
    expect_text(setup, LIST + 1, "waiting exclusive");
    expect_text(setup, LIST + 1, "for ana, 1 more");
    expect_start(setup, LIST + 2, "** t1");
    expect_text(setup, LIST + 2, "ana");
    expect_text(setup, LIST + 2, "nightly");
    expect_start(setup, LIST + 4, "** t3");
    expect_text(setup, LIST + 4, "for reset");
    expect_start(setup, LIST + 5, "");
    assert_string_equal(line(setup, LIST + 5), "");
}

static void paths_are_sorted_by_the_chosen_key(void **state) {
    struct setup *setup = *state;

    play(setup);
    lk_listing *listing = setup->view.snapshot->listing;
    for (size_t i = 0; i < listing->count; i++) { /* in the order of play(): the last is alone */
        listing->entries[i].age_ms = 5000 - 1000 * (int64_t)i;
        listing->entries[i].expires_in_ms = 60000 - 1000 * (int64_t)i;
    }
    assert_int_equal(press(setup, 's'), LK_VIEW_NOTHING);
    expect_text(setup, HEIGHT - 1, "sorted by age");
    expect_start(setup, LIST, "db");
    expect_start(setup, LIST + 1, "** t1");
    expect_start(setup, LIST + 4, "alone");
    (void)press(setup, 's');
    expect_text(setup, HEIGHT - 1, "sorted by time left");
    expect_start(setup, LIST, "alone");
    expect_start(setup, LIST + 2, "** t3");
    expect_start(setup, LIST + 4, "** t1");
    (void)press(setup, 's');
    expect_text(setup, HEIGHT - 1, "sorted by waiters");
    expect_start(setup, LIST, "db");
    expect_start(setup, LIST + 1, "** t3");
    (void)press(setup, 's');
    expect_start(setup, LIST, "alone");
}

static void a_filter_shows_matching_requests(void **state) {
    struct setup *setup = *state;

    play(setup);
    (void)press(setup, '/');
    type(setup, "CLE");
    expect_text(setup, HEIGHT - 1, "filter: CLE_");
    expect_start(setup, LIST, "db/t3");
    assert_string_equal(line(setup, LIST + 1), "");
    (void)press(setup, LK_KEY_ENTER);
    expect_text(setup, HEIGHT - 1, "/ filter (CLE)");
    (void)press(setup, '/');
    (void)press(setup, LK_KEY_ERASE_ALL);
    type(setup, "nothing like it");
    expect_start(setup, LIST, "nothing has this in path, owner or note");
    (void)press(setup, LK_KEY_ESCAPE);
    expect_start(setup, LIST, "alone");
    assert_string_equal(setup->view.filter, "");
}

static void folding_hides_paths_below(void **state) {
    struct setup *setup = *state;

    play(setup);
    (void)press(setup, LK_KEY_DOWN);
    (void)press(setup, LK_KEY_LEFT);
    expect_start(setup, LIST + 1, "db +");
    expect_text(setup, LIST + 1, "2 held, 2 waiting");
    assert_string_equal(line(setup, LIST + 2), "");
    look(setup);
    expect_start(setup, LIST + 1, "db +");
    (void)press(setup, LK_KEY_RIGHT);
    expect_start(setup, LIST + 2, "** t1");
    (void)press(setup, LK_KEY_END);
    assert_string_equal(setup->view.identity.path, "db/t3");
    (void)press(setup, LK_KEY_LEFT); /* nothing to fold: up */
    assert_string_equal(setup->view.identity.path, "db");
    (void)press(setup, ' ');
    expect_start(setup, LIST + 1, "db +");
    (void)press(setup, LK_KEY_ENTER);
    expect_start(setup, LIST + 2, "** t1");
}

static void the_selection_stays_on_its_request(void **state) {
    struct setup *setup = *state;

    play(setup);
    (void)press(setup, LK_KEY_END);
    assert_string_equal(setup->view.identity.owner, "cleo");
    ask(setup, "early", "aaa", NULL);
    look(setup);
    assert_string_equal(setup->view.identity.owner, "cleo");
    assert_true(lk_canvas_at(&setup->canvas, LIST + 5, 0)->is_selected);
    end(setup, "cleo", "db/t3");
    look(setup);
    assert_string_equal(setup->view.identity.owner, "ben"); /* the last line now */
}

static void long_lists_scroll(void **state) {
    struct setup *setup = *state;
    char path[16];

    for (int i = 0; i < 100; i++) {
        (void)snprintf(path, sizeof path, "p%02d", i);
        ask(setup, "o", path, NULL);
    }
    look(setup);
    expect_start(setup, LIST, "p00");
    (void)press(setup, LK_KEY_PAGE_DOWN);
    (void)press(setup, LK_KEY_PAGE_DOWN);
    expect_text(setup, HEIGHT - 3, "p18"); /* ten lines, one of them kept each time */
    (void)press(setup, LK_KEY_END);
    expect_start(setup, HEIGHT - 3, "p99");
    (void)press(setup, LK_KEY_DOWN);
    assert_string_equal(setup->view.identity.path, "p99");
    (void)press(setup, LK_KEY_HOME);
    expect_start(setup, LIST, "p00");
    (void)press(setup, LK_KEY_PAGE_UP);
    assert_string_equal(setup->view.identity.path, "p00");
}

static void an_unavailable_store_is_reported(void **state) {
    struct setup *setup = *state;
    const lk_error error = {.outcome = LK_UNAVAILABLE, .text = "gone fishing"};

    play(setup);
    lk_view_fail(&setup->view, &error, 12000);
    lk_view_draw(&setup->view, &setup->canvas);
    expect_start(setup, 0, "as it was 12s ago: unavailable: gone fishing");
    expect_start(setup, LIST + 1, "db");
    look(setup);
    expect_start(setup, 0, "lk top");
}

/* ---- queues (R16) ---------------------------------------------------------------------------- */

static void push(struct setup *setup, const char *queue, const char *id, int64_t delay_ms) {
    lk_push_request request = {
        .size = sizeof request, .queue = queue, .id = id, .delay_ms = delay_ms};

    assert_int_equal(lk_push(setup->store, &request, NULL, NULL), LK_OK);
}

static lk_queue_stats *counts_of(struct setup *setup, const char *queue) {
    lk_queue_list *queues = setup->view.snapshot->queues;

    for (size_t i = 0; i < queues->count; i++) {
        if (strcmp(queues->queues[i].queue, queue) == 0) {
            return &queues->queues[i].counts;
        }
    }
    fail_msg("%s is not listed", queue);
    return NULL;
}

/* mails has two ready items and a claimed one; late/mails has only a delayed one. */
static void play_queues(struct setup *setup) {
    lk_claim_request request = {.size = sizeof request, .queue = "mails", .owner = "w"};
    lk_claim_info *claim = NULL;

    push(setup, "mails", "1", 0);
    push(setup, "mails", "2", 0);
    push(setup, "mails", "3", 0);
    push(setup, "late/mails", "1", 3600000);
    assert_int_equal(lk_claim_next(setup->store, &request, &claim, NULL), LK_GRANTED);
    lk_claim_free(claim);
    look(setup);
}

static void a_queue_shows_the_age_of_its_oldest_ready_item(void **state) {
    struct setup *setup = *state;

    play_queues(setup);
    counts_of(setup, "mails")->oldest_ready_ms = 754000;
    setup->view.snapshot->oldest_ready_ms = 754000;
    lk_view_draw(&setup->view, &setup->canvas);
    expect_text(setup, 0, "1 held, 0 waiting, oldest ready item 12m34s");
    expect_start(setup, LIST, "late/mails   queue                             1 delayed");
    expect_start(setup, LIST + 1,
                 "mails        queue               12m34s        2 ready, 1 claimed");
    expect_start(setup, LIST + 2, "** 1         held    exclusive");
    (void)press(setup, LK_KEY_DOWN);
    expect_start(setup, HEIGHT - 2,
                 "mails: 1 held, 0 waiting at or below it; items: 2 ready, 1 claimed");
    (void)press(setup, 'b');
    expect_start(setup, HEIGHT - 1, "no request is at mails itself");
    look_at_requests(setup); /* the queues are those that were read last */
    expect_start(setup, LIST + 1, "mails        queue               12m34s");
}

static void a_queue_has_a_line_of_its_own_beside_the_requests_at_its_path(void **state) {
    struct setup *setup = *state;

    push(setup, "mails", "1", 0);
    ask(setup, "pause", "mails", NULL);
    look(setup);
    expect_start(setup, LIST, "mails      queue");
    expect_text(setup, LIST, "1 ready");
    expect_start(setup, LIST + 1, "           held    exclusive");
    expect_text(setup, LIST + 1, "pause");
    (void)press(setup, LK_KEY_DOWN);
    expect_start(setup, HEIGHT - 2, "pause holds mails");
    look(setup); /* the selection stays on the request, not on the queue */
    expect_start(setup, HEIGHT - 2, "pause holds mails");
    (void)press(setup, LK_KEY_LEFT);
    expect_start(setup, LIST, "mails +    queue");
    assert_string_equal(line(setup, LIST + 1), "");
    (void)press(setup, LK_KEY_RIGHT);
    expect_text(setup, LIST + 1, "pause");
}

static void queues_are_filtered_and_sorted_as_requests_are(void **state) {
    struct setup *setup = *state;

    play_queues(setup);
    ask(setup, "ana", "aaa", NULL);
    look(setup);
    counts_of(setup, "mails")->oldest_ready_ms = 3600000;
    (void)press(setup, 's');
    expect_text(setup, HEIGHT - 1, "sorted by age");
    expect_start(setup, LIST, "mails");
    (void)press(setup, '/');
    type(setup, "LATE");
    expect_start(setup, LIST, "late/mails   queue");
    assert_string_equal(line(setup, LIST + 1), "");
    type(setup, "x");
    expect_start(setup, LIST, "nothing has this in path, owner or note");
}

/* R16: its counts are kept, and it is not shown. */
static void a_queue_without_items_is_not_shown(void **state) {
    struct setup *setup = *state;

    const char *id = "1";

    push(setup, "mails", id, 0);
    assert_int_equal(lk_drop(setup->store, "mails", &id, 1, NULL, NULL), LK_OK);
    look(setup);
    expect_start(setup, LIST, "no requests");
    expect_text(setup, 0, "0 held, 0 waiting");
    assert_null(strstr(line(setup, 0), "oldest"));
}

/* ---- the pages ------------------------------------------------------------------------------- */

static void details_show_the_whole_chain_of_waiters(void **state) {
    struct setup *setup = *state;
    char *text;

    play(setup);
    (void)press(setup, LK_KEY_END);
    assert_int_equal(press(setup, LK_KEY_ENTER), LK_VIEW_REFRESH);
    text = lk_view_details_text(&setup->view, false);
    assert_non_null(strstr(text, "Request of cleo\n"));
    assert_non_null(strstr(text, "  parts   db/t3 exclusive\n  state   waiting\n"));
    assert_non_null(strstr(text, "\nIt waits for\n  `- reset waits ahead for db, "));
    assert_non_null(strstr(text, "\n     |- ana holds db/t1, "));
    assert_non_null(strstr(text, "\n     `- ben holds db/t2, "));
    free(text);
    end(setup, "cleo", "db/t3");
    look(setup);
    text = lk_view_details_text(&setup->view, false);
    assert_non_null(strstr(text, "not there any more"));
    free(text);
    (void)press(setup, 'q');

    (void)press(setup, LK_KEY_HOME);
    (void)press(setup, LK_KEY_DOWN);
    (void)press(setup, LK_KEY_DOWN);
    (void)press(setup, LK_KEY_ENTER);
    text = lk_view_details_text(&setup->view, false);
    assert_non_null(strstr(text, "Request of ana\n"));
    assert_non_null(strstr(text, "  note    nightly\n"));
    assert_non_null(strstr(text, "\nNext in the queue behind it\n  reset waits for db, for "));
    free(text);
}

static void help_lists_the_keys_and_scrolls(void **state) {
    struct setup *setup = *state;

    play(setup);
    (void)press(setup, '?');
    expect_text(setup, 2, "one line");
    (void)press(setup, LK_KEY_END);
    expect_text(setup, HEIGHT - 3, "covers all below");
    (void)press(setup, LK_KEY_HOME);
    expect_text(setup, 2, "one line");
    assert_int_equal(press(setup, 'q'), LK_VIEW_NOTHING);
    expect_start(setup, LIST, "alone");
}

static void a_break_asks_for_a_reason_and_a_confirmation(void **state) {
    struct setup *setup = *state;

    play(setup);
    (void)press(setup, LK_KEY_END); /* cleo's waiting request */
    (void)press(setup, 'b');
    expect_start(setup, HEIGHT - 2, "break cleo's waiting request at db/t3: it leaves the queue");
    assert_int_equal(press(setup, LK_KEY_ENTER), LK_VIEW_NOTHING);
    expect_start(setup, HEIGHT - 1, "a reason is needed");
    type(setup, "qx");
    (void)press(setup, LK_KEY_BACKSPACE);
    expect_start(setup, HEIGHT - 1, "reason: q_");
    assert_int_equal(press(setup, LK_KEY_ENTER), LK_VIEW_NOTHING);
    expect_start(setup, HEIGHT - 1, "y: break it");
    assert_int_equal(press(setup, 'n'), LK_VIEW_NOTHING);
    expect_start(setup, HEIGHT - 1, "nothing was broken");

    (void)press(setup, LK_KEY_UP);
    (void)press(setup, 'B');
    expect_start(setup, HEIGHT - 2, "break ben's lease at db/t2 AT ONCE: unsafe unless");
    type(setup, "host is gone");
    (void)press(setup, LK_KEY_ENTER);
    ask(setup, "early", "aaa", NULL);
    look(setup); /* the list moves on meanwhile */
    assert_int_equal(press(setup, 'y'), LK_VIEW_BREAK);
    assert_string_equal(setup->view.target.what.path, "db/t2");
    assert_string_equal(setup->view.target.what.owner, "ben");
    assert_true(setup->view.target.at_once);
    assert_string_equal(setup->view.input, "host is gone");
    lk_view_broken(&setup->view, LK_OK, 1, "");
    lk_view_draw(&setup->view, &setup->canvas);
    expect_start(setup, HEIGHT - 1, "broken: 1 request");
    (void)press(setup, 'b');
    (void)press(setup, LK_KEY_ESCAPE);
    expect_start(setup, HEIGHT - 1, "nothing was broken");
}

/* In a service with users. */
static void an_owner_is_shown_with_its_user(void **state) {
    struct setup *setup = *state;

    play(setup);
    (void)press(setup, LK_KEY_END);
    lk_listing *listing = setup->view.snapshot->listing;
    for (size_t i = 0; i < listing->count; i++) {
        free(listing->entries[i].user);
        listing->entries[i].user = strdup("carla");
    }
    (void)press(setup, LK_KEY_UP);
    expect_start(setup, HEIGHT - 2, "ben of carla holds db/t2");
    (void)press(setup, 'b');
    expect_start(setup, HEIGHT - 2, "break ben of carla's lease at db/t2");
    type(setup, "test");
    (void)press(setup, LK_KEY_ENTER);
    assert_int_equal(press(setup, 'y'), LK_VIEW_BREAK);
    assert_string_equal(setup->view.target.what.owner, "ben");
    assert_string_equal(setup->view.target.what.user, "carla");
}

/* ---- sizes and characters -------------------------------------------------------------------- */

static void text_is_cut_between_characters(void **state) {
    struct setup *setup = *state;

    /* Ideographs, two columns each, and an owner with an escape sequence in it. */
    ask(setup, "e\x1b[2J", "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E\xE6\x97\xA5\xE6\x9C\xAC/t", NULL);
    look(setup);
    assert_int_equal(lk_canvas_at(&setup->canvas, LIST, 0)->character, 0x65E5);
    assert_int_equal(lk_canvas_at(&setup->canvas, LIST, 1)->character, 0);
    expect_text(setup, LIST, "e\\x1b");
    assert_true(lk_canvas_resize(&setup->canvas, 6, HEIGHT));
    lk_view_draw(&setup->view, &setup->canvas);
    expect_start(setup, LIST - 1, "PATH");
    assert_string_equal(line(setup, LIST), "***"); /* two of them and the ellipsis */
    setup->canvas.drawn = false;
    lk_view_draw(&setup->view, &setup->canvas);
    for (int column = 0; column < 6; column++) {
        assert_true(lk_canvas_at(&setup->canvas, LIST, column)->character < 0x80);
    }
}

static void no_size_and_no_key_crashes_it(void **state) {
    struct setup *setup = *state;
    const char *named = getenv("LK_TEST_SEED");
    unsigned seed = named != NULL ? (unsigned)strtoul(named, NULL, 10) : (unsigned)time(NULL);
    static const uint32_t keys[] = {LK_KEY_UP,
                                    LK_KEY_DOWN,
                                    LK_KEY_LEFT,
                                    LK_KEY_RIGHT,
                                    LK_KEY_PAGE_UP,
                                    LK_KEY_PAGE_DOWN,
                                    LK_KEY_END,
                                    LK_KEY_ENTER,
                                    LK_KEY_ESCAPE,
                                    LK_KEY_BACKSPACE,
                                    LK_KEY_HOME,
                                    's',
                                    '/',
                                    'a',
                                    0x65E5,
                                    'b',
                                    'B',
                                    'y',
                                    '?',
                                    ' ',
                                    'r',
                                    0x301,
                                    '\t',
                                    0x9B};

    print_message("seed %u (LK_TEST_SEED)\n", seed);
    play(setup);
    push(setup, "db", "1", 0); /* beside a request, and alone */
    play_queues(setup);
    for (int i = 0; i < 3000; i++) {
        seed = seed * 1103515245U + 12345U;
        unsigned dice = seed >> 8;
        if (dice % 7 == 0) {
            assert_true(lk_canvas_resize(&setup->canvas, (int)(dice / 7 % 130) - 1,
                                         (int)(dice / 1000 % 40) - 1));
        }
        setup->canvas.drawn = dice % 5 != 0;
        if (dice % 11 == 0) {
            look(setup);
        }
        (void)press(setup, keys[dice / 16 % (sizeof keys / sizeof keys[0])]);
        assert_true(setup->view.row_count == 0 || setup->view.selected < setup->view.row_count);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_store_is_reported, open_setup, close_setup),
        cmocka_unit_test_setup_teardown(paths_are_shown_as_a_tree_with_their_requests, open_setup,
                                        close_setup),
        cmocka_unit_test_setup_teardown(paths_are_sorted_by_the_chosen_key, open_setup,
                                        close_setup),
        cmocka_unit_test_setup_teardown(a_filter_shows_matching_requests, open_setup, close_setup),
        cmocka_unit_test_setup_teardown(folding_hides_paths_below, open_setup, close_setup),
        cmocka_unit_test_setup_teardown(the_selection_stays_on_its_request, open_setup,
                                        close_setup),
        cmocka_unit_test_setup_teardown(long_lists_scroll, open_setup, close_setup),
        cmocka_unit_test_setup_teardown(an_unavailable_store_is_reported, open_setup, close_setup),
        cmocka_unit_test_setup_teardown(a_queue_shows_the_age_of_its_oldest_ready_item, open_setup,
                                        close_setup),
        cmocka_unit_test_setup_teardown(
            a_queue_has_a_line_of_its_own_beside_the_requests_at_its_path, open_setup, close_setup),
        cmocka_unit_test_setup_teardown(queues_are_filtered_and_sorted_as_requests_are, open_setup,
                                        close_setup),
        cmocka_unit_test_setup_teardown(a_queue_without_items_is_not_shown, open_setup,
                                        close_setup),
        cmocka_unit_test_setup_teardown(details_show_the_whole_chain_of_waiters, open_setup,
                                        close_setup),
        cmocka_unit_test_setup_teardown(help_lists_the_keys_and_scrolls, open_setup, close_setup),
        cmocka_unit_test_setup_teardown(a_break_asks_for_a_reason_and_a_confirmation, open_setup,
                                        close_setup),
        cmocka_unit_test_setup_teardown(an_owner_is_shown_with_its_user, open_setup, close_setup),
        cmocka_unit_test_setup_teardown(text_is_cut_between_characters, open_setup, close_setup),
        cmocka_unit_test_setup_teardown(no_size_and_no_key_crashes_it, open_setup, close_setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
