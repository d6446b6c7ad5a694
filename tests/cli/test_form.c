/* SPDX-License-Identifier: Apache-2.0 */
/* Records as JSON, letter by letter: names, order, and what is absent when. */
#include <stdio.h>
#include <string.h>

#include "form/form.h"
#include "unit.h"

static struct lk_buffer output;

/* A writer of the next line. */
static struct lk_form_writer *line(void) {
    static struct lk_form_writer writer;

    lk_buffer_done(&output);
    output = (struct lk_buffer){.max = 0};
    writer = lk_form_writer_json(&output);
    return &writer;
}

static void expect_line(const char *expected) {
    assert_false(output.failed);
    lk_buffer_add(&output, "", 1);
    assert_string_equal(output.bytes, expected);
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

static void granted_has_all_fields_of_a_lease(void **state) {
    lk_result result = asked(LK_GRANTED);
    (void)state;

    result.path_count = 2;
    result.ticket = 7;
    result.token = 8;
    result.ttl_ms = 60000;
    result.expires_in_ms = 59999;
    result.in_use = 3;
    result.created = true;
    lk_form_write_result(line(), &result);
    expect_line("{\"status\":\"granted\",\"paths\":[\"db/t1\",\"pool\"],\"owner\":\"cleo\","
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
    lk_form_write_result(line(), &result);
    expect_line("{\"status\":\"granted\",\"paths\":[\"db/t1\"],\"owner\":\"cleo\",\"ticket\":7,"
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
    lk_form_write_result(line(), &result);
    expect_line("{\"status\":\"waiting\",\"paths\":[\"db/t1\"],\"owner\":\"cleo\",\"ticket\":9,"
                "\"ttl_ms\":1000,\"expires_in_ms\":1000,\"in_use\":0,\"position\":2,"
                "\"created\":true,\"blockers\":["
                "{\"path\":\"db\",\"owner\":\"ana\",\"ticket\":5,\"state\":\"held\","
                "\"note\":\"nightly\",\"expires_in_ms\":900},"
                "{\"path\":\"db/t1\",\"owner\":\"ben\",\"ticket\":6,\"state\":\"waiting\","
                "\"expires_in_ms\":0}]}");
}

static void a_refused_try_has_no_ticket(void **state) {
    lk_result result = asked(LK_BUSY);
    (void)state;

    result.position = 1;
    result.blockers = blockers;
    result.blocker_count = 1;
    result.error = "a holder is in the way";
    lk_form_write_result(line(), &result);
    expect_line("{\"status\":\"busy\",\"paths\":[\"db/t1\"],\"owner\":\"cleo\",\"in_use\":0,"
                "\"position\":1,\"blockers\":[{\"path\":\"db\",\"owner\":\"ana\",\"ticket\":5,"
                "\"state\":\"held\",\"note\":\"nightly\",\"expires_in_ms\":900}],"
                "\"error\":\"a holder is in the way\"}");
}

static void deadlock_names_its_cycle(void **state) {
    static char *cycle[] = {"cleo", "ana"};
    lk_result result = asked(LK_DEADLOCK);
    (void)state;

    result.cycle = cycle;
    result.cycle_count = 2;
    lk_form_write_result(line(), &result);
    expect_line("{\"status\":\"deadlock\",\"paths\":[\"db/t1\"],\"owner\":\"cleo\",\"in_use\":0,"
                "\"cycle\":[\"cleo\",\"ana\"],\"error\":\"waiting would close a "
                "cycle of owners that wait for each other\"}");
}

static void renewed_and_released_are_ok(void **state) {
    lk_result result = asked(LK_OK);
    (void)state;

    result.ticket = 7;
    result.token = 7;
    result.ttl_ms = 5000;
    lk_form_write_result(line(), &result);
    expect_line("{\"status\":\"ok\",\"paths\":[\"db/t1\"],"
                "\"owner\":\"cleo\",\"ticket\":7,\"token\":7}");
    result.expires_in_ms = 5000;
    lk_form_write_result(line(), &result);
    expect_line("{\"status\":\"ok\",\"paths\":[\"db/t1\"],\"owner\":\"cleo\",\"ticket\":7,"
                "\"token\":7,\"ttl_ms\":5000,\"expires_in_ms\":5000}");
}

static void lost_has_few_fields(void **state) {
    lk_result result = asked(LK_LOST);
    (void)state;

    lk_form_write_result(line(), &result);
    expect_line("{\"status\":\"lost\",\"paths\":[\"db/t1\"],\"owner\":\"cleo\","
                "\"error\":\"not held (any more)\"}");
}

static void a_failure_always_has_a_message(void **state) {
    (void)state;

    lk_form_write_failure(line(), LK_INVALID, "no such thing");
    expect_line("{\"status\":\"invalid\",\"error\":\"no such thing\"}");
    lk_form_write_failure(line(), LK_UNAVAILABLE, "");
    expect_line("{\"status\":\"unavailable\",\"error\":\"the store cannot be reached; ask "
                "again\"}");
    lk_form_write_failure(line(), LK_BUSY, NULL);
    expect_line("{\"status\":\"busy\",\"error\":\"not granted: another request blocks it\"}");
}

static void entries_have_the_fields_of_their_mode(void **state) {
    lk_entry entry = {.path = "db",
                      .owner = "ana",
                      .ticket = 3,
                      .token = 4,
                      .held = true,
                      .ttl_ms = 60000,
                      .expires_in_ms = 10,
                      .age_ms = 59990};
    (void)state;

    lk_form_write_entry(line(), &entry, false);
    expect_line("{\"path\":\"db\",\"ticket\":3,\"token\":4,\"state\":\"held\","
                "\"mode\":\"exclusive\",\"owner\":\"ana\",\"ttl_ms\":60000,\"expires_in_ms\":10,"
                "\"age_ms\":59990}");
    entry.shared = true;
    entry.limit = 10;
    entry.units = 2;
    entry.note = "why";
    entry.revoked = true;
    lk_form_write_entry(line(), &entry, true);
    expect_line("{\"path\":\"db\",\"ticket\":3,\"token\":4,\"state\":\"held\","
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

    lk_form_write_entry(line(), &entry, false);
    expect_line("{\"path\":\"db\",\"ticket\":3,\"state\":\"waiting\",\"mode\":\"shared\","
                "\"units\":1,\"owner\":\"ana\",\"ttl_ms\":0,\"expires_in_ms\":0,\"age_ms\":0}");
    lk_form_write_entry(line(), &entry, true);
    expect_line("{\"path\":\"db\",\"ticket\":3,\"state\":\"waiting\",\"mode\":\"shared\","
                "\"units\":1,\"owner\":\"ana\",\"ttl_ms\":0,\"expires_in_ms\":0,\"age_ms\":0,"
                "\"position\":3,"
                "\"blockers\":[{\"path\":\"db\",\"owner\":\"ana\",\"ticket\":5,\"state\":\"held\","
                "\"note\":\"nightly\",\"expires_in_ms\":900}]}");
}

static void a_break_is_an_audit_record(void **state) {
    lk_audit_entry entry = {.at_unix_ms = 1795262400000,
                            .by = "root@h",
                            .reason = "gone",
                            .path = "db",
                            .owner = "ana",
                            .ticket = 3,
                            .token = 4,
                            .held = true};
    (void)state;

    lk_form_write_audit_entry(line(), &entry);
    expect_line("{\"at_ms\":1795262400000,\"by\":\"root@h\",\"reason\":\"gone\",\"path\":\"db\","
                "\"owner\":\"ana\",\"ticket\":3,\"token\":4,\"state\":\"held\"}");
    entry.held = false;
    entry.token = 0;
    entry.note = "why";
    lk_form_write_audit_entry(line(), &entry);
    expect_line("{\"at_ms\":1795262400000,\"by\":\"root@h\",\"reason\":\"gone\",\"path\":\"db\","
                "\"owner\":\"ana\",\"ticket\":3,\"state\":\"waiting\",\"note\":\"why\"}");
    lk_form_write_broken(line(), 0);
    expect_line("{\"status\":\"ok\",\"broken\":0}");
}

static void a_value_comes_as_text_or_as_base64(void **state) {
    lk_value value = {.bytes = "a\0\"", .size = 3};
    lk_result result = asked(LK_GRANTED);
    (void)state;

    lk_form_write_value(line(), "db/t1", &value);
    expect_line("{\"status\":\"ok\",\"path\":\"db/t1\","
                "\"value\":\"a\\u0000\\\"\",\"in_doubt\":false}");
    value = (lk_value){.bytes = "", .size = 0, .in_doubt = true};
    lk_form_write_value(line(), "x", &value);
    expect_line("{\"status\":\"ok\",\"path\":\"x\",\"value\":\"\",\"in_doubt\":true}");
    result.value = "\xFF";
    result.value_size = 1;
    result.in_doubt = true;
    lk_form_write_result(line(), &result);
    expect_line("{\"status\":\"granted\",\"paths\":[\"db/t1\"],\"owner\":\"cleo\",\"in_use\":0,"
                "\"position\":0,\"value_base64\":\"/w==\",\"in_doubt\":true}");
}

static void base64_is_padded(void **state) {
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
        char expected[128];
        lk_form_write_value(line(), "x", &value);
        (void)snprintf(expected, sizeof expected,
                       "{\"status\":\"ok\",\"path\":\"x\",\"value_base64\":\"%s\","
                       "\"in_doubt\":false}",
                       known[i].text);
        expect_line(expected);
    }
}

static void a_claim_has_the_value_of_its_item(void **state) {
    lk_claim_info claim = {.queue = "q",
                           .id = "1",
                           .owner = "ana",
                           .token = 7,
                           .attempt = 2,
                           .ttl_ms = 60000,
                           .expires_in_ms = 59999};
    (void)state;

    lk_form_write_claim(line(), &claim);
    expect_line("{\"status\":\"granted\",\"queue\":\"q\",\"id\":\"1\",\"attempt\":2,\"token\":7,"
                "\"owner\":\"ana\",\"expires_in_ms\":59999}");
    claim.value = "v";
    claim.value_size = 1;
    claim.is_stolen = true;
    lk_form_write_claim(line(), &claim);
    expect_line(
        "{\"status\":\"granted\",\"queue\":\"q\",\"id\":\"1\",\"value\":\"v\",\"attempt\":2,"
        "\"stolen\":true,\"token\":7,\"owner\":\"ana\",\"expires_in_ms\":59999}");
    lk_form_write_pushed(line(), &(lk_push_result){.added = true});
    expect_line("{\"status\":\"ok\",\"added\":true}");
    lk_form_write_pushed(line(), &(lk_push_result){.changed = true, .was = "claimed"});
    expect_line("{\"status\":\"ok\",\"added\":false,\"changed\":true,\"was\":\"claimed\"}");
}

static void an_item_has_the_fields_of_its_state(void **state) {
    char *needs[] = {"pool?limit=3"};
    lk_item_info item = {
        .id = "1", .state = "ready", .attempts = 1, .due_in_ms = -1, .expires_in_ms = -1};
    (void)state;

    lk_form_write_item(line(), "q", &item);
    expect_line("{\"queue\":\"q\",\"id\":\"1\",\"state\":\"ready\",\"attempts\":1}");
    item.state = "delayed";
    item.due_in_ms = 0;
    item.needs = needs;
    item.need_count = 1;
    item.value = "v";
    item.value_size = 1;
    lk_form_write_item(line(), "q", &item);
    expect_line(
        "{\"queue\":\"q\",\"id\":\"1\",\"state\":\"delayed\",\"attempts\":1,\"due_in_ms\":0,"
        "\"value\":\"v\",\"needs\":[\"pool?limit=3\"]}");
    item = (lk_item_info){.id = "1",
                          .owner = "ana",
                          .state = "claimed",
                          .attempts = 1,
                          .due_in_ms = -1,
                          .expires_in_ms = 5};
    lk_form_write_item(line(), "q", &item);
    expect_line("{\"queue\":\"q\",\"id\":\"1\",\"state\":\"claimed\","
                "\"attempts\":1,\"owner\":\"ana\",\"expires_in_ms\":5}");
}

static void counts_have_names(void **state) {
    lk_queue_stats stats = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    (void)state;

    lk_form_write_stats(line(), "q", &stats);
    expect_line("{\"status\":\"ok\",\"queue\":\"q\",\"pushed\":1,\"duplicates\":2,\"claims\":3,"
                "\"steals\":4,\"done\":5,\"retried\":6,\"parked\":7,\"ready_now\":8,"
                "\"delayed_now\":9,\"claimed_now\":10,\"parked_now\":11,\"done_now\":12,"
                "\"oldest_ready_ms\":13}");
    stats.oldest_ready_ms = -1;
    lk_form_write_stats(line(), "q", &stats);
    expect_line("{\"status\":\"ok\",\"queue\":\"q\",\"pushed\":1,\"duplicates\":2,\"claims\":3,"
                "\"steals\":4,\"done\":5,\"retried\":6,\"parked\":7,\"ready_now\":8,"
                "\"delayed_now\":9,\"claimed_now\":10,\"parked_now\":11,\"done_now\":12}");
}

static void a_report_s_lines_are_fields(void **state) {
    lk_report report = {.text = "store: sqlite:/a b.db\nformat: 1\n\nalone\n",
                        .warnings = "mind: this\nand that",
                        .round_trip_us = 12,
                        .clock_offset_us = -3};
    (void)state;

    lk_form_write_report(line(), &report);
    expect_line("{\"status\":\"ok\",\"report\":{\"store\":\"sqlite:/a b.db\",\"format\":\"1\","
                "\"alone\":\"alone\"},\"warnings\":[\"mind: this\",\"and that\"],"
                "\"round_trip_us\":12,\"clock_offset_us\":-3}");
}

static void invalid_utf8_is_escaped(void **state) {
    (void)state;

    lk_form_write_failure(line(), LK_INVALID, "a\xFF\xC3\xA9\xE2\x82\n\"");
    expect_line("{\"status\":\"invalid\",\"error\":\"a\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD"
                "\\n\\\"\"}");
}

/* ---- exhausted memory ------------------------------------------------------------------------ */

static void a_record_that_does_not_fit_fails_as_a_whole(void **state) {
    lk_result result = asked(LK_BUSY);
    struct lk_buffer whole = {.max = 0};
    struct lk_form_writer writer = lk_form_writer_json(&whole);
    (void)state;

    result.blockers = blockers;
    result.blocker_count = 2;
    lk_form_write_result(&writer, &result);
    for (size_t room = 1; room <= whole.size; room++) {
        struct lk_buffer bytes = {.max = room};
        writer = lk_form_writer_json(&bytes);
        lk_form_write_result(&writer, &result);
        assert_int_equal(lk_form_writer_failed(&writer), room < whole.size);
        lk_buffer_done(&bytes);
    }
    lk_buffer_done(&whole);
}

static void numbers_keep_their_fraction(void **state) {
    static const struct {
        double number;
        const char *text;
    } known[] = {{2, "[2.0]"}, {0.5, "[0.5]"}, {-1234.25, "[-1234.25]"}, {1e300, "[1e+300]"}};
    (void)state;

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct lk_form_writer *writer = line();
        lk_form_open_array(writer, NULL);
        lk_form_add_real(writer, NULL, known[i].number);
        lk_form_close(writer);
        expect_line(known[i].text);
    }
}

/* Of lines with the same name the last counts, in place of the first. */
static void a_report_has_each_name_once(void **state) {
    lk_report report = {.text = "a\xFF: 1\nb: 2\na\xFE: 3", .warnings = ""};
    (void)state;

    lk_form_write_report(line(), &report);
    expect_line("{\"status\":\"ok\",\"report\":{\"a\xEF\xBF\xBD\":\"3\",\"b\":\"2\"},"
                "\"warnings\":[],\"round_trip_us\":0,\"clock_offset_us\":0}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(granted_has_all_fields_of_a_lease),
        cmocka_unit_test(granted_with_a_fixed_end_has_no_ttl),
        cmocka_unit_test(waiting_has_no_token_and_names_blockers),
        cmocka_unit_test(a_refused_try_has_no_ticket),
        cmocka_unit_test(deadlock_names_its_cycle),
        cmocka_unit_test(renewed_and_released_are_ok),
        cmocka_unit_test(lost_has_few_fields),
        cmocka_unit_test(a_failure_always_has_a_message),
        cmocka_unit_test(entries_have_the_fields_of_their_mode),
        cmocka_unit_test(a_waiting_entry_names_blockers_in_show_only),
        cmocka_unit_test(a_break_is_an_audit_record),
        cmocka_unit_test(a_value_comes_as_text_or_as_base64),
        cmocka_unit_test(base64_is_padded),
        cmocka_unit_test(a_claim_has_the_value_of_its_item),
        cmocka_unit_test(an_item_has_the_fields_of_its_state),
        cmocka_unit_test(counts_have_names),
        cmocka_unit_test(a_report_s_lines_are_fields),
        cmocka_unit_test(invalid_utf8_is_escaped),
        cmocka_unit_test(a_record_that_does_not_fit_fails_as_a_whole),
        cmocka_unit_test(numbers_keep_their_fraction),
        cmocka_unit_test(a_report_has_each_name_once),
    };
    return cmocka_run_group_tests_name("form", tests, NULL, NULL);
}
