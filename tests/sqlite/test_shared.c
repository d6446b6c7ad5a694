/* SPDX-License-Identifier: Apache-2.0 */
/* A store in a database of its user's (`?share=yes`). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "fixture.h"

/* They stay what they are. */
static void tables_of_everyday_names_live_beside_a_store(void **state) {
    static const char *const names[] = {"meta",   "requests", "parts",  "path_values",
                                        "queues", "items",    "roots",  "ended",
                                        "audit",  "events",   "values", "done_rows"};
    struct fixture *fixture = *state;
    char rest[sizeof fixture->file + 32];
    char text[256];
    struct lk_engine *engine = NULL;
    struct lk_patience patience = test_patience(1000000);
    lk_result result = {.outcome = LK_OK};
    lk_claim_info *claim = NULL;
    lk_error error;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(text, sizeof text, "CREATE TABLE \"%s\" (format, id, owner)", names[i]);
        (void)fixture_sql(fixture->file, text);
        (void)snprintf(text, sizeof text, "INSERT INTO \"%s\" VALUES (1, 2, 3)", names[i]);
        (void)fixture_sql(fixture->file, text);
    }
    (void)snprintf(rest, sizeof rest, "%s?share=yes", fixture->file);
    for (int i = 0; i < 2; i++) { /* a store that is made, and one that is there */
        assert_int_equal(lk_sqlite_open(lk_slice_of(rest), &lk_sqlite_options_default, &patience,
                                        &engine, &error),
                         LK_OK);
        assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 0, &result), LK_GRANTED);
        assert_int_equal(fixture_push(engine, "q", "1", lk_slice_of("v"), 0, ""), LK_OK);
        assert_int_equal(fixture_take(engine, "q", "w", 0, &claim, NULL), LK_GRANTED);
        assert_int_equal(fixture_finish(engine, claim, LK_FINISH_DONE, 0), LK_OK);
        fixture_close(engine);
    }
    lk_claim_free(claim);
    lk_result_clear(&result);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(text, sizeof text,
                       "SELECT count(*) = 1 AND sum(format + id + owner) = 6"
                       " FROM \"%s\"",
                       names[i]);
        assert_int_equal(fixture_sql(fixture->file, text), 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tables_of_everyday_names_live_beside_a_store, fixture_setup,
                                        fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
