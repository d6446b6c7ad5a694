/* SPDX-License-Identifier: Apache-2.0 */
/* R1 and R5: every way to be no path, each with the rule and the byte that the message names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "model/path.h"

/* What the untouched bytes of a result look like. */
#define UNTOUCHED 0xa5

static void accept(const char *bytes, size_t size, const char *expected, unsigned depth) {
    struct lk_path path;
    lk_error error;

    if (lk_path_parse((struct lk_slice){bytes, size}, &path, &error) != LK_OK) {
        fail_msg("refused: %.*s: %s", (int)size, bytes, error.text);
    }
    assert_int_equal(error.outcome, LK_OK);
    assert_int_equal(path.size, strlen(expected));
    assert_memory_equal(path.bytes, expected, path.size);
    assert_int_equal(path.depth, depth);
    assert_int_equal(path.ends[depth - 1], path.size);
}

static void accept_text(const char *text, const char *expected, unsigned depth) {
    accept(text, strlen(text), expected, depth);
}

static void refuse(const char *bytes, size_t size, size_t byte, const char *why) {
    struct lk_path path;
    struct lk_path before;
    lk_error error;
    char place[32];

    memset(&path, UNTOUCHED, sizeof path);
    memset(&before, UNTOUCHED, sizeof before);
    snprintf(place, sizeof place, "at byte %zu ", byte);
    if (lk_path_parse((struct lk_slice){bytes, size}, &path, &error) != LK_INVALID) {
        fail_msg("accepted: %.*s", (int)size, bytes);
    }
    assert_memory_equal(&path, &before, sizeof path);
    assert_int_equal(error.outcome, LK_INVALID);
    if (strncmp(error.text, "R1", 2) != 0 || strstr(error.text, place) == NULL
        || strstr(error.text, why) == NULL) {
        fail_msg("for '%.*s' the message is: %s", (int)size, bytes, error.text);
    }
    assert_int_equal(lk_path_parse((struct lk_slice){bytes, size}, &path, NULL), LK_INVALID);
}

static void refuse_text(const char *text, size_t byte, const char *why) {
    refuse(text, strlen(text), byte, why);
}

static void valid_paths_are_parsed(void **state) {
    (void)state;
    accept_text("a", "a", 1);
    accept_text("mydatabase/mytest", "mydatabase/mytest", 2);
    accept_text("/a/b/", "a/b", 2);
    accept_text("a/", "a", 1);
    accept_text(".a/..b/...", ".a/..b/...", 3);
    accept_text("a=b&c#d%25:~!", "a=b&c#d%25:~!", 1);
    accept_text("gr\xc3\xbc\xc3\x9f"
                "e/\xe6\x97\xa5\xe6\x9c\xac/\xf0\x9f\x94\x92",
                "gr\xc3\xbc\xc3\x9f"
                "e/\xe6\x97\xa5\xe6\x9c\xac/\xf0\x9f\x94\x92",
                3);
}

static void empty_segments_are_refused(void **state) {
    (void)state;
    refuse("", 0, 1, "at least one segment");
    refuse(NULL, 0, 1, "at least one segment");
    refuse_text("/", 2, "at least one segment");
    refuse_text("//", 2, "at least one segment");
    refuse_text("a//b", 3, "at least one byte");
    refuse_text("//a", 2, "at least one byte");
    refuse_text("a//", 3, "at least one byte");
}

static void dots(void **state) {
    (void)state;
    refuse_text(".", 1, "'.'");
    refuse_text("..", 1, "'..'");
    refuse_text("a/../b", 3, "'..'");
    refuse_text("/a/.", 4, "'.'");
}

static void characters(void **state) {
    (void)state;
    refuse_text("a?b", 2, "'?'");
    refuse_text("a/{b", 3, "'{'");
    refuse_text("a}/b", 2, "'}'");
    refuse_text("a b", 2, "white space");
    refuse_text("a b", 2, "write a blank as %20");
    refuse_text("a\tb", 2, "");
    refuse_text("a/b\n", 4, "");
    refuse_text("\x7f", 1, "control");
    refuse_text("a\x01", 2, "control");
    refuse("a\0b", 3, 2, "control");
    refuse_text("a\xc2\x85", 2, ""); /* next line */
    refuse_text("a\xc2\xa0", 2, "white space");
    refuse_text("ab/c\xe2\x80\x83", 5, "white space");
    refuse_text("ab/c\xe3\x80\x80", 5, "white space");
}

static void bytes_that_are_not_utf8_are_refused(void **state) {
    static const char *const broken[] = {
        "a\x80",             /* a continuation without a start */
        "a\xc3",             /* cut */
        "a\xc3/",            /* cut by a slash */
        "a\xc0\xaf",         /* an overlong slash */
        "a\xe0\x80\xaf",     /* another */
        "a\xed\xa0\x80",     /* a surrogate */
        "a\xf4\x90\x80\x80", /* behind the last character */
        "a\xf8\x88\x80\x80\x80",
        "a\xff",
    };

    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        refuse_text(broken[i], 2, "UTF-8");
    }
}

static void lengths(void **state) {
    char text[LK_PATH_BYTES_MAX + 8];
    char whole[LK_PATH_BYTES_MAX + 1];

    (void)state;
    memset(text, 'a', sizeof text);
    text[LK_SEGMENT_BYTES_MAX] = '\0';
    accept_text(text, text, 1);
    text[LK_SEGMENT_BYTES_MAX] = 'a';
    refuse(text, LK_SEGMENT_BYTES_MAX + 1, 1, "255");
    text[LK_SEGMENT_BYTES_MAX] = '/';
    text[LK_SEGMENT_BYTES_MAX + 100] = '/';
    text[LK_PATH_BYTES_MAX] = '\0';
    memcpy(whole, text, sizeof whole);
    accept(text, LK_PATH_BYTES_MAX, whole, 3);
    text[LK_PATH_BYTES_MAX] = 'a';
    refuse(text, LK_PATH_BYTES_MAX + 1, LK_PATH_BYTES_MAX + 1, "512");
    text[LK_PATH_BYTES_MAX] = '/'; /* dropped before the bytes are counted */
    accept(text, LK_PATH_BYTES_MAX + 1, whole, 3);
}

static void depths(void **state) {
    char text[2 * LK_PATH_DEPTH_MAX + 2];

    (void)state;
    for (size_t i = 0; i <= LK_PATH_DEPTH_MAX; i++) {
        text[2 * i] = 'a';
        text[2 * i + 1] = '/';
    }
    text[2 * LK_PATH_DEPTH_MAX - 1] = '\0';
    accept_text(text, text, LK_PATH_DEPTH_MAX);
    text[2 * LK_PATH_DEPTH_MAX - 1] = '/';
    refuse(text, 2 * LK_PATH_DEPTH_MAX + 1, 2 * LK_PATH_DEPTH_MAX + 1, "32");
}

static struct lk_path path_of(const char *text) {
    struct lk_path path;

    assert_int_equal(lk_path_parse(lk_slice_of(text), &path, NULL), LK_OK);
    return path;
}

static void segments(void **state) {
    struct lk_path path = path_of("/first/second/third");

    (void)state;
    assert_true(lk_slice_equal(lk_path_root(&path), lk_slice_of("first")));
    assert_true(lk_slice_equal(lk_path_segment(&path, 1), lk_slice_of("second")));
    assert_true(lk_slice_equal(lk_path_segment(&path, 2), lk_slice_of("third")));
}

static void r5_relations(void **state) {
    struct lk_path db = path_of("db");
    struct lk_path t1 = path_of("db/t1");
    struct lk_path t2 = path_of("db/t2");
    struct lk_path db2 = path_of("db2");

    (void)state;
    assert_true(lk_path_related(&db, &t1) && lk_path_related(&t1, &db));
    assert_true(lk_path_related(&t1, &t1) && lk_path_equal(&t1, &t1));
    assert_false(lk_path_related(&t1, &t2));
    assert_false(lk_path_related(&db, &db2) || lk_path_related(&db2, &db));
    assert_true(lk_path_contains(&db, &t1) && lk_path_contains(&db, &db));
    assert_false(lk_path_contains(&t1, &db) || lk_path_contains(&db, &db2));
    assert_true(lk_path_compare(&db, &t1) < 0 && lk_path_compare(&t2, &t1) > 0
                && lk_path_compare(&t1, &t1) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_paths_are_parsed),
        cmocka_unit_test(empty_segments_are_refused),
        cmocka_unit_test(dots),
        cmocka_unit_test(characters),
        cmocka_unit_test(bytes_that_are_not_utf8_are_refused),
        cmocka_unit_test(lengths),
        cmocka_unit_test(depths),
        cmocka_unit_test(segments),
        cmocka_unit_test(r5_relations),
    };

    return cmocka_run_group_tests_name("paths", tests, NULL, NULL);
}
