/* SPDX-License-Identifier: Apache-2.0 */
/* Looking and administering: lists, explanations, breaks and their record, examinations. */
#include <stdio.h>
#include <string.h>

#include "support.h"

static lk_store *store_of(void **state) {
    return ((struct fixture *)*state)->store;
}

static lk_listing *list(lk_store *store, const char *prefix) {
    lk_listing *listing = NULL;

    assert_int_equal(lk_list(store, prefix, &listing, NULL), LK_OK);
    return listing;
}

/* a holds db/t1 and other; b waits for db; c waits for db/t1, shared. */
static void fill(lk_store *store) {
    const char *const parts[] = {"other?limit=5&units=2", "db/t1"};
    lk_request request = lk_request_init(parts, 2);

    request.owner = "a";
    request.note = "first";
    request.style = LK_TRY;
    request.ttl_ms = 50000;
    assert_int_equal(lk_ask(store, &request, NULL, NULL), LK_GRANTED);
    assert_int_equal(queue_part(store, "b", "db"), LK_WAITING);
    assert_int_equal(queue_part(store, "c", "db/t1?shared"), LK_WAITING);
}

static void test_list(void **state) {
    fill(store_of(state));
    lk_listing *listing = list(store_of(state), NULL);

    assert_int_equal(listing->count, 4);
    assert_string_equal(listing->entries[0].path, "other"); /* in the order of the ask */
    assert_string_equal(listing->entries[0].owner, "a");
    assert_string_equal(listing->entries[0].note, "first");
    assert_true(listing->entries[0].held);
    assert_true(listing->entries[0].shared);
    assert_int_equal(listing->entries[0].limit, 5);
    assert_int_equal(listing->entries[0].units, 2);
    assert_int_equal(listing->entries[0].ttl_ms, 50000);
    assert_in_range(listing->entries[0].expires_in_ms, 1, 50000);
    assert_true(listing->entries[0].age_ms >= 0);
    assert_int_equal(listing->entries[0].request_index, 0);
    assert_string_equal(listing->entries[1].path, "db/t1");
    assert_false(listing->entries[1].shared);
    assert_int_equal(listing->entries[1].request_index, 0);
    assert_string_equal(listing->entries[2].owner, "b"); /* by ticket */
    assert_false(listing->entries[2].held);
    assert_int_equal(listing->entries[2].token, 0);
    assert_null(listing->entries[2].note);
    assert_int_equal(listing->entries[2].request_index, 1);
    assert_string_equal(listing->entries[3].owner, "c");
    assert_int_equal(listing->entries[3].blocker_count, 0); /* only lk_show() explains */
    lk_listing_free(listing);
}

static void test_list_below_a_prefix(void **state) {
    fill(store_of(state));
    lk_listing *listing = list(store_of(state), "db/t1");

    assert_int_equal(listing->count, 2); /* not b's: db is above */
    assert_string_equal(listing->entries[0].owner, "a");
    assert_string_equal(listing->entries[1].owner, "c");
    lk_listing_free(listing);
    listing = list(store_of(state), "d");
    assert_int_equal(listing->count, 0); /* whole segments */
    lk_listing_free(listing);
    assert_int_equal(lk_list(store_of(state), "a b", &listing, NULL), LK_INVALID);
}

static void test_show_explains(void **state) {
    lk_listing *listing = NULL;

    fill(store_of(state));
    assert_int_equal(lk_show(store_of(state), "db/t1", &listing, NULL), LK_OK);
    assert_int_equal(listing->count, 4); /* all parts of each request that is related */
    assert_int_equal(listing->entries[0].blocker_count, 0);
    assert_int_equal(listing->entries[2].position, 1);
    assert_int_equal(listing->entries[2].blocker_count, 1);
    assert_string_equal(listing->entries[2].blockers[0].owner, "a");
    assert_string_equal(listing->entries[2].blockers[0].path, "db/t1");
    assert_true(listing->entries[2].blockers[0].held);
    assert_int_equal(listing->entries[3].position, 2);
    assert_string_equal(listing->entries[3].blockers[0].owner, "a"); /* holders first */
    assert_string_equal(listing->entries[3].blockers[1].owner, "b");
    assert_false(listing->entries[3].blockers[1].held);
    lk_listing_free(listing);
    assert_int_equal(lk_show(store_of(state), "", &listing, NULL), LK_INVALID);
}

static void test_long_lists(void **state) {
    enum { COUNT = 70 }; /* past several doublings */
    lk_store *store = store_of(state);
    char part[32];

    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(part, sizeof part, "many/%02d", i);
        assert_int_equal(try_part(store, NULL, part), LK_GRANTED);
    }
    lk_listing *listing = list(store, "many");
    assert_int_equal(listing->count, COUNT);
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(part, sizeof part, "many/%02d", i);
        assert_string_equal(listing->entries[i].path, part);
    }
    lk_listing_free(listing);
}

static void test_break_revokes(void **state) {
    lk_store *store = store_of(state);
    lk_listing *listing;

    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    assert_int_equal(queue_part(store, "b", "x"), LK_WAITING);
    assert_int_equal(break_path(store, "x", false), 2);
    listing = list(store, NULL);
    assert_int_equal(listing->count, 1); /* R12: b is withdrawn, a's lease runs out */
    assert_true(listing->entries[0].revoked);
    lk_listing_free(listing);
    assert_int_equal(renew_part(store, "a", "x"), LK_LOST);
    assert_int_equal(try_part(store, "a", "x"), LK_LOST);
    assert_int_equal(try_part(store, "b", "x"), LK_BUSY);
    assert_int_equal(release_part(store, "a", "x"), LK_OK);
    assert_int_equal(try_part(store, "b", "x"), LK_GRANTED);
}

static void test_break_at_once(void **state) {
    lk_store *store = store_of(state);

    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    assert_int_equal(break_path(store, "y", true), 0);
    assert_int_equal(break_path(store, "x", true), 1);
    assert_int_equal(try_part(store, "b", "x"), LK_GRANTED);
    assert_int_equal(renew_part(store, "a", "x"), LK_LOST);
}

static void test_break_of_one_owner(void **state) {
    lk_store *store = store_of(state);
    lk_break_request request = {.size = sizeof request,
                                .path = "t",
                                .reason = "r",
                                .by = "me",
                                .owner = "a",
                                .at_once = true};
    size_t count = 0;

    assert_int_equal(try_part(store, "a", "t?shared"), LK_GRANTED);
    assert_int_equal(try_part(store, "b", "t?shared"), LK_GRANTED);
    assert_int_equal(lk_break(store, &request, &count, NULL), LK_OK);
    assert_int_equal(count, 1);
    assert_int_equal(renew_part(store, "a", "t"), LK_LOST);
    assert_int_equal(renew_part(store, "b", "t"), LK_OK);
}

static void test_breaks_are_in_the_audit(void **state) {
    lk_store *store = store_of(state);
    lk_break_request request = {.size = sizeof request,
                                .path = "db/x",
                                .reason = "the holder's machine burnt down",
                                .by = "root@here",
                                .at_once = true};
    lk_audit *audit = NULL;

    assert_int_equal(try_part(store, "a", "db/x"), LK_GRANTED);
    assert_int_equal(queue_part(store, "b", "db/x"), LK_WAITING);
    assert_int_equal(lk_break(store, &request, NULL, NULL), LK_OK);
    assert_int_equal(try_part(store, "a", "other"), LK_GRANTED);
    assert_int_equal(break_path(store, "other", true), 1);

    assert_int_equal(lk_audit_read(store, "db", &audit, NULL), LK_OK);
    assert_int_equal(audit->count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(audit->entries[i].by, "root@here");
        assert_string_equal(audit->entries[i].reason, "the holder's machine burnt down");
        assert_string_equal(audit->entries[i].path, "db/x");
        assert_true(audit->entries[i].at_unix_ms > INT64_C(1500000000000));
        assert_true(audit->entries[i].ticket > 0);
        assert_int_equal(audit->entries[i].held, strcmp(audit->entries[i].owner, "a") == 0);
        assert_int_equal(audit->entries[i].token != 0, audit->entries[i].held);
    }
    assert_string_not_equal(audit->entries[0].owner, audit->entries[1].owner);
    lk_audit_free(audit);
    assert_int_equal(lk_audit_read(store, NULL, &audit, NULL), LK_OK);
    assert_int_equal(audit->count, 3); /* oldest first */
    assert_string_equal(audit->entries[2].path, "other");
    lk_audit_free(audit);
}

static void test_bad_breaks(void **state) {
    const lk_break_request good = {.size = sizeof good, .path = "x", .reason = "r", .by = "me"};
    lk_break_request bad[6] = {good, good, good, good, good, good};
    lk_error error;

    bad[0].path = "a//b";
    bad[1].reason = NULL;
    bad[2].reason = "";
    bad[3].by = NULL;
    bad[4].owner = "";
    bad[5].size = 1;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(lk_break(store_of(state), &bad[i], NULL, &error), LK_INVALID);
        assert_true(strlen(error.text) > 0);
    }
}

static void test_examine(void **state) {
    const struct fixture *fixture = *state;
    lk_report *report = NULL;
    lk_error error;

    assert_int_equal(lk_examine(fixture->store, &report, &error), LK_OK);
    assert_int_equal(error.outcome, LK_OK);
    assert_non_null(strstr(report->text, fixture->url));
    assert_non_null(strstr(report->text, "capabilities: queue several-roots deadlock break"));
    assert_non_null(strstr(report->text, "library: " LK_VERSION "\n"));
    assert_non_null(report->warnings);
    assert_true(report->round_trip_us > 0);
    lk_report_free(report);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
        TEST(test_list),
        TEST(test_list_below_a_prefix),
        TEST(test_show_explains),
        TEST(test_long_lists),
        TEST(test_break_revokes),
        TEST(test_break_at_once),
        TEST(test_break_of_one_owner),
        TEST(test_breaks_are_in_the_audit),
        TEST(test_bad_breaks),
        TEST(test_examine),
    };

    choose_scheme(argc, argv);
    return cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
}
