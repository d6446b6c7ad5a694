/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of lk top, computed without a terminal from a store in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/top/view.h"
#include "unit.h"

enum { WIDTH = 90, HEIGHT = 14, LIST = 2 /* the list's first line */ };

struct stage {
    lk_store *store;
    struct lk_view view;
    struct lk_canvas canvas;
};

static int open_stage(void **state) {
    struct stage *stage = calloc(1, sizeof *stage);

    assert_non_null(stage);
    assert_int_equal(lk_open("mem:", &stage->store, NULL), LK_OK);
    lk_view_init(&stage->view, "mem:");
    stage->canvas.drawn = true;
    assert_true(lk_canvas_resize(&stage->canvas, WIDTH, HEIGHT));
    *state = stage;
    return 0;
}

static int close_stage(void **state) {
    struct stage *stage = *state;

    lk_view_done(&stage->view);
    lk_canvas_done(&stage->canvas);
    lk_close(stage->store);
    free(stage);
    return 0;
}

static void ask(struct stage *stage, const char *owner, const char *part, const char *note) {
    lk_request request = lk_request_init(&part, 1);

    request.owner = owner;
    request.style = LK_QUEUE;
    request.note = note;
    lk_outcome outcome = lk_ask(stage->store, &request, NULL, NULL);
    assert_true(outcome == LK_GRANTED || outcome == LK_WAITING);
}

static void end(struct stage *stage, const char *owner, const char *part) {
    lk_request request = lk_request_init(&part, 1);

    request.owner = owner;
    assert_int_equal(lk_release(stage->store, &request, 0, NULL, NULL), LK_OK);
}

/* Reads the store and draws. */
static void look(struct stage *stage) {
    struct lk_snapshot *snapshot = NULL;

    assert_int_equal(
        lk_snapshot_read(stage->store, NULL, stage->view.identity.path, &snapshot, NULL), LK_OK);
    lk_view_take(&stage->view, snapshot);
    lk_view_draw(&stage->view, &stage->canvas);
}

static enum lk_view_action press(struct stage *stage, uint32_t key) {
    enum lk_view_action action = lk_view_key(&stage->view, key);

    lk_view_draw(&stage->view, &stage->canvas);
    return action;
}

static void type(struct stage *stage, const char *text) {
    for (; *text != '\0'; text++) {
        assert_int_equal(press(stage, (unsigned char)*text), LK_VIEW_NOTHING);
    }
}

/* A row of the canvas as text of ASCII, other characters as '*', without blanks at its end. */
static const char *line(const struct stage *stage, int row) {
    static char text[LK_CANVAS_SIDE_MAX + 1];
    size_t size = 0;

    for (int column = 0; column < stage->canvas.width; column++) {
        uint32_t character = lk_canvas_at(&stage->canvas, row, column)->character;
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

static void expect_start(const struct stage *stage, int row, const char *start) {
    const char *text = line(stage, row);

    if (strncmp(text, start, strlen(start)) != 0) {
        fail_msg("line %d is \"%s\", not \"%s...\"", row, text, start);
    }
}

static void expect_text(const struct stage *stage, int row, const char *part) {
    const char *text = line(stage, row);

    if (strstr(text, part) == NULL) {
        fail_msg("line %d is \"%s\", without \"%s\"", row, text, part);
    }
}

/* ana and ben hold tests, a reset waits for both, cleo for the reset. */
static void play(struct stage *stage) {
    ask(stage, "ana", "db/t1", "nightly");
    ask(stage, "ben", "db/t2", NULL);
    ask(stage, "reset", "db", NULL);
    ask(stage, "cleo", "db/t3", NULL);
    ask(stage, "dora", "alone/in/the/depth?shared", NULL);
    look(stage);
}

/* ---- the list -------------------------------------------------------------------------------- */

static void an_empty_store_says_so(void **state) {
    struct stage *stage = *state;

    lk_view_draw(&stage->view, &stage->canvas);
    expect_text(stage, 0, "reading ...");
    look(stage);
    expect_start(stage, LIST, "no requests");
    expect_text(stage, 0, "0 held, 0 waiting");
    assert_int_equal(press(stage, 'b'), LK_VIEW_NOTHING);
    expect_text(stage, HEIGHT - 1, "there is nothing to break");
    assert_int_equal(press(stage, LK_KEY_ENTER), LK_VIEW_NOTHING);
    assert_int_equal(press(stage, 'q'), LK_VIEW_QUIT);
}

static void paths_are_a_tree_with_their_requests(void **state) {
    struct stage *stage = *state;

    play(stage);
    expect_start(stage, 0, "lk top  mem:");
    expect_text(stage, 0, "3 held, 2 waiting, longest wait");
    expect_start(stage, 1, "PATH");
    expect_start(stage, LIST, "alone/in/the/depth");
    expect_text(stage, LIST, "held    shared");
    expect_start(stage, LIST + 1, "db");
    expect_text(stage, LIST + 1, "waiting exclusive");
    expect_text(stage, LIST + 1, "for ana, 1 more");
    expect_start(stage, LIST + 2, "** t1");
    expect_text(stage, LIST + 2, "ana");
    expect_text(stage, LIST + 2, "nightly");
    expect_start(stage, LIST + 4, "** t3");
    expect_text(stage, LIST + 4, "for reset");
    expect_start(stage, LIST + 5, "");
    assert_string_equal(line(stage, LIST + 5), "");
}

static void neighbours_are_sorted_as_asked(void **state) {
    struct stage *stage = *state;

    play(stage);
    lk_listing *listing = stage->view.snapshot->listing;
    for (size_t i = 0; i < listing->count; i++) { /* in the order of play(): the last is alone */
        listing->entries[i].age_ms = 5000 - 1000 * (int64_t)i;
        listing->entries[i].expires_in_ms = 60000 - 1000 * (int64_t)i;
    }
    assert_int_equal(press(stage, 's'), LK_VIEW_NOTHING);
    expect_text(stage, HEIGHT - 1, "sorted by age");
    expect_start(stage, LIST, "db");
    expect_start(stage, LIST + 1, "** t1");
    expect_start(stage, LIST + 4, "alone");
    (void)press(stage, 's');
    expect_text(stage, HEIGHT - 1, "sorted by time left");
    expect_start(stage, LIST, "alone");
    expect_start(stage, LIST + 2, "** t3");
    expect_start(stage, LIST + 4, "** t1");
    (void)press(stage, 's');
    expect_text(stage, HEIGHT - 1, "sorted by waiters");
    expect_start(stage, LIST, "db");
    expect_start(stage, LIST + 1, "** t3");
    (void)press(stage, 's');
    expect_start(stage, LIST, "alone");
}

static void a_filter_shows_what_has_it(void **state) {
    struct stage *stage = *state;

    play(stage);
    (void)press(stage, '/');
    type(stage, "CLE");
    expect_text(stage, HEIGHT - 1, "filter: CLE_");
    expect_start(stage, LIST, "db/t3");
    assert_string_equal(line(stage, LIST + 1), "");
    (void)press(stage, LK_KEY_ENTER);
    expect_text(stage, HEIGHT - 1, "/ filter (CLE)");
    (void)press(stage, '/');
    (void)press(stage, LK_KEY_ERASE_ALL);
    type(stage, "nothing like it");
    expect_start(stage, LIST, "nothing has this in path, owner or note");
    (void)press(stage, LK_KEY_ESCAPE);
    expect_start(stage, LIST, "alone");
    assert_string_equal(stage->view.filter, "");
}

static void folding_hides_what_is_below(void **state) {
    struct stage *stage = *state;

    play(stage);
    (void)press(stage, LK_KEY_DOWN);
    (void)press(stage, LK_KEY_LEFT);
    expect_start(stage, LIST + 1, "db +");
    expect_text(stage, LIST + 1, "2 held, 2 waiting");
    assert_string_equal(line(stage, LIST + 2), "");
    look(stage);
    expect_start(stage, LIST + 1, "db +");
    (void)press(stage, LK_KEY_RIGHT);
    expect_start(stage, LIST + 2, "** t1");
    (void)press(stage, LK_KEY_END);
    assert_string_equal(stage->view.identity.path, "db/t3");
    (void)press(stage, LK_KEY_LEFT); /* nothing to fold: up */
    assert_string_equal(stage->view.identity.path, "db");
    (void)press(stage, ' ');
    expect_start(stage, LIST + 1, "db +");
    (void)press(stage, LK_KEY_ENTER);
    expect_start(stage, LIST + 2, "** t1");
}

static void the_selection_sticks_to_its_request(void **state) {
    struct stage *stage = *state;

    play(stage);
    (void)press(stage, LK_KEY_END);
    assert_string_equal(stage->view.identity.owner, "cleo");
    ask(stage, "early", "aaa", NULL);
    look(stage);
    assert_string_equal(stage->view.identity.owner, "cleo");
    assert_true(lk_canvas_at(&stage->canvas, LIST + 5, 0)->is_selected);
    end(stage, "cleo", "db/t3");
    look(stage);
    assert_string_equal(stage->view.identity.owner, "ben"); /* the last line now */
}

static void long_lists_scroll(void **state) {
    struct stage *stage = *state;
    char path[16];

    for (int i = 0; i < 100; i++) {
        (void)snprintf(path, sizeof path, "p%02d", i);
        ask(stage, "o", path, NULL);
    }
    look(stage);
    expect_start(stage, LIST, "p00");
    (void)press(stage, LK_KEY_PAGE_DOWN);
    (void)press(stage, LK_KEY_PAGE_DOWN);
    expect_text(stage, HEIGHT - 3, "p18"); /* ten lines, one of them kept each time */
    (void)press(stage, LK_KEY_END);
    expect_start(stage, HEIGHT - 3, "p99");
    (void)press(stage, LK_KEY_DOWN);
    assert_string_equal(stage->view.identity.path, "p99");
    (void)press(stage, LK_KEY_HOME);
    expect_start(stage, LIST, "p00");
    (void)press(stage, LK_KEY_PAGE_UP);
    assert_string_equal(stage->view.identity.path, "p00");
}

static void a_store_that_is_away_is_told_of(void **state) {
    struct stage *stage = *state;
    const lk_error error = {.outcome = LK_UNAVAILABLE, .text = "gone fishing"};

    play(stage);
    lk_view_fail(&stage->view, &error, 12000);
    lk_view_draw(&stage->view, &stage->canvas);
    expect_start(stage, 0, "as it was 12s ago: unavailable: gone fishing");
    expect_start(stage, LIST + 1, "db");
    look(stage);
    expect_start(stage, 0, "lk top");
}

/* ---- the pages ------------------------------------------------------------------------------- */

static void details_have_the_whole_chain(void **state) {
    struct stage *stage = *state;
    char *text;

    play(stage);
    (void)press(stage, LK_KEY_END);
    assert_int_equal(press(stage, LK_KEY_ENTER), LK_VIEW_REFRESH);
    text = lk_view_details_text(&stage->view, false);
    assert_non_null(strstr(text, "Request of cleo\n"));
    assert_non_null(strstr(text, "  parts   db/t3 exclusive\n  state   waiting\n"));
    assert_non_null(strstr(text, "\nIt waits for\n  `- reset waits ahead for db, "));
    assert_non_null(strstr(text, "\n     |- ana holds db/t1, "));
    assert_non_null(strstr(text, "\n     `- ben holds db/t2, "));
    free(text);
    end(stage, "cleo", "db/t3");
    look(stage);
    text = lk_view_details_text(&stage->view, false);
    assert_non_null(strstr(text, "not there any more"));
    free(text);
    (void)press(stage, 'q');

    (void)press(stage, LK_KEY_HOME);
    (void)press(stage, LK_KEY_DOWN);
    (void)press(stage, LK_KEY_DOWN);
    (void)press(stage, LK_KEY_ENTER);
    text = lk_view_details_text(&stage->view, false);
    assert_non_null(strstr(text, "Request of ana\n"));
    assert_non_null(strstr(text, "  note    nightly\n"));
    assert_non_null(strstr(text, "\nNext in line behind it\n  reset waits for db, for "));
    free(text);
}

static void help_names_the_keys_and_scrolls(void **state) {
    struct stage *stage = *state;

    play(stage);
    (void)press(stage, '?');
    expect_text(stage, 2, "one line");
    (void)press(stage, LK_KEY_END);
    expect_text(stage, HEIGHT - 3, "covers all below");
    (void)press(stage, LK_KEY_HOME);
    expect_text(stage, 2, "one line");
    assert_int_equal(press(stage, 'q'), LK_VIEW_NOTHING);
    expect_start(stage, LIST, "alone");
}

static void a_break_needs_a_reason_and_a_yes(void **state) {
    struct stage *stage = *state;

    play(stage);
    (void)press(stage, LK_KEY_END); /* cleo's waiting request */
    (void)press(stage, 'b');
    expect_start(stage, HEIGHT - 2, "break cleo's waiting request at db/t3: it leaves the line");
    assert_int_equal(press(stage, LK_KEY_ENTER), LK_VIEW_NOTHING);
    expect_start(stage, HEIGHT - 1, "a reason is needed");
    type(stage, "qx");
    (void)press(stage, LK_KEY_BACKSPACE);
    expect_start(stage, HEIGHT - 1, "reason: q_");
    assert_int_equal(press(stage, LK_KEY_ENTER), LK_VIEW_NOTHING);
    expect_start(stage, HEIGHT - 1, "y: break it");
    assert_int_equal(press(stage, 'n'), LK_VIEW_NOTHING);
    expect_start(stage, HEIGHT - 1, "nothing was broken");

    (void)press(stage, LK_KEY_UP);
    (void)press(stage, 'B');
    expect_start(stage, HEIGHT - 2, "break ben's lease at db/t2 AT ONCE: unsafe unless");
    type(stage, "host is gone");
    (void)press(stage, LK_KEY_ENTER);
    ask(stage, "early", "aaa", NULL);
    look(stage); /* the list moves on meanwhile */
    assert_int_equal(press(stage, 'y'), LK_VIEW_BREAK);
    assert_string_equal(stage->view.target.what.path, "db/t2");
    assert_string_equal(stage->view.target.what.owner, "ben");
    assert_true(stage->view.target.at_once);
    assert_string_equal(stage->view.input, "host is gone");
    lk_view_broken(&stage->view, LK_OK, 1, "");
    lk_view_draw(&stage->view, &stage->canvas);
    expect_start(stage, HEIGHT - 1, "broken: 1 request");
    (void)press(stage, 'b');
    (void)press(stage, LK_KEY_ESCAPE);
    expect_start(stage, HEIGHT - 1, "nothing was broken");
}

/* ---- sizes and characters -------------------------------------------------------------------- */

static void characters_are_cut_whole(void **state) {
    struct stage *stage = *state;

    /* Ideographs, two columns each, and an owner with an escape sequence in it. */
    ask(stage, "e\x1b[2J", "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E\xE6\x97\xA5\xE6\x9C\xAC/t", NULL);
    look(stage);
    assert_int_equal(lk_canvas_at(&stage->canvas, LIST, 0)->character, 0x65E5);
    assert_int_equal(lk_canvas_at(&stage->canvas, LIST, 1)->character, 0);
    expect_text(stage, LIST, "e\\x1b");
    assert_true(lk_canvas_resize(&stage->canvas, 6, HEIGHT));
    lk_view_draw(&stage->view, &stage->canvas);
    expect_start(stage, LIST - 1, "PATH");
    assert_string_equal(line(stage, LIST), "***"); /* two of them and the ellipsis */
    stage->canvas.drawn = false;
    lk_view_draw(&stage->view, &stage->canvas);
    for (int column = 0; column < 6; column++) {
        assert_true(lk_canvas_at(&stage->canvas, LIST, column)->character < 0x80);
    }
}

static void every_size_and_every_key_are_survived(void **state) {
    struct stage *stage = *state;
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
    play(stage);
    for (int i = 0; i < 3000; i++) {
        seed = seed * 1103515245U + 12345U;
        unsigned dice = seed >> 8;
        if (dice % 7 == 0) {
            assert_true(lk_canvas_resize(&stage->canvas, (int)(dice / 7 % 130) - 1,
                                         (int)(dice / 1000 % 40) - 1));
        }
        stage->canvas.drawn = dice % 5 != 0;
        if (dice % 11 == 0) {
            look(stage);
        }
        (void)press(stage, keys[dice / 16 % (sizeof keys / sizeof keys[0])]);
        assert_true(stage->view.row_count == 0 || stage->view.selected < stage->view.row_count);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_store_says_so, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(paths_are_a_tree_with_their_requests, open_stage,
                                        close_stage),
        cmocka_unit_test_setup_teardown(neighbours_are_sorted_as_asked, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(a_filter_shows_what_has_it, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(folding_hides_what_is_below, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(the_selection_sticks_to_its_request, open_stage,
                                        close_stage),
        cmocka_unit_test_setup_teardown(long_lists_scroll, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(a_store_that_is_away_is_told_of, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(details_have_the_whole_chain, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(help_names_the_keys_and_scrolls, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(a_break_needs_a_reason_and_a_yes, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(characters_are_cut_whole, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(every_size_and_every_key_are_survived, open_stage,
                                        close_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
