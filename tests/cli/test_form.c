/* SPDX-License-Identifier: Apache-2.0 */
/* Records as JSON, letter by letter: names, order, and what is absent when. */
#include <stdlib.h>
#include <string.h>

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
    entry.revoked = true;
    expect_line(lk_form_entry(&entry, true),
                "{\"path\":\"db\",\"ticket\":3,\"token\":4,\"state\":\"held\","
                "\"revoked\":true,\"mode\":\"shared\","
                "\"limit\":10,\"units\":2,\"owner\":\"ana\",\"note\":\"why\",\"ttl_ms\":60000,"
                "\"expires_in_ms\":10,\"age_ms\":59990}");
}

static void a_waiting_entry_names_blockers_in_show_only(void **state) {
    lk_entry entry = {.path = "db",
                      .owner = "ana",
                      .ticket = 3,
                      .shared = true,
                      .units = 1,
                      .position = 3,
                      .blockers = blockers,
                      .blocker_count = 1};
    (void)state;

    expect_line(lk_form_entry(&entry, false),
                "{\"path\":\"db\",\"ticket\":3,\"state\":\"waiting\",\"mode\":\"shared\","
                "\"units\":1,\"owner\":\"ana\",\"ttl_ms\":0,\"expires_in_ms\":0,\"age_ms\":0}");
    expect_line(lk_form_entry(&entry, true),
                "{\"path\":\"db\",\"ticket\":3,\"state\":\"waiting\",\"mode\":\"shared\","
                "\"units\":1,\"owner\":\"ana\",\"ttl_ms\":0,\"expires_in_ms\":0,\"age_ms\":0,"
                "\"position\":3,"
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

static void a_value_comes_as_text_or_as_base64(void **state) {
    lk_value value = {.bytes = "a\0\"", .size = 3};
    lk_result result = asked(LK_GRANTED);
    (void)state;

    expect_line(lk_form_value("db/t1", &value), "{\"status\":\"ok\",\"path\":\"db/t1\","
                                                "\"value\":\"a\\u0000\\\"\",\"in_doubt\":false}");
    value = (lk_value){.bytes = "", .size = 0, .in_doubt = true};
    expect_line(lk_form_value("x", &value),
                "{\"status\":\"ok\",\"path\":\"x\",\"value\":\"\",\"in_doubt\":true}");
    result.value = "\xFF";
    result.value_size = 1;
    result.in_doubt = true;
    expect_line(lk_form_result(&result),
                "{\"status\":\"granted\",\"paths\":[\"db/t1\"],\"owner\":\"cleo\",\"in_use\":0,"
                "\"position\":0,\"value_base64\":\"/w==\",\"in_doubt\":true}");
}

static void base64_is_filled_up(void **state) {
    static const struct {
        const char *bytes;
        const char *text;
    } known[] = {{"\xFF", "/w=="},
                 {"\xFF\xFE", "//4="},
                 {"\xFF\xFE\xFD", "//79"},
                 {"\xFB"
                  "abc",
                  "+2FiYw=="}};
    (void)state;

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        lk_value value = {.bytes = (char *)known[i].bytes, .size = strlen(known[i].bytes)};
        json_t *object = lk_form_value("x", &value);
        assert_string_equal(json_string_value(json_object_get(object, "value_base64")),
                            known[i].text);
        json_decref(object);
    }
}

static void a_claim_has_a_value_where_the_item_has_one(void **state) {
    lk_claim_info claim = {.queue = "q",
                           .id = "1",
                           .owner = "ana",
                           .token = 7,
                           .attempt = 2,
                           .ttl_ms = 60000,
                           .expires_in_ms = 59999};
    (void)state;

    expect_line(lk_form_claim(&claim),
                "{\"status\":\"granted\",\"queue\":\"q\",\"id\":\"1\",\"attempt\":2,\"token\":7,"
                "\"owner\":\"ana\",\"expires_in_ms\":59999}");
    claim.value = "v";
    claim.value_size = 1;
    claim.is_stolen = true;
    expect_line(
        lk_form_claim(&claim),
        "{\"status\":\"granted\",\"queue\":\"q\",\"id\":\"1\",\"value\":\"v\",\"attempt\":2,"
        "\"stolen\":true,\"token\":7,\"owner\":\"ana\",\"expires_in_ms\":59999}");
    expect_line(lk_form_pushed(true), "{\"status\":\"ok\",\"added\":true}");
    expect_line(lk_form_pushed(false), "{\"status\":\"ok\",\"added\":false}");
}

static void an_item_has_what_its_state_has(void **state) {
    char *needs[] = {"pool?limit=3"};
    lk_item_info item = {
        .id = "1", .state = "ready", .attempts = 1, .due_in_ms = -1, .expires_in_ms = -1};
    (void)state;

    expect_line(lk_form_item("q", &item),
                "{\"queue\":\"q\",\"id\":\"1\",\"state\":\"ready\",\"attempts\":1}");
    item.state = "delayed";
    item.due_in_ms = 0;
    item.needs = needs;
    item.need_count = 1;
    item.value = "v";
    item.value_size = 1;
    expect_line(
        lk_form_item("q", &item),
        "{\"queue\":\"q\",\"id\":\"1\",\"state\":\"delayed\",\"attempts\":1,\"due_in_ms\":0,"
        "\"value\":\"v\",\"needs\":[\"pool?limit=3\"]}");
    item = (lk_item_info){.id = "1",
                          .owner = "ana",
                          .state = "claimed",
                          .attempts = 1,
                          .due_in_ms = -1,
                          .expires_in_ms = 5};
    expect_line(lk_form_item("q", &item), "{\"queue\":\"q\",\"id\":\"1\",\"state\":\"claimed\","
                                          "\"attempts\":1,\"owner\":\"ana\",\"expires_in_ms\":5}");
}

static void counts_come_by_name(void **state) {
    lk_queue_stats stats = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    (void)state;

    expect_line(lk_form_stats("q", &stats),
                "{\"status\":\"ok\",\"queue\":\"q\",\"pushed\":1,\"duplicates\":2,\"claims\":3,"
                "\"steals\":4,\"done\":5,\"retried\":6,\"parked\":7,\"ready_now\":8,"
                "\"delayed_now\":9,\"claimed_now\":10,\"parked_now\":11}");
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
        cmocka_unit_test(a_value_comes_as_text_or_as_base64),
        cmocka_unit_test(base64_is_filled_up),
        cmocka_unit_test(a_claim_has_a_value_where_the_item_has_one),
        cmocka_unit_test(an_item_has_what_its_state_has),
        cmocka_unit_test(counts_come_by_name),
        cmocka_unit_test(a_report_s_lines_are_fields),
        cmocka_unit_test(text_that_is_none_can_still_be_told),
        cmocka_unit_test(exhausted_memory_fails_as_a_whole),
    };
    return cmocka_run_group_tests_name("form", tests, NULL, NULL);
}
