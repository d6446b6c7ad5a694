/* SPDX-License-Identifier: Apache-2.0 */
/* Values (R15) on each engine: with a grant, with a release, by themselves, and in doubt. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { PAGE = 1000 }; /* as lk_values() has it */

static lk_store *store_of(void **state) {
    return ((struct fixture *)*state)->store;
}

static lk_outcome put_text(lk_store *store, const char *path, const char *text) {
    return lk_value_put(store, path, NULL, 0, text, strlen(text), NULL);
}

static void expect_kept(lk_store *store, const char *path, const char *text, bool in_doubt) {
    lk_value *value = NULL;

    assert_int_equal(lk_value_get(store, path, &value, NULL), LK_OK);
    assert_int_equal(value->size, strlen(text));
    assert_string_equal(value->bytes, text); /* terminated */
    assert_int_equal(value->in_doubt, in_doubt);
    lk_value_free(value);
}

static void expect_none(lk_store *store, const char *path) {
    lk_value *untouched = (lk_value *)&store;

    assert_int_equal(lk_value_get(store, path, &untouched, NULL), LK_NONE);
    assert_ptr_equal(untouched, &store);
}

/* Tries a part, asking for its value. */
static lk_result *ask_value(lk_store *store, const char *owner, const char *part, int64_t ttl_ms,
                            lk_outcome expected) {
    lk_request request = request_of(owner, &part);
    lk_result *result = NULL;

    request.value = true;
    request.ttl_ms = ttl_ms;
    assert_int_equal(lk_ask(store, &request, &result, NULL), expected);
    return result;
}

static lk_outcome release_put(lk_store *store, const char *owner, const char *part, uint64_t token,
                              const char *text) {
    lk_request request = request_of(owner, &part);

    return lk_release_put(store, &request, token, text, strlen(text), NULL, NULL);
}

/* ---- by themselves --------------------------------------------------------------------------- */

static void test_put_get_delete(void **state) {
    lk_store *store = store_of(state);

    expect_none(store, "a/b");
    assert_int_equal(put_text(store, "a/b", "one"), LK_OK);
    expect_kept(store, "a/b", "one", false);
    expect_none(store, "a");
    assert_int_equal(put_text(store, "a/b", "two"), LK_OK);
    expect_kept(store, "/a/b/", "two", false);
    assert_int_equal(lk_value_put(store, "a/b", NULL, 0, NULL, 0, NULL), LK_OK);
    expect_none(store, "a/b");
    assert_int_equal(lk_value_put(store, "a/b", NULL, 0, NULL, 0, NULL), LK_OK);
}

static void test_any_bytes_up_to_the_bound(void **state) {
    lk_store *store = store_of(state);
    unsigned char *bytes = malloc(LK_VALUE_MAX + 1);
    lk_value *value = NULL;
    lk_error error;

    assert_non_null(bytes);
    for (size_t i = 0; i <= LK_VALUE_MAX; i++) {
        bytes[i] = (unsigned char)(i * 7);
    }
    assert_int_equal(lk_value_put(store, "x", NULL, 0, bytes, LK_VALUE_MAX, NULL), LK_OK);
    assert_int_equal(lk_value_put(store, "x", NULL, 0, bytes, LK_VALUE_MAX + 1, &error),
                     LK_INVALID);
    assert_non_null(strstr(error.text, "65536"));
    assert_int_equal(lk_value_get(store, "x", &value, NULL), LK_OK);
    assert_int_equal(value->size, LK_VALUE_MAX);
    assert_memory_equal(value->bytes, bytes, LK_VALUE_MAX);
    lk_value_free(value);
    assert_int_equal(lk_value_put(store, "x", NULL, 0, "", 0, NULL), LK_OK); /* empty is a value */
    expect_kept(store, "x", "", false);
    free(bytes);
    lk_value_free(NULL);
}

static void test_wrong_calls_are_explained(void **state) {
    lk_store *store = store_of(state);
    lk_value *value = NULL;
    lk_error error;

    assert_int_equal(lk_value_get(store, "a//b", &value, &error), LK_INVALID);
    assert_true(error.text[0] != '\0');
    assert_int_equal(put_text(store, "", "x"), LK_INVALID);
    assert_int_equal(lk_value_put(store, "x", NULL, 7, "v", 1, &error), LK_INVALID);
    assert_non_null(strstr(error.text, "owner"));
    assert_int_equal(lk_value_put(store, "x", "", 0, "v", 1, NULL), LK_INVALID);
    assert_int_equal(lk_value_put(store, "x", NULL, 0, NULL, 3, NULL), LK_INVALID);
    expect_none(store, "x");
}

/* R15: refused while another owner holds an exclusive lease that covers the path. */
static void test_put_under_a_lock(void **state) {
    lk_store *store = store_of(state);

    assert_int_equal(try_part(store, "a", "db"), LK_GRANTED);
    assert_int_equal(put_text(store, "db/t", "no"), LK_BUSY);
    assert_int_equal(lk_value_put(store, "db/t", "b", 0, "no", 2, NULL), LK_BUSY);
    assert_int_equal(lk_value_put(store, "db/t", NULL, 0, NULL, 0, NULL), LK_BUSY);
    expect_none(store, "db/t"); /* a get never is */
    assert_int_equal(lk_value_put(store, "db/t", "a", 0, "yes", 3, NULL), LK_OK);
    assert_int_equal(put_text(store, "db2", "yes"), LK_OK);
    assert_int_equal(release_part(store, "a", "db"), LK_OK);
    assert_int_equal(try_part(store, "a", "db?shared"), LK_GRANTED);
    assert_int_equal(put_text(store, "db/t", "shared"), LK_OK);
    expect_kept(store, "db/t", "shared", false);
}

static void test_put_with_a_token(void **state) {
    lk_store *store = store_of(state);
    lk_result *lease = ask_value(store, "a", "db", 0, LK_GRANTED);

    assert_int_equal(lk_value_put(store, "db/t", "a", lease->token, "v", 1, NULL), LK_OK);
    assert_int_equal(lk_value_put(store, "db/t", "a", lease->token + 1, "w", 1, NULL), LK_LOST);
    assert_int_equal(lk_value_put(store, "db/t", "b", lease->token, "w", 1, NULL), LK_LOST);
    assert_int_equal(lk_value_put(store, "other", "a", lease->token, "w", 1, NULL), LK_LOST);
    assert_int_equal(release_part(store, "a", "db"), LK_OK);
    assert_int_equal(lk_value_put(store, "db/t", "a", lease->token, "w", 1, NULL), LK_LOST);
    expect_kept(store, "db/t", "v", false);
    lk_result_free(lease);
}

/* ---- with a lease ---------------------------------------------------------------------------- */

static void test_lock_and_get(void **state) {
    lk_store *store = store_of(state);
    lk_result *first = ask_value(store, "a", "x", 0, LK_GRANTED);

    assert_null(first->value);
    assert_int_equal(release_put(store, "a", "x", first->token, "state 1"), LK_OK);
    lk_result *second = ask_value(store, "b", "x", 0, LK_GRANTED);
    assert_int_equal(second->value_size, 7);
    assert_string_equal(second->value, "state 1");
    assert_false(second->in_doubt);
    lk_result *refused = ask_value(store, "c", "x", 0, LK_BUSY);
    assert_null(refused->value);
    assert_int_equal(release_part(store, "b", "x"), LK_OK); /* without a put: it stays */
    expect_kept(store, "x", "state 1", false);
    lk_result_free(first);
    lk_result_free(second);
    lk_result_free(refused);
}

/* A wait brings the value as it is at the grant. */
static void *put_and_release(void *context) {
    lk_store *store = context;

    wait_until_waiting(store, 1);
    assert_int_equal(release_put(store, "a", "x", 0, "handed over"), LK_OK);
    return NULL;
}

static void test_a_wait_brings_the_value(void **state) {
    lk_store *store = store_of(state);
    const char *part = "x";
    lk_request request = request_of("b", &part);
    lk_result *result = NULL;
    pthread_t thread;

    assert_int_equal(put_text(store, "x", "old"), LK_OK);
    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    assert_int_equal(pthread_create(&thread, NULL, put_and_release, store), 0);
    request.style = LK_WAIT;
    request.wait_ms = BOUND_MS;
    request.value = true;
    assert_int_equal(lk_ask(store, &request, &result, NULL), LK_GRANTED);
    assert_string_equal(result->value, "handed over");
    lk_result_free(result);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_put_and_release_are_atomic(void **state) {
    lk_store *store = store_of(state);
    lk_result *lease = ask_value(store, "a", "x", 0, LK_GRANTED);

    assert_int_equal(put_text(store, "y", "before"), LK_OK);
    assert_int_equal(release_put(store, "a", "x", lease->token + 1, "v"), LK_LOST);
    assert_int_equal(release_put(store, "b", "x", 0, "v"), LK_LOST);
    assert_int_equal(try_part(store, "a", "y?shared"), LK_GRANTED);
    assert_int_equal(release_put(store, "a", "y", 0, "v"), LK_LOST); /* not an exclusive one */
    assert_int_equal(count_live(store), 2);
    expect_none(store, "x");
    expect_kept(store, "y", "before", false);
    assert_int_equal(release_put(store, "a", "x", lease->token, "v"), LK_OK);
    assert_int_equal(release_put(store, "a", "x", lease->token, "w"), LK_OK); /* R3, the answer */
    expect_kept(store, "x", "v", false);
    lk_result_free(lease);
}

static void test_a_holder_past_its_deadline_cannot_put(void **state) {
    lk_store *store = store_of(state);
    lk_result *lease = ask_value(store, "a", "x", 60, LK_GRANTED);

    wait_until_ms(now_ms() + 80);
    assert_int_equal(release_put(store, "a", "x", lease->token, "late"), LK_LOST);
    expect_none(store, "x");
    lk_result_free(lease);
}

static void test_a_renewed_lease_can_put(void **state) {
    lk_store *store = store_of(state);
    const char *part = "x";
    lk_request request = request_of(NULL, &part);
    lk_lease *lease = NULL;
    char *large = calloc(1, LK_VALUE_MAX + 1);

    assert_non_null(large);
    assert_int_equal(lk_acquire(store, &request, &lease, NULL, NULL), LK_GRANTED);
    assert_int_equal(lk_lease_release_put(lease, large, LK_VALUE_MAX + 1, NULL), LK_INVALID);
    assert_false(lk_lease_is_lost(lease)); /* as before */
    assert_int_equal(lk_lease_release_put(lease, "v", 1, NULL), LK_OK);
    expect_kept(store, "x", "v", false);
    assert_int_equal(count_live(store), 0);
    request.shared = true;
    assert_int_equal(lk_acquire(store, &request, &lease, NULL, NULL), LK_GRANTED);
    assert_int_equal(lk_lease_release_put(lease, "w", 1, NULL), LK_INVALID);
    assert_int_equal(lk_lease_release(lease, NULL), LK_OK);
    expect_kept(store, "x", "v", false);
    free(large);
}

/* ---- of several parts ------------------------------------------------------------------------ */

static lk_request batch_of(const char *owner, const char *const *parts, size_t count) {
    lk_request request = request_of(owner, parts);

    request.part_count = count;
    request.value = true;
    return request;
}

static void test_a_batch_gives_all_values(void **state) {
    lk_store *store = store_of(state);
    const char *parts[] = {"r/b", "r/none", "r/a"};
    lk_request request = batch_of("a", parts, 3);
    lk_result *result = NULL;

    assert_int_equal(put_text(store, "r/a", "of a"), LK_OK);
    assert_int_equal(put_text(store, "r/b", ""), LK_OK);
    assert_int_equal(lk_ask(store, &request, &result, NULL), LK_GRANTED);
    assert_int_equal(result->value_count, 3);
    assert_string_equal(result->value, "");
    assert_string_equal(result->values[0].value, "");
    assert_null(result->values[1].value);
    assert_int_equal(result->values[2].value_size, 4);
    assert_string_equal(result->values[2].value, "of a");
    assert_false(result->values[2].in_doubt);
    lk_result_free(result);
    request.value = false;
    assert_int_equal(lk_ask(store, &request, &result, NULL), LK_GRANTED);
    assert_null(result->values);
    assert_int_equal(result->value_count, 0);
    lk_result_free(result);
}

static void test_a_release_puts_several_values(void **state) {
    lk_store *store = store_of(state);
    const char *parts[] = {"r/a", "r/b", "r/c"};
    lk_request request = batch_of("a", parts, 3);
    const lk_part_put puts[] = {{.path = "r/c", .value = "of c", .value_size = 4},
                                {.value = "of a", .value_size = 4}};

    assert_int_equal(lk_ask(store, &request, NULL, NULL), LK_GRANTED);
    assert_int_equal(lk_release_put_all(store, &request, 0, puts, 2, NULL, NULL), LK_OK);
    expect_kept(store, "r/a", "of a", false);
    expect_none(store, "r/b");
    expect_kept(store, "r/c", "of c", false);
    assert_int_equal(count_live(store), 0);
    assert_int_equal(lk_release_put_all(store, &request, 0, puts, 2, NULL, NULL), LK_LOST);
}

static void test_wrong_puts_do_nothing(void **state) {
    lk_store *store = store_of(state);
    const char *parts[] = {"r/a", "r/b?shared"};
    lk_request request = batch_of("a", parts, 2);
    lk_part_put puts[] = {{.path = "r/a", .value = "v", .value_size = 1},
                          {.path = "/r/a/", .value = "w", .value_size = 1}};
    lk_error error;

    assert_int_equal(lk_ask(store, &request, NULL, NULL), LK_GRANTED);
    assert_int_equal(lk_release_put_all(store, &request, 0, puts, 2, NULL, &error), LK_INVALID);
    assert_non_null(strstr(error.text, "r/a"));
    puts[1].path = "r/x";
    assert_int_equal(lk_release_put_all(store, &request, 0, puts, 2, NULL, &error), LK_INVALID);
    assert_non_null(strstr(error.text, "r/x"));
    puts[1].path = "r//x";
    assert_int_equal(lk_release_put_all(store, &request, 0, puts, 2, NULL, NULL), LK_INVALID);
    assert_int_equal(lk_release_put_all(store, &request, 0, NULL, 1, NULL, NULL), LK_INVALID);
    puts[1] = (lk_part_put){.path = "r/b", .value_size = 3};
    assert_int_equal(lk_release_put_all(store, &request, 0, puts, 2, NULL, NULL), LK_INVALID);
    puts[1].value = "no!"; /* shared: all values or none */
    assert_int_equal(lk_release_put_all(store, &request, 0, puts, 2, NULL, NULL), LK_LOST);
    expect_none(store, "r/a");
    assert_int_equal(count_live(store), 1);
    assert_int_equal(lk_release_put_all(store, &request, 0, puts, 1, NULL, NULL), LK_OK);
    expect_kept(store, "r/a", "v", false);
}

static void test_a_lease_of_a_batch_puts_several_values(void **state) {
    lk_store *store = store_of(state);
    const char *parts[] = {"r/a", "r/b", "r/c?shared"};
    lk_request request = batch_of(NULL, parts, 3);
    lk_part_put puts[] = {{.path = "r/b", .value = "of b", .value_size = 4},
                          {.path = "r/c", .value = "of c", .value_size = 4}};
    lk_lease *lease = NULL;
    lk_error error;

    assert_int_equal(lk_acquire(store, &request, &lease, NULL, NULL), LK_GRANTED);
    assert_int_equal(lk_lease_release_put_all(lease, puts, 2, &error), LK_INVALID);
    assert_non_null(strstr(error.text, "r/c"));
    assert_false(lk_lease_is_lost(lease)); /* as before */
    puts[1].path = "r/a";
    assert_int_equal(lk_lease_release_put_all(lease, puts, 2, NULL), LK_OK);
    expect_kept(store, "r/a", "of c", false);
    expect_kept(store, "r/b", "of b", false);
    expect_none(store, "r/c");
    assert_int_equal(count_live(store), 0);
}

static void test_the_largest_values_of_the_largest_batch(void **state) {
    lk_store *store = store_of(state);
    char texts[16][16];
    const char *parts[16];
    lk_part_put puts[16];
    lk_request request;
    lk_result *result = NULL;
    char *large = malloc(LK_VALUE_MAX);

    assert_non_null(large);
    memset(large, 0xFF, LK_VALUE_MAX);
    for (size_t i = 0; i < 16; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "r/%zu", i);
        parts[i] = texts[i];
        puts[i] = (lk_part_put){.path = parts[i], .value = large, .value_size = LK_VALUE_MAX - i};
    }
    request = batch_of("a", parts, 16);
    assert_int_equal(lk_ask(store, &request, NULL, NULL), LK_GRANTED);
    assert_int_equal(lk_release_put_all(store, &request, 0, puts, 16, NULL, NULL), LK_OK);
    assert_int_equal(lk_ask(store, &request, &result, NULL), LK_GRANTED);
    assert_int_equal(result->value_count, 16);
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(result->values[i].value_size, LK_VALUE_MAX - i);
        assert_memory_equal(result->values[i].value, large, LK_VALUE_MAX - i);
    }
    lk_result_free(result);
    free(large);
}

/* ---- in doubt -------------------------------------------------------------------------------- */

static void test_in_doubt_after_a_lost_lease(void **state) {
    lk_store *store = store_of(state);

    assert_int_equal(put_text(store, "x", "v"), LK_OK);
    lk_result_free(ask_value(store, "a", "x", stretched(3000), LK_GRANTED));
    expect_kept(store, "x", "v", false);
    wait_until_ms(now_ms() + stretched(3010));
    expect_kept(store, "x", "v", true);
    lk_result *next = ask_value(store, "b", "x", 0, LK_GRANTED);
    assert_string_equal(next->value, "v");
    assert_true(next->in_doubt);
    assert_int_equal(release_put(store, "b", "x", 0, "mended"), LK_OK);
    expect_kept(store, "x", "mended", false);
    lk_result_free(next);
}

/* R15: every value that the batch could have written. */
static void test_in_doubt_are_all_values_of_a_batch(void **state) {
    lk_store *store = store_of(state);
    const char *parts[] = {"r/a", "r/b?shared", "r/c"};
    lk_request request = batch_of("a", parts, 3);
    lk_result *result = NULL;

    assert_int_equal(put_text(store, "r/a", "v"), LK_OK);
    assert_int_equal(put_text(store, "r/b", "v"), LK_OK);
    assert_int_equal(put_text(store, "r/c", "v"), LK_OK);
    assert_int_equal(lk_ask(store, &request, NULL, NULL), LK_GRANTED);
    assert_int_equal(break_path(store, "r/b", true), 1);
    expect_kept(store, "r/a", "v", true);
    expect_kept(store, "r/b", "v", false);
    expect_kept(store, "r/c", "v", true);
    request.owner = "b";
    assert_int_equal(lk_ask(store, &request, &result, NULL), LK_GRANTED);
    assert_true(result->in_doubt && result->values[0].in_doubt && result->values[2].in_doubt);
    assert_false(result->values[1].in_doubt);
    lk_result_free(result);
}

static void test_in_doubt_after_a_break(void **state) {
    lk_store *store = store_of(state);

    assert_int_equal(put_text(store, "x", "v"), LK_OK);
    lk_result_free(ask_value(store, "a", "x", 0, LK_GRANTED));
    assert_int_equal(break_path(store, "x", true), 1);
    expect_kept(store, "x", "v", true);
    assert_int_equal(put_text(store, "x", "v"), LK_OK); /* any put ends it */
    expect_kept(store, "x", "v", false);
}

/* A holder that did not ask for it, or could not write it, leaves no doubt. */
static void test_a_value_released_in_order_is_not_in_doubt(void **state) {
    lk_store *store = store_of(state);

    assert_int_equal(put_text(store, "x", "v"), LK_OK);
    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    assert_int_equal(break_path(store, "x", true), 1);
    expect_kept(store, "x", "v", false);
    lk_result_free(ask_value(store, "a", "x?shared", 0, LK_GRANTED));
    assert_int_equal(break_path(store, "x", true), 1);
    expect_kept(store, "x", "v", false);
    lk_result_free(ask_value(store, "a", "x", 0, LK_GRANTED));
    assert_int_equal(release_part(store, "a", "x"), LK_OK);
    expect_kept(store, "x", "v", false);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* The paths of the only page, each with its size, and a question mark if it is in doubt. */
static void expect_page(lk_store *store, const char *prefix, const char *behind,
                        const char *expected) {
    lk_value_list *list = NULL;
    char text[256] = "";

    assert_int_equal(lk_values(store, prefix, behind, &list, NULL), LK_OK);
    for (size_t i = 0; i < list->count; i++) {
        size_t size = strlen(text);
        (void)snprintf(text + size, sizeof text - size, "%s:%zu%s ", list->values[i].path,
                       list->values[i].size, list->values[i].in_doubt ? "?" : "");
    }
    assert_string_equal(text, expected);
    assert_null(list->reached);
    lk_value_list_free(list);
}

static void test_values_are_listed_by_path(void **state) {
    lk_store *store = store_of(state);
    lk_value_list *list = NULL;
    lk_error error;

    expect_page(store, NULL, NULL, "");
    assert_int_equal(put_text(store, "b", "1"), LK_OK);
    assert_int_equal(put_text(store, "a/b", "12"), LK_OK);
    assert_int_equal(put_text(store, "a-b", "123"), LK_OK);
    assert_int_equal(put_text(store, "a", ""), LK_OK);
    lk_result_free(ask_value(store, "o", "a/b", 60000, LK_GRANTED));
    assert_int_equal(break_path(store, "a/b", true), 1);
    expect_page(store, NULL, NULL, "a:0 a-b:3 a/b:2? b:1 ");
    expect_page(store, "a", NULL, "a:0 a/b:2? ");
    expect_page(store, "a", "a", "a/b:2? ");
    expect_page(store, "a", "a-z", "a/b:2? ");
    expect_page(store, "a", "a/b", "");
    expect_page(store, NULL, "a/a\xf4\x8f\xbf\xbf", "a/b:2? b:1 ");
    assert_int_equal(lk_values(store, "a//b", NULL, &list, &error), LK_INVALID);
    assert_int_equal(lk_values(store, NULL, "\xff", &list, &error), LK_INVALID);
    assert_null(list);
    lk_value_list_free(NULL);
}

static void test_values_come_by_pages(void **state) {
    lk_store *store = store_of(state);
    lk_value_list *list = NULL;
    lk_value_list *next = NULL;
    char path[32];

    for (int i = 0; i <= PAGE; i++) {
        (void)snprintf(path, sizeof path, "many/%04d", i);
        assert_int_equal(put_text(store, path, "v"), LK_OK);
    }
    assert_int_equal(put_text(store, "few/1", "v"), LK_OK);
    assert_int_equal(lk_values(store, "many", NULL, &list, NULL), LK_OK);
    assert_int_equal(list->count, PAGE);
    assert_string_equal(list->values[PAGE - 1].path, "many/0999");
    assert_non_null(list->reached);
    assert_int_equal(lk_values(store, "many", list->reached, &next, NULL), LK_OK);
    assert_int_equal(next->count, 1);
    assert_string_equal(next->values[0].path, "many/1000");
    assert_null(next->reached);
    lk_value_list_free(list);
    lk_value_list_free(next);
    assert_int_equal(lk_values(store, NULL, NULL, &list, NULL), LK_OK);
    assert_string_equal(list->values[0].path, "few/1");
    assert_non_null(list->reached);
    lk_value_list_free(list);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
        TEST(test_put_get_delete),
        TEST(test_any_bytes_up_to_the_bound),
        TEST(test_wrong_calls_are_explained),
        TEST(test_put_under_a_lock),
        TEST(test_put_with_a_token),
        TEST(test_lock_and_get),
        TEST(test_a_wait_brings_the_value),
        TEST(test_put_and_release_are_atomic),
        TEST(test_a_holder_past_its_deadline_cannot_put),
        TEST(test_a_renewed_lease_can_put),
        TEST(test_a_batch_gives_all_values),
        TEST(test_a_release_puts_several_values),
        TEST(test_wrong_puts_do_nothing),
        TEST(test_a_lease_of_a_batch_puts_several_values),
        TEST(test_the_largest_values_of_the_largest_batch),
        TEST(test_in_doubt_after_a_lost_lease),
        TEST(test_in_doubt_after_a_break),
        TEST(test_in_doubt_are_all_values_of_a_batch),
        TEST(test_a_value_released_in_order_is_not_in_doubt),
        TEST(test_values_are_listed_by_path),
        TEST(test_values_come_by_pages),
    };

    choose_scheme(argc, argv);
    return cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
}
