/* SPDX-License-Identifier: Apache-2.0 */
/* Asking without waiting, renewing, releasing: every outcome, and what a result says of it. */
#include <string.h>
#include <time.h>

#include "support.h"

static lk_store *store_of(void **state) {
    return ((struct fixture *)*state)->store;
}

/* Asks for one part and hands the result over, which must be there. */
static lk_outcome ask(lk_store *store, const char *owner, const char *part, lk_style style,
                      lk_result **ret_result) {
    lk_request request = request_of(owner, &part);

    request.style = style;
    lk_outcome outcome = lk_ask(store, &request, ret_result, NULL);
    assert_non_null(*ret_result);
    assert_int_equal((*ret_result)->outcome, outcome);
    return outcome;
}

static void test_grant(void **state) {
    const char *const parts[] = {"/db/t1/", "db/t2?shared"};
    lk_request request = lk_request_init(parts, 2);
    lk_result *result = NULL;
    lk_error error;

    request.style = LK_TRY;
    request.ttl_ms = 5000;
    assert_int_equal(lk_ask(store_of(state), &request, &result, &error), LK_GRANTED);
    assert_int_equal(error.outcome, LK_GRANTED);
    assert_string_equal(error.text, "");
    assert_int_equal(result->path_count, 2);
    assert_string_equal(result->paths[0], "db/t1"); /* R1: the outer slashes are dropped */
    assert_string_equal(result->paths[1], "db/t2");
    assert_true(strlen(result->owner) > 16);
    assert_true(result->token > 0);
    assert_int_equal(result->ticket, result->token); /* R4 */
    assert_int_equal(result->ttl_ms, 5000);
    assert_in_range(result->expires_in_ms, 1, 5000);
    assert_int_equal(result->position, 0);
    assert_int_equal(result->blocker_count, 0);
    assert_true(result->created);
    assert_false(result->fixed);
    assert_null(result->error);
    lk_result_free(result);
}

static void test_default_ttl(void **state) {
    lk_result *result = NULL;

    assert_int_equal(ask(store_of(state), "a", "x", LK_TRY, &result), LK_GRANTED);
    assert_int_equal(result->ttl_ms, 60000); /* R11 */
    lk_result_free(result);
}

static void test_same_ask_twice(void **state) {
    lk_result *first = NULL;
    lk_result *second = NULL;

    assert_int_equal(ask(store_of(state), "a", "x", LK_TRY, &first), LK_GRANTED);
    assert_int_equal(ask(store_of(state), "a", "x", LK_TRY, &second), LK_GRANTED);
    assert_int_equal(first->token, second->token); /* R3 */
    assert_true(first->created);
    assert_false(second->created);
    assert_int_equal(count_live(store_of(state)), 1);
    lk_result_free(first);
    lk_result_free(second);
}

static void test_fresh_owners_exclude_each_other(void **state) {
    assert_int_equal(try_part(store_of(state), NULL, "x"), LK_GRANTED);
    assert_int_equal(try_part(store_of(state), NULL, "x"), LK_BUSY);
}

static void test_busy_names_the_blockers(void **state) {
    lk_store *store = store_of(state);
    const char *part = "db";
    lk_request request = request_of("a", &part);
    lk_result *result = NULL;

    request.note = "nightly";
    assert_int_equal(lk_ask(store, &request, NULL, NULL), LK_GRANTED);
    assert_int_equal(ask(store, "b", "db/t1", LK_TRY, &result), LK_BUSY);
    assert_int_equal(result->token, 0);
    assert_int_equal(result->ticket, 0);
    assert_int_equal(result->expires_in_ms, -1);
    assert_int_equal(result->position, 1);
    assert_int_equal(result->blocker_count, 1);
    assert_string_equal(result->blockers[0].path, "db");
    assert_string_equal(result->blockers[0].owner, "a");
    assert_string_equal(result->blockers[0].note, "nightly");
    assert_true(result->blockers[0].held);
    assert_in_range(result->blockers[0].expires_in_ms, 1, 60000);
    assert_int_equal(count_live(store), 1); /* R10: nothing new stays queued */
    lk_result_free(result);
}

static void test_queue_polls_to_the_grant(void **state) {
    lk_store *store = store_of(state);
    lk_result *waiting = NULL;
    lk_result *granted = NULL;

    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    assert_int_equal(ask(store, "b", "x", LK_QUEUE, &waiting), LK_WAITING);
    assert_true(waiting->ticket > 0);
    assert_int_equal(waiting->token, 0);
    assert_int_equal(waiting->position, 1);
    assert_true(waiting->created);
    assert_int_equal(release_part(store, "a", "x"), LK_OK);
    assert_int_equal(ask(store, "b", "x", LK_QUEUE, &granted), LK_GRANTED);
    assert_int_equal(granted->ticket, waiting->ticket);
    assert_true(granted->token > waiting->ticket);
    assert_false(granted->created);
    lk_result_free(waiting);
    lk_result_free(granted);
}

static void test_limits(void **state) {
    lk_store *store = store_of(state);
    const char *part = "pool";
    lk_request request = request_of("c", &part);
    lk_result *result = NULL;

    assert_int_equal(try_part(store, "a", "pool?limit=10&units=6"), LK_GRANTED);
    assert_int_equal(try_part(store, "b", "pool?limit=10&units=5"), LK_BUSY);
    request.limit = 10; /* the same, said outside the part */
    request.units = 4;
    assert_int_equal(lk_ask(store, &request, &result, NULL), LK_GRANTED);
    assert_int_equal(result->in_use, 10);
    lk_result_free(result);
}

static void test_conversion(void **state) {
    lk_store *store = store_of(state);
    lk_result *shared = NULL;
    lk_result *exclusive = NULL;

    assert_int_equal(ask(store, "a", "t?shared", LK_TRY, &shared), LK_GRANTED);
    assert_int_equal(try_part(store, "b", "t?shared"), LK_GRANTED);
    assert_int_equal(try_part(store, "a", "t"), LK_BUSY); /* R9: still shared */
    assert_int_equal(release_part(store, "b", "t"), LK_OK);
    assert_int_equal(ask(store, "a", "t", LK_TRY, &exclusive), LK_GRANTED);
    assert_true(exclusive->token > shared->token);
    lk_result_free(shared);
    lk_result_free(exclusive);
}

static void test_deadlock_names_its_cycle(void **state) {
    lk_store *store = store_of(state);
    lk_result *result = NULL;

    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    assert_int_equal(try_part(store, "b", "y"), LK_GRANTED);
    assert_int_equal(queue_part(store, "a", "y"), LK_WAITING);
    assert_int_equal(ask(store, "b", "x", LK_QUEUE, &result), LK_DEADLOCK);
    assert_int_equal(result->cycle_count, 2); /* R13, the asker first */
    assert_string_equal(result->cycle[0], "b");
    assert_string_equal(result->cycle[1], "a");
    assert_int_equal(count_waiting(store), 1);
    lk_result_free(result);
}

static void test_renew(void **state) {
    lk_store *store = store_of(state);
    const char *part = "x";
    lk_request request = request_of("a", &part);
    lk_result *granted = NULL;
    lk_result *renewed = NULL;

    request.ttl_ms = 5000;
    assert_int_equal(lk_ask(store, &request, &granted, NULL), LK_GRANTED);
    request.ttl_ms = 0; /* the former */
    assert_int_equal(lk_renew(store, &request, granted->token, &renewed, NULL), LK_OK);
    assert_int_equal(renewed->ttl_ms, 5000);
    assert_int_equal(renewed->token, granted->token);
    assert_in_range(renewed->expires_in_ms, 1, 5000);
    lk_result_free(renewed);
    request.ttl_ms = 70000;
    assert_int_equal(lk_renew(store, &request, 0, &renewed, NULL), LK_OK);
    assert_in_range(renewed->expires_in_ms, 60000, 70000);
    lk_result_free(renewed);
    assert_int_equal(lk_renew(store, &request, granted->token + 1, NULL, NULL), LK_LOST);
    lk_result_free(granted);
}

static void test_renewing_without_a_lease(void **state) {
    lk_store *store = store_of(state);

    assert_int_equal(renew_part(store, "a", "x"), LK_LOST);
    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    assert_int_equal(queue_part(store, "b", "x"), LK_WAITING);
    assert_int_equal(renew_part(store, "b", "x"), LK_LOST);
    assert_int_equal(count_waiting(store), 1);
}

static void test_release(void **state) {
    lk_store *store = store_of(state);
    const char *part = "x?shared"; /* modes are ignored */
    lk_request request = request_of("a", &part);
    lk_result *granted = NULL;

    assert_int_equal(release_part(store, "a", "x"), LK_LOST);
    assert_int_equal(ask(store, "a", "x", LK_TRY, &granted), LK_GRANTED);
    assert_int_equal(lk_release(store, &request, granted->token + 1, NULL, NULL), LK_LOST);
    assert_int_equal(lk_release(store, &request, granted->token, NULL, NULL), LK_OK);
    assert_int_equal(lk_release(store, &request, granted->token, NULL, NULL), LK_OK); /* R3 */
    assert_int_equal(lk_release(store, &request, 0, NULL, NULL), LK_LOST);
    assert_int_equal(count_live(store), 0);
    lk_result_free(granted);
}

static void test_release_withdraws(void **state) {
    lk_store *store = store_of(state);

    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    assert_int_equal(queue_part(store, "b", "x"), LK_WAITING);
    assert_int_equal(release_part(store, "b", "x"), LK_OK);
    assert_int_equal(count_waiting(store), 0);
}

static void test_a_lease_expires(void **state) {
    lk_store *store = store_of(state);
    const char *part = "x";
    lk_request request = request_of("a", &part);

    request.ttl_ms = 50;
    assert_int_equal(lk_ask(store, &request, NULL, NULL), LK_GRANTED);
    wait_until_ms(now_ms() + 51);
    assert_int_equal(renew_part(store, "a", "x"), LK_LOST); /* R11: nothing revives it */
    assert_int_equal(release_part(store, "a", "x"), LK_LOST);
    assert_int_equal(try_part(store, "b", "x"), LK_GRANTED);
}

static void test_fixed_end(void **state) {
    lk_store *store = store_of(state);
    const char *part = "x";
    lk_request request = request_of("a", &part);
    lk_result *result = NULL;
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    request.until_unix_ms = ((int64_t)now.tv_sec + 100) * 1000;
    assert_int_equal(lk_ask(store, &request, &result, NULL), LK_GRANTED);
    assert_true(result->fixed);
    assert_in_range(result->expires_in_ms, 90000, 101000);
    lk_result_free(result);
    request.until_unix_ms = 0;
    request.ttl_ms = 1000;
    assert_int_equal(lk_renew(store, &request, 0, &result, NULL), LK_OK); /* moves nothing */
    assert_true(result->expires_in_ms > 80000);
    lk_result_free(result);
    request.owner = "b";
    request.ttl_ms = 0;
    request.until_unix_ms = ((int64_t)now.tv_sec - 1) * 1000;
    assert_int_equal(lk_ask(store, &request, NULL, NULL), LK_INVALID);
}

static void test_two_handles_see_one_store(void **state) {
    lk_store *store = store_of(state);
    lk_store *other = open_again(*state);

    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    assert_int_equal(try_part(other, "b", "x"), LK_BUSY);
    assert_int_equal(release_part(other, "a", "x"), LK_OK);
    assert_int_equal(try_part(other, "b", "x"), LK_GRANTED);
    lk_close(other);
    assert_int_equal(count_live(store), 1);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void assert_invalid(lk_store *store, const lk_request *request, const char *word) {
    lk_result *result = NULL;
    lk_error error;

    assert_int_equal(lk_ask(store, request, &result, &error), LK_INVALID);
    assert_int_equal(error.outcome, LK_INVALID);
    if (strstr(error.text, word) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, word);
    }
    assert_non_null(result);
    assert_int_equal(result->outcome, LK_INVALID);
    assert_string_equal(result->error, error.text);
    lk_result_free(result);
}

static void test_bad_parts(void **state) {
    static const char *const bad[] = {"",          "a//b",   "a b",
                                      "..",        "a/./b",  "x?limit=0",
                                      "x?units=2", "x?wide", "x?limit=1&units=2",
                                      "\xff",      "x{y}"};
    const char *const twice[] = {"x", "/x/"};
    const char *const many[17] = {"x"};
    lk_request request;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        request = request_of("a", &bad[i]);
        assert_invalid(store_of(state), &request, "R");
    }
    request = lk_request_init(twice, 2);
    assert_invalid(store_of(state), &request, "R2");
    request = lk_request_init(twice, 0);
    assert_invalid(store_of(state), &request, "1 to 16");
    request = lk_request_init(many, 17);
    assert_invalid(store_of(state), &request, "1 to 16");
    request = lk_request_init(NULL, 1);
    assert_invalid(store_of(state), &request, "parts");
    request = lk_request_init(many, 2); /* the second is NULL */
    assert_invalid(store_of(state), &request, "R1");
}

static void test_bad_numbers(void **state) {
    const char *part = "x";
    lk_request request = request_of("a", &part);

    request.ttl_ms = 49;
    assert_invalid(store_of(state), &request, "ttl");
    request.ttl_ms = INT64_C(366) * 24 * 3600 * 1000 + 1;
    assert_invalid(store_of(state), &request, "ttl");
    request.ttl_ms = -1;
    assert_invalid(store_of(state), &request, "ttl");
    request.ttl_ms = 50;
    request.until_unix_ms = 1;
    assert_invalid(store_of(state), &request, "not both");
    request.ttl_ms = 0;
    request.until_unix_ms = -1;
    assert_invalid(store_of(state), &request, "fixed end");
    request.until_unix_ms = 0;
    request.wait_ms = -1;
    assert_invalid(store_of(state), &request, "negative");
    request.wait_ms = 0;
    request.patience_ms = -1;
    assert_invalid(store_of(state), &request, "negative");
    request.patience_ms = 0;
    request.style = (lk_style)7;
    assert_invalid(store_of(state), &request, "style");
    request.style = LK_TRY;
    request.units = 2; /* without a limit */
    assert_invalid(store_of(state), &request, "R2");
}

static void test_bad_texts(void **state) {
    const char *part = "x";
    lk_request request = request_of("", &part);
    char long_text[300];

    memset(long_text, 'o', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    assert_invalid(store_of(state), &request, "owner");
    request.owner = long_text;
    assert_invalid(store_of(state), &request, "owner");
    request.owner = "\xc0\x80";
    assert_invalid(store_of(state), &request, "UTF-8");
    request.owner = "a";
    request.note = long_text;
    assert_invalid(store_of(state), &request, "note");
    request.note = NULL;
    request.owner = NULL; /* a fresh one will do for an ask, but not to end something */
    assert_int_equal(lk_release(store_of(state), &request, 0, NULL, NULL), LK_INVALID);
    assert_int_equal(lk_renew(store_of(state), &request, 0, NULL, NULL), LK_INVALID);
}

static void test_bounds_are_allowed(void **state) {
    char owner[129] = "";
    char note[256];
    const char *part = "x";
    lk_request request = request_of(owner, &part);

    memset(owner, 'o', 128);
    owner[128] = '\0';
    memset(note, 'n', 255);
    note[255] = '\0';
    request.note = note;
    request.ttl_ms = INT64_C(366) * 24 * 3600 * 1000;
    assert_int_equal(lk_ask(store_of(state), &request, NULL, NULL), LK_GRANTED);
}

static void test_structs_of_other_versions(void **state) {
    struct {
        lk_request request;
        int64_t from_the_future;
    } later = {.from_the_future = 0};
    const char *part = "x";

    later.request = request_of("a", &part);
    later.request.size = 0;
    assert_invalid(store_of(state), &later.request, "size");
    later.request.size = sizeof later;
    assert_int_equal(lk_ask(store_of(state), &later.request, NULL, NULL), LK_GRANTED);
    later.from_the_future = 1;
    assert_int_equal(lk_ask(store_of(state), &later.request, NULL, NULL), LK_UNSUPPORTED);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
        TEST(test_grant),
        TEST(test_default_ttl),
        TEST(test_same_ask_twice),
        TEST(test_fresh_owners_exclude_each_other),
        TEST(test_busy_names_the_blockers),
        TEST(test_queue_polls_to_the_grant),
        TEST(test_limits),
        TEST(test_conversion),
        TEST(test_deadlock_names_its_cycle),
        TEST(test_renew),
        TEST(test_renewing_without_a_lease),
        TEST(test_release),
        TEST(test_release_withdraws),
        TEST(test_a_lease_expires),
        TEST(test_fixed_end),
        TEST(test_two_handles_see_one_store),
        TEST(test_bad_parts),
        TEST(test_bad_numbers),
        TEST(test_bad_texts),
        TEST(test_bounds_are_allowed),
        TEST(test_structs_of_other_versions),
    };

    choose_scheme(argc, argv);
    return cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
}
