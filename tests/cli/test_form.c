/* SPDX-License-Identifier: Apache-2.0 */
/* Records as JSON, letter by letter: names, order, and what is absent when. */
#include <stdlib.h>

#include "form/form.h"
#include "unit.h"

/* Takes over `object`. */
static void expect_line(json_t *object, const char *expected) {
    assert_non_null(object);
    char *line = lk_form_line(object);
    assert_non_null(line);
    assert_string_equal(line, expected);
    free(line);
    json_decref(object);
}

static char *paths[] = {"db/t1", "pool"};
static lk_blocker_info blockers[] = {
    {.path = "db",
     .owner = "ana",
     .note = "nightly",
     .ticket = 5,
     .held = true,
     .expires_in_ms = 900},
    {.path = "db/t1", .owner = "ben", .ticket = 6, .expires_in_ms = 0},
};

static lk_result asked(lk_outcome outcome) {
    return (lk_result){
        .outcome = outcome, .paths = paths, .path_count = 1, .owner = "cleo", .expires_in_ms = -1};
}

static void granted_has_all_that_a_lease_has(void **state) {
    lk_result result = asked(LK_GRANTED);
    (void)state;

    result.path_count = 2;
    result.ticket = 7;
    result.token = 8;
    result.ttl_ms = 60000;
    result.expires_in_ms = 59999;
    result.in_use = 3;
    result.created = true;
    expect_line(lk_form_result(&result),
                "{\"status\":\"granted\",\"paths\":[\"db/t1\",\"pool\"],\"owner\":\"cleo\","
                "\"ticket\":7,\"token\":8,\"ttl_ms\":60000,\"expires_in_ms\":59999,\"in_use\":3,"
                "\"position\":0,\"created\":true}");
}

static void granted_with_a_fixed_end_has_no_ttl(void **state) {
    lk_result result = asked(LK_GRANTED);
    (void)state;

    result.ticket = 7;
    result.token = 7;
    result.ttl_ms = 60000;
    result.expires_in_ms = 0;
    result.fixed = true;
    expect_line(lk_form_result(&result),
                "{\"status\":\"granted\",\"paths\":[\"db/t1\"],\"owner\":\"cleo\",\"ticket\":7,"
                "\"token\":7,\"expires_in_ms\":0,\"in_use\":0,\"position\":0,\"created\":false}");
}

static void waiting_has_no_token_and_names_blockers(void **state) {
    lk_result result = asked(LK_WAITING);
    (void)state;

    result.ticket = 9;
    result.ttl_ms = 1000;
    result.expires_in_ms = 1000;
    result.position = 2;
    result.created = true;
    result.blockers = blockers;
    result.blocker_count = 2;
    expect_line(lk_form_result(&result),
                "{\"status\":\"waiting\",\"paths\":[\"db/t1\"],\"owner\":\"cleo\",\"ticket\":9,"
                "\"ttl_ms\":1000,\"expires_in_ms\":1000,\"in_use\":0,\"position\":2,"
                "\"created\":true,\"blockers\":["
                "{\"path\":\"db\",\"owner\":\"ana\",\"ticket\":5,\"state\":\"held\","
                "\"note\":\"nightly\",\"expires_in_ms\":900},"
                "{\"path\":\"db/t1\",\"owner\":\"ben\",\"ticket\":6,\"state\":\"waiting\","
                "\"expires_in_ms\":0}]}");
}

static void a_refused_try_left_nothing(void **state) {
    lk_result result = asked(LK_BUSY);
    (void)state;

    result.position = 1;
    result.blockers = blockers;
    result.blocker_count = 1;
    result.error = "somebody is in the way";
    expect_line(lk_form_result(&result),
                "{\"status\":\"busy\",\"paths\":[\"db/t1\"],\"owner\":\"cleo\",\"in_use\":0,"
                "\"position\":1,\"blockers\":[{\"path\":\"db\",\"owner\":\"ana\",\"ticket\":5,"
                "\"state\":\"held\",\"note\":\"nightly\",\"expires_in_ms\":900}],"
                "\"error\":\"somebody is in the way\"}");
}

static void deadlock_names_its_cycle(void **state) {
    static char *cycle[] = {"cleo", "ana"};
    lk_result result = asked(LK_DEADLOCK);
    (void)state;

    result.cycle = cycle;
    result.cycle_count = 2;
    expect_line(lk_form_result(&result),
                "{\"status\":\"deadlock\",\"paths\":[\"db/t1\"],\"owner\":\"cleo\",\"in_use\":0,"
                "\"cycle\":[\"cleo\",\"ana\"],\"error\":\"waiting would close a "
                "cycle of owners that wait for each other\"}");
}

static void renewed_and_released_are_ok(void **state) {
    lk_result result = asked(LK_OK);
    (void)state;

    result.ticket = 7;
    result.token = 7;
    result.ttl_ms = 5000;
    expect_line(lk_form_result(&result), "{\"status\":\"ok\",\"paths\":[\"db/t1\"],"
                                         "\"owner\":\"cleo\",\"ticket\":7,\"token\":7}");
    result.expires_in_ms = 5000;
    expect_line(lk_form_result(&result),
                "{\"status\":\"ok\",\"paths\":[\"db/t1\"],\"owner\":\"cleo\",\"ticket\":7,"
                "\"token\":7,\"ttl_ms\":5000,\"expires_in_ms\":5000}");
}

static void lost_says_so_and_little_else(void **state) {
    lk_result result = asked(LK_LOST);
    (void)state;

    expect_line(lk_form_result(&result),
                "{\"status\":\"lost\",\"paths\":[\"db/t1\"],\"owner\":\"cleo\","
                "\"error\":\"not held (any more)\"}");
}

static void a_failure_always_has_a_text(void **state) {
    (void)state;

    expect_line(lk_form_failure(LK_INVALID, "no such thing"),
                "{\"status\":\"invalid\",\"error\":\"no such thing\"}");
    expect_line(lk_form_failure(LK_UNAVAILABLE, ""),
                "{\"status\":\"unavailable\",\"error\":\"the store cannot be reached; ask "
                "again\"}");
    expect_line(lk_form_failure(LK_BUSY, NULL),
                "{\"status\":\"busy\",\"error\":\"not granted: somebody else is in the way\"}");
}

static void entries_hold_what_their_mode_has(void **state) {
    lk_entry entry = {.path = "db",
                      .owner = "ana",
                      .ticket = 3,
                      .token = 4,
                      .held = true,
                      .ttl_ms = 60000,
                      .expires_in_ms = 10,
                      .age_ms = 59990};
    (void)state;

    expect_line(lk_form_entry(&entry, false),
                "{\"path\":\"db\",\"ticket\":3,\"token\":4,\"state\":\"held\","
                "\"mode\":\"exclusive\",\"owner\":\"ana\",\"ttl_ms\":60000,\"expires_in_ms\":10,"
                "\"age_ms\":59990}");
    entry.shared = true;
    entry.limit = 10;
    entry.units = 2;
    entry.note = "why";
    expect_line(lk_form_entry(&entry, true),
                "{\"path\":\"db\",\"ticket\":3,\"token\":4,\"state\":\"held\",\"mode\":\"shared\","
                "\"limit\":10,\"units\":2,\"owner\":\"ana\",\"note\":\"why\",\"ttl_ms\":60000,"
                "\"expires_in_ms\":10,\"age_ms\":59990}");
}

static void a_waiting_entry_names_blockers_in_show_only(void **state) {
    lk_entry entry = {.path = "db",
                      .owner = "ana",
                      .ticket = 3,
                      .shared = true,
                      .units = 1,
                      .blockers = blockers,
                      .blocker_count = 1};
    (void)state;

    expect_line(lk_form_entry(&entry, false),
                "{\"path\":\"db\",\"ticket\":3,\"state\":\"waiting\",\"mode\":\"shared\","
                "\"units\":1,\"owner\":\"ana\",\"ttl_ms\":0,\"expires_in_ms\":0,\"age_ms\":0}");
    expect_line(lk_form_entry(&entry, true),
                "{\"path\":\"db\",\"ticket\":3,\"state\":\"waiting\",\"mode\":\"shared\","
                "\"units\":1,\"owner\":\"ana\",\"ttl_ms\":0,\"expires_in_ms\":0,\"age_ms\":0,"
                "\"blockers\":[{\"path\":\"db\",\"owner\":\"ana\",\"ticket\":5,\"state\":\"held\","
                "\"note\":\"nightly\",\"expires_in_ms\":900}]}");
}

static void a_break_is_on_record(void **state) {
    lk_audit_entry entry = {.at_unix_ms = 1795262400000,
                            .by = "root@h",
                            .reason = "gone",
                            .path = "db",
                            .owner = "ana",
                            .ticket = 3,
                            .token = 4,
                            .held = true};
    (void)state;

    expect_line(lk_form_audit_entry(&entry),
                "{\"at_ms\":1795262400000,\"by\":\"root@h\",\"reason\":\"gone\",\"path\":\"db\","
                "\"owner\":\"ana\",\"ticket\":3,\"token\":4,\"state\":\"held\"}");
    entry.held = false;
    entry.token = 0;
    entry.note = "why";
    expect_line(lk_form_audit_entry(&entry),
                "{\"at_ms\":1795262400000,\"by\":\"root@h\",\"reason\":\"gone\",\"path\":\"db\","
                "\"owner\":\"ana\",\"ticket\":3,\"state\":\"waiting\",\"note\":\"why\"}");
    expect_line(lk_form_broken(0), "{\"status\":\"ok\",\"broken\":0}");
}

static void a_report_s_lines_are_fields(void **state) {
    lk_report report = {.text = "store: sqlite:/a b.db\nformat: 1\n\nalone\n",
                        .warnings = "mind: this\nand that",
                        .round_trip_us = 12,
                        .clock_offset_us = -3};
    (void)state;

    expect_line(lk_form_report(&report),
                "{\"status\":\"ok\",\"report\":{\"store\":\"sqlite:/a b.db\",\"format\":\"1\","
                "\"alone\":\"alone\"},\"warnings\":[\"mind: this\",\"and that\"],"
                "\"round_trip_us\":12,\"clock_offset_us\":-3}");
}

static void text_that_is_none_can_still_be_told(void **state) {
    (void)state;

    expect_line(lk_form_failure(LK_INVALID, "a\xFF\xC3\xA9\xE2\x82\n\""),
                "{\"status\":\"invalid\",\"error\":\"a\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD"
                "\\n\\\"\"}");
}

/* ---- exhausted memory ---------------------------------------------------------------------- */

static long allocations_left;

static void *allocate_while_it_lasts(size_t size) {
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

static void exhausted_memory_fails_as_a_whole(void **state) {
    lk_result result = asked(LK_BUSY);
    long needed = 0;
    bool whole = false;
    (void)state;

    result.blockers = blockers;
    result.blocker_count = 2;
    json_set_alloc_funcs(allocate_while_it_lasts, free);
    for (; !whole; needed++) {
        allocations_left = needed;
        json_t *object = lk_form_result(&result);
        whole = object != NULL;
        json_decref(object);
    }
    json_set_alloc_funcs(malloc, free);
    assert_true(needed > 20); /* each field is at least one allocation */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(granted_has_all_that_a_lease_has),
        cmocka_unit_test(granted_with_a_fixed_end_has_no_ttl),
        cmocka_unit_test(waiting_has_no_token_and_names_blockers),
        cmocka_unit_test(a_refused_try_left_nothing),
        cmocka_unit_test(deadlock_names_its_cycle),
        cmocka_unit_test(renewed_and_released_are_ok),
        cmocka_unit_test(lost_says_so_and_little_else),
        cmocka_unit_test(a_failure_always_has_a_text),
        cmocka_unit_test(entries_hold_what_their_mode_has),
        cmocka_unit_test(a_waiting_entry_names_blockers_in_show_only),
        cmocka_unit_test(a_break_is_on_record),
        cmocka_unit_test(a_report_s_lines_are_fields),
        cmocka_unit_test(text_that_is_none_can_still_be_told),
        cmocka_unit_test(exhausted_memory_fails_as_a_whole),
    };
    return cmocka_run_group_tests_name("form", tests, NULL, NULL);
}
