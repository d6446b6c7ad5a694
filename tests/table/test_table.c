/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work in a table (R17): the ids of rows as segments of paths, and the named parameters of the
 * --done statement, for servers that know none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../sqlite/fixture.h"
#include "engine/procedures/statement.h"
#include "engine/row_id.h"

/* ---- ids of rows ----------------------------------------------------------------------------- */

static void ids_and_segments_are_one_to_one(void **state) {
    static const char *const pairs[][2] = {
        {"42", "42"},
        {"-1", "-1"},
        {"a b", "a%20b"},
        {"a/b", "a%2Fb"},
        {"?{}", "%3F%7B%7D"},
        {"%41", "%2541"},
        {".", "%2E"},
        {"..", "%2E%2E"},
        {"...", "..."},
        {"\x01", "%01"},
        {"\xff", "%FF"},
        {"\xc3\xa9", "\xc3\xa9"},
        {"\xe2\x80\xa8", "%E2%80%A8"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct lk_row_id segment;
        struct lk_row_id id;

        assert_true(lk_row_id_encode(lk_slice_of(pairs[i][0]), &segment));
        assert_string_equal(segment.bytes, pairs[i][1]);
        assert_true(lk_row_id_decode(lk_slice_of(pairs[i][1]), &id));
        assert_string_equal(id.bytes, pairs[i][0]);
    }
}

static void any_bytes_make_a_path_or_nothing(void **state) {
    struct lk_random random = test_random();
    (void)state;

    for (int turn = 0; turn < 20000; turn++) {
        char bytes[300];
        struct lk_slice id = {bytes, (size_t)lk_random_between(&random, 0, turn % 2 ? 12 : 299)};
        struct lk_row_id segment;
        struct lk_row_id again;
        struct lk_path path;

        for (size_t i = 0; i < id.size; i++) {
            bytes[i] = (char)lk_random_next(&random);
        }
        if (lk_row_id_encode(id, &segment)) {
            assert_int_equal(
                lk_path_parse((struct lk_slice){segment.bytes, segment.size}, &path, NULL), LK_OK);
            assert_int_equal(path.depth, 1);
            assert_true(lk_row_id_decode((struct lk_slice){segment.bytes, segment.size}, &again));
            assert_true(lk_slice_equal((struct lk_slice){again.bytes, again.size}, id));
        }
        if (lk_row_id_decode(id, &again)) {
            assert_true(lk_row_id_encode((struct lk_slice){again.bytes, again.size}, &segment));
            assert_true(lk_slice_equal((struct lk_slice){segment.bytes, segment.size}, id));
        }
    }
}

static void non_canonical_spellings_are_refused(void **state) {
    static const char *const wrong[] = {"%4", "%", "%41", "%2f", "a b", "%GG", "", ".", "%00"};
    struct lk_row_id id;
    (void)state;

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(lk_row_id_decode(lk_slice_of(wrong[i]), &id));
    }
}

static void integers_are_distinguished_from_texts(void **state) {
    static const char *const texts[] = {"007", "+1", "1.0", " 1", "", "9223372036854775808", "-0"};
    struct lk_row_id id;
    int64_t number = 0;
    (void)state;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        id.size = strlen(texts[i]);
        memcpy(id.bytes, texts[i], id.size + 1);
        assert_false(lk_row_id_is_integer(&id, &number));
    }
    (void)snprintf(id.bytes, sizeof id.bytes, "-9223372036854775808");
    assert_true(lk_row_id_is_integer(&id, &number));
    assert_true(number == INT64_MIN);
}

/* ---- statements ------------------------------------------------------------------------------ */

static const struct lk_dialect postgresql = {
    .replacements = {"$1", "$2", "$3", "attempt()"},
    .has_dollars = true,
    .nests_comments = true,
};
static const struct lk_dialect mysql = {
    .replacements = {"?", "?", "?", "?"},
    .has_backslashes = true,
    .has_backticks = true,
};

static void becomes(const struct lk_dialect *dialect, const char *sql, const char *wanted,
                    size_t count) {
    struct lk_statement statement = {.text = NULL};
    lk_error error;

    if (lk_statement_make(lk_slice_of(sql), dialect, &statement, &error) != LK_OK) {
        fail_msg("%s: %s", sql, error.text);
    }
    assert_string_equal(statement.text, wanted);
    assert_int_equal(statement.count, count);
    free(statement.text);
}

static void is_refused(const struct lk_dialect *dialect, const char *sql, const char *why) {
    struct lk_statement statement = {.text = NULL};
    lk_error error;

    if (lk_statement_make(lk_slice_of(sql), dialect, &statement, &error) != LK_INVALID) {
        fail_msg("%s is not refused: %s", sql, statement.text);
    }
    if (strstr(error.text, why) == NULL) {
        fail_msg("%s: %s", sql, error.text);
    }
}

static void parameters_are_found(void **state) {
    (void)state;
    becomes(&postgresql, "UPDATE t SET d = :token WHERE id=:id", "UPDATE t SET d = $2 WHERE id=$1",
            2);
    becomes(&postgresql, "insert into t values(:id,:owner,:attempt,:id)",
            "insert into t values($1,$3,attempt(),$1)", 4);
    becomes(&mysql, "REPLACE t VALUES (:id, :id)", "REPLACE t VALUES (?, ?)", 2);
    becomes(&postgresql, " -- why\n /* and /* how */ */ (SELECT 1)",
            " -- why\n /* and /* how */ */ (SELECT 1)", 0);
    becomes(&postgresql, "DELETE FROM t;  -- :id", "DELETE FROM t", 0);
}

static void quoted_text_is_not_changed(void **state) {
    (void)state;
    becomes(&postgresql, "UPDATE t SET a = ':id', \":id\" = :id::text",
            "UPDATE t SET a = ':id', \":id\" = $1::text", 1);
    becomes(&postgresql, "UPDATE t SET a = '\\', b = :id", "UPDATE t SET a = '\\', b = $1", 1);
    becomes(&postgresql, "UPDATE t SET a = E'\\':id', b = :id",
            "UPDATE t SET a = E'\\':id', b = $1", 1);
    becomes(&postgresql, "UPDATE t SET a = $q$:id $x$ ; $q$, b = $$:id$$",
            "UPDATE t SET a = $q$:id $x$ ; $q$, b = $$:id$$", 0);
    becomes(&postgresql, "UPDATE t SET a = b::integer, c = a[1 : 2], d := 3",
            "UPDATE t SET a = b::integer, c = a[1 : 2], d := 3", 0);
    becomes(&postgresql, "UPDATE t SET a = 'it''s :id'", "UPDATE t SET a = 'it''s :id'", 0);
    becomes(&mysql, "UPDATE `:id` SET a = '\\':id', b = :id # :id",
            "UPDATE `:id` SET a = '\\':id', b = ? # :id", 1);
    becomes(&mysql, "UPDATE t SET a = /* /* :id */ :id", "UPDATE t SET a = /* /* :id */ ?", 1);
}

static void unknown_parameters_are_refused(void **state) {
    static const char *const words[] = {"COMMIT",       "rollback", "BEGIN",   "SET x = 1",
                                        "DROP TABLE t", "COPY t",   "DO $$$$", "SAVEPOINT",
                                        "LOCK t",       "updates"};
    char many[6 * (LK_STATEMENT_PARAMETERS_MAX + 1) + 16] = "SELECT ";
    (void)state;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        is_refused(&postgresql, words[i], "it must change rows");
        is_refused(&mysql, words[i], "it must change rows");
    }
    is_refused(&postgresql, "", "empty");
    is_refused(&postgresql, " -- nothing", "empty");
    is_refused(&postgresql, "UPDATE t SET a = :x", ":id, :token, :owner and :attempt alone");
    is_refused(&postgresql, "UPDATE t SET a = :ids", "alone");
    is_refused(&postgresql, "UPDATE t SET a = 1; COMMIT", "more than one statement");
    for (int i = 0; i <= LK_STATEMENT_PARAMETERS_MAX; i++) {
        strcat(many, ":id, ");
    }
    is_refused(&postgresql, many, "more than 16");
}

/* Whatever the bytes: nothing is read outside of them, and what has no colon stays as it is. */
static void any_bytes_do_no_harm(void **state) {
    static const char alphabet[] = "'\"`$:;-/*#\\ aeE1\n\x80";
    struct lk_random random = test_random();
    (void)state;

    for (int turn = 0; turn < 50000; turn++) {
        size_t size = (size_t)lk_random_between(&random, 0, 24);
        char *bytes = malloc(size + 7);
        struct lk_statement statement = {.text = NULL};
        struct lk_slice sql = {bytes, size + 7};

        assert_non_null(bytes);
        memcpy(bytes, "SELECT ", 7);
        for (size_t i = 7; i < sql.size; i++) {
            bytes[i] = alphabet[lk_random_between(&random, 0, sizeof alphabet - 2)];
        }
        if (lk_statement_make(sql, turn % 2 ? &postgresql : &mysql, &statement, NULL) == LK_OK
            && memchr(bytes, ':', sql.size) == NULL && memchr(bytes, ';', sql.size) == NULL) {
            assert_int_equal(strlen(statement.text), sql.size);
            assert_memory_equal(statement.text, bytes, sql.size);
        }
        free(statement.text);
        free(bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_and_segments_are_one_to_one),
        cmocka_unit_test(any_bytes_make_a_path_or_nothing),
        cmocka_unit_test(non_canonical_spellings_are_refused),
        cmocka_unit_test(integers_are_distinguished_from_texts),
        cmocka_unit_test(parameters_are_found),
        cmocka_unit_test(quoted_text_is_not_changed),
        cmocka_unit_test(unknown_parameters_are_refused),
        cmocka_unit_test(any_bytes_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
