/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands: the table of them, found by name and by route, and complete; wishes from words and from
 * JSON: what they become, and what is refused, with which sentence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "command/command.h"
#include "command/draft.h"

/* ---- the table ------------------------------------------------------------------------------- */

static const struct lk_command_spec *route(const char *method, const char *path, const char *rest,
                                           bool is_known) {
    struct lk_slice ret_rest = {.size = 0};
    bool ret_is_known;
    const struct lk_command_spec *command =
        lk_command_find_route(lk_slice_of(method), lk_slice_of(path), &ret_rest, &ret_is_known);

    assert_int_equal(ret_is_known, is_known);
    assert_true(command == NULL || lk_slice_equal(ret_rest, lk_slice_of(rest)));
    return command;
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal(lk_command_find(lk_slice_of("acquire"))->name, "ACQUIRE");
    assert_string_equal(lk_command_find(lk_slice_of("DeL"))->name, "DEL");
    assert_null(lk_command_find(lk_slice_of("ACQUIR")));
    assert_null(lk_command_find(lk_slice_of("ACQUIRES")));
    assert_null(lk_command_find(lk_slice_of("")));
}

static void test_routes(void **state) {
    (void)state;
    assert_string_equal(route("POST", "/v1/acquire", "", true)->name, "ACQUIRE");
    assert_string_equal(route("GET", "/v1/requests", "", true)->name, "LIST");
    assert_string_equal(route("GET", "/v1/requests/db/t1", "db/t1", true)->name, "SHOW");
    assert_string_equal(route("GET", "/v1/values/a", "a", true)->name, "GET");
    assert_string_equal(route("PUT", "/v1/values/a", "a", true)->name, "PUT");
    assert_string_equal(route("DELETE", "/v1/values/a", "a", true)->name, "DEL");
    assert_null(route("GET", "/v1/acquire", "", true));
    assert_null(route("POST", "/v1/values/a", "", true));
    assert_null(route("GET", "/v1/values/", "", false));
    assert_null(route("GET", "/v1/requestsx", "", false));
    assert_null(route("GET", "/", "", false));
}

/* Everything that is said to people is there. */
static void test_complete(void **state) {
    (void)state;
    for (size_t i = 0; i < lk_command_count; i++) {
        const struct lk_command_spec *command = &lk_command_table[i];
        assert_true(command->summary != NULL && command->summary[0] != '\0');
        assert_non_null(command->usage);
        assert_int_equal(command->usage[0] == '\0',
                         command->operands == LK_OPERANDS_NONE && command->keywords == 0);
        assert_ptr_equal(lk_command_find(lk_slice_of(command->name)), command);
        assert_true((command->method != NULL) == (command->route != NULL));
    }
}

enum { WORDS_MAX = 40 };

static struct lk_draft draft;
static struct lk_call the_call;

/* The words of a line, parted by single blanks; a blank within a word is written as '_'. */
static lk_outcome read_line(const char *line, lk_error *error) {
    static char text[1024];
    struct lk_slice words[WORDS_MAX];
    const struct lk_command_spec *command;
    size_t count = 0;
    lk_outcome outcome;

    strncpy(text, line, sizeof text - 1);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        assert_true(count < WORDS_MAX);
        words[count++] = lk_slice_of(word);
    }
    command = lk_command_find(words[0]);
    assert_non_null(command);
    assert_true(count - 1 >= lk_command_operand_count(command));
    lk_draft_begin(&draft, command);
    outcome = lk_draft_read_words(&draft, words + 1, count - 1, error);
    return outcome == LK_OK ? lk_draft_parse(&draft, &the_call, error) : outcome;
}

static const struct lk_call *call_of(const char *line) {
    lk_error error = {.text = ""};

    if (read_line(line, &error) != LK_OK) {
        fail_msg("%s: %s", line, error.text);
    }
    return &the_call;
}

static void assert_slice(struct lk_slice slice, const char *expected) {
    assert_int_equal(slice.size, strlen(expected));
    assert_memory_equal(slice.bytes, expected, slice.size);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void test_acquire(void **state) {
    const struct lk_call *call =
        call_of("acquire db/t1 ALSO pool?limit=3 owner o ttl 500 Wait 70 note n VALUE bound");

    (void)state;
    assert_true(lk_call_is(call, LK_COMMAND_ASK));
    assert_int_equal(call->command.ask.part_count, 2);
    assert_int_equal(call->command.ask.parts[1].limit, 3);
    assert_slice(call->command.ask.owner, "o");
    assert_int_equal(call->command.ask.ttl_ms, 500);
    assert_int_equal(call->command.ask.style, LK_WAIT);
    assert_int_equal(call->wait_ms, 70);
    assert_true(call->command.ask.note_given);
    assert_true(call->command.ask.wants_value);
    assert_true(call->is_bound);
    assert_int_equal(call->command.ask.blockers_max, LK_BLOCKERS_DEFAULT);
}

static void test_styles(void **state) {
    (void)state;
    assert_int_equal(call_of("ACQUIRE a")->command.ask.style, LK_TRY);
    assert_int_equal(call_of("ACQUIRE a TRY")->command.ask.style, LK_TRY);
    assert_int_equal(call_of("ACQUIRE a QUEUE")->command.ask.style, LK_QUEUE);
    assert_int_equal(call_of("ACQUIRE a WAIT 0")->command.ask.style, LK_TRY);
    assert_int_equal(call_of("ACQUIRE a WAIT 1")->command.ask.style, LK_WAIT);
    assert_int_equal(call_of("CLAIM q")->wait_ms, 0);
    assert_int_equal(call_of("CLAIM q WAIT 5")->wait_ms, 5);
    assert_int_equal(call_of("ACQUIRE a UNTIL 5000")->command.ask.until_us, 5000000);
}

/* An operand may look like a keyword; a prefix that does is distinguished by its slash. */
static void test_operands(void **state) {
    const struct lk_call *call = call_of("ACQUIRE TRY TRY");

    (void)state;
    assert_slice((struct lk_slice){call->command.ask.parts[0].path.bytes,
                                   call->command.ask.parts[0].path.size},
                 "TRY");
    assert_false(call_of("LIST")->selection.has_path);
    assert_false(call_of("LIST COUNT 5")->selection.has_path);
    assert_true(call_of("LIST /COUNT COUNT 5")->selection.has_path);
    assert_int_equal(draft.count, 5);
    assert_slice(call_of("PUT x v")->command.put.bytes, "v");
    assert_false(the_call.command.put.deletes);
    assert_true(call_of("DEL x")->command.put.deletes);
    assert_int_equal(call_of("DONE q 7")->command.finish.kind, LK_FINISH_DONE);
    assert_slice(call_of("RETRY q 7 DELAY 9")->command.finish.id, "7");
    assert_int_equal(the_call.command.finish.kind, LK_FINISH_RETRY);
    assert_int_equal(the_call.command.finish.delay_ms, 9);
    call = call_of("PUSH q 7 VALUE v NEEDS a NEEDS b?limit=2");
    assert_int_equal(call->command.push.need_count, 2);
    assert_int_equal(call->command.push.needs[1].limit, 2);
    assert_int_equal(call->command.push.kind, LK_PUSH_NEW);
    assert_int_equal(call_of("PUSH q 7 AGAIN")->command.push.kind, LK_PUSH_AGAIN);
    assert_int_equal(call_of("PUSH q 7 REPLACE META")->command.push.kind, LK_PUSH_REPLACE);
}

static void test_refused_words(void **state) {
    static const struct {
        const char *line;
        const char *why;
    } refused[] = {
        {"ACQUIRE a FOO", "ACQUIRE does not know the word \"FOO\""},
        {"ACQUIRE a TTL", "nothing follows TTL"},
        {"PUSH q 7 AGAIN REPLACE", "R16"},
        {"ACQUIRE a TTL x", "TTL must be a whole number"},
        {"ACQUIRE a TTL 0", "TTL must be from 1 to"},
        {"ACQUIRE a TTL -1", "TTL must be from 1 to"},
        {"ACQUIRE a TTL 99999999999999999999", "TTL must be a whole number"},
        {"ACQUIRE a TTL 5 TTL 5", "TTL is given twice"},
        {"ACQUIRE a TRY WAIT 5", "R10"},
        {"ACQUIRE a WAIT 5 WAIT 5", "R10"},
        {"ACQUIRE a TTL 5 UNTIL 5", "R11"},
        {"ACQUIRE a//b", "R1"},
        {"ACQUIRE a?limit=0", "R2"},
        {"ACQUIRE a ALSO b ALSO c ALSO d ALSO e ALSO f ALSO g ALSO h ALSO i ALSO j ALSO k ALSO l "
         "ALSO m ALSO n ALSO o ALSO p ALSO q",
         "R2"},
        {"RENEW a TOKEN 0", "TOKEN must be from 1 to"},
        {"RELEASE a ALSO b PUT 1 PUT 2 PUT 3", "R15: 3 values for 2 paths"},
        {"RENEW a WAIT 5", "RENEW does not know the word"},
        {"BREAK a", "R12"},
        {"CLAIM q QUEUE", "CLAIM does not know the word"},
        {"LIST COUNT 10001", "COUNT must be from 1 to 10000"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        lk_error error = {.text = ""};
        assert_int_equal(read_line(refused[i].line, &error), LK_INVALID);
        if (strstr(error.text, refused[i].why) == NULL) {
            fail_msg("%s: %s", refused[i].line, error.text);
        }
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static lk_outcome read_json(const char *name, const char *json, struct lk_draft_body **ret_body,
                            lk_error *error) {
    lk_outcome outcome;

    lk_draft_begin(&draft, lk_command_find(lk_slice_of(name)));
    outcome = lk_draft_read_json(&draft, lk_slice_of(json), ret_body, error);
    return outcome == LK_OK ? lk_draft_parse(&draft, &the_call, error) : outcome;
}

static struct lk_draft_body *understand_json(const char *name, const char *json) {
    struct lk_draft_body *body;
    lk_error error = {.text = ""};

    if (read_json(name, json, &body, &error) != LK_OK) {
        fail_msg("%s: %s", json, error.text);
    }
    return body;
}

static void test_json(void **state) {
    const struct lk_call *call = &the_call;
    struct lk_draft_body *body = understand_json(
        "ACQUIRE", "{\"parts\":[\"db/t1\",\"p?limit=2\"],\"owner\":\"b17\",\"ttl\":\"60s\","
                   "\"mode\":\"wait\",\"wait\":\"10m\",\"note\":\"\",\"value\":true}");

    (void)state;
    assert_int_equal(call->command.ask.part_count, 2);
    assert_slice(call->command.ask.owner, "b17");
    assert_int_equal(call->command.ask.ttl_ms, 60000);
    assert_int_equal(call->wait_ms, 600000);
    assert_int_equal(call->command.ask.style, LK_WAIT);
    assert_true(call->command.ask.note_given);
    assert_true(call->command.ask.wants_value);
    lk_draft_body_free(body);

    body = understand_json("ACQUIRE", "{\"paths\":[\"a\"],\"ttl_ms\":70,\"shared\":true,"
                                      "\"limit\":4,\"units\":2}");
    assert_int_equal(call->command.ask.style, LK_TRY);
    assert_int_equal(call->command.ask.ttl_ms, 70);
    assert_int_equal(call->command.ask.parts[0].units, 2);
    lk_draft_body_free(body);

    body = understand_json("ACQUIRE", "{\"parts\":[\"a\"],\"mode\":\"wait\"}");
    assert_true(call->wait_ms == LK_NEVER);
    lk_draft_body_free(body);

    body = understand_json("ACQUIRE", "{\"parts\":[\"a\"],\"wait_ms\":5}");
    assert_int_equal(call->command.ask.style, LK_WAIT);
    lk_draft_body_free(body);

    body =
        understand_json("RELEASE", "{\"parts\":[\"a\"],\"owner\":\"o\",\"put_base64\":\"AAH/\"}");
    assert_int_equal(call->command.release.put_count, 1);
    assert_int_equal(call->command.release.puts[0].bytes.size, 3);
    assert_memory_equal(call->command.release.puts[0].bytes.bytes, "\0\1\377", 3);
    lk_draft_body_free(body);

    body = understand_json("RELEASE", "{\"parts\":[\"a\",\"b\",\"c\"],\"puts\":[\"one\",\"\"]}");
    assert_int_equal(call->command.release.put_count, 2);
    assert_int_equal(call->command.release.puts[0].bytes.size, 3);
    assert_int_equal(call->command.release.puts[1].part, 1);
    assert_int_equal(call->command.release.puts[1].bytes.size, 0);
    lk_draft_body_free(body);

    body =
        understand_json("RELEASE", "{\"parts\":[\"a\",\"b\"],\"put_base64\":[\"AAH/\",\"/w==\"]}");
    assert_int_equal(call->command.release.put_count, 2);
    assert_memory_equal(call->command.release.puts[1].bytes.bytes, "\377", 1);
    lk_draft_body_free(body);

    body = understand_json("PUSH", "{\"queue\":\"q\",\"id\":\"1\",\"value\":\"a\\u0000b\","
                                   "\"delay\":\"1.5s\",\"needs\":[\"x\"]}");
    assert_int_equal(call->command.push.value.size, 3);
    assert_int_equal(call->command.push.delay_ms, 1500);
    assert_int_equal(call->command.push.need_count, 1);
    lk_draft_body_free(body);
}

static void test_refused_json(void **state) {
    static const struct {
        const char *name;
        const char *json;
        const char *why;
    } refused[] = {
        {"ACQUIRE", "", "not JSON"},
        {"ACQUIRE", "[]", "must be a JSON object"},
        {"ACQUIRE", "{}", "R2"},
        {"ACQUIRE", "{\"parts\":[]}", "R2"},
        {"ACQUIRE", "{\"parts\":\"a\"}", "\"parts\" must be an array of texts"},
        {"ACQUIRE", "{\"parts\":[1]}", "\"parts\" must be an array of texts"},
        {"ACQUIRE", "{\"parts\":[\"a\"],\"tll\":\"1s\"}", "has no field \"tll\""},
        {"ACQUIRE", "{\"parts\":[\"a\"],\"parts\":[\"b\"]}", "not JSON"},
        {"ACQUIRE", "{\"parts\":[\"a\"],\"ttl\":\"1s\",\"ttl_ms\":5}", "\"ttl_ms\" is given twice"},
        {"ACQUIRE", "{\"parts\":[\"a\"],\"ttl\":\"soon\"}", "is not a duration"},
        {"ACQUIRE", "{\"parts\":[\"a\"],\"ttl\":1.5}", "milliseconds"},
        {"ACQUIRE", "{\"parts\":[\"a\"],\"mode\":\"now\"}", "R10"},
        {"ACQUIRE", "{\"parts\":[\"a\"],\"mode\":\"try\",\"wait\":\"1s\"}", "R10"},
        {"ACQUIRE", "{\"parts\":[\"a\"],\"owner\":7}", "\"owner\" must be a text"},
        {"ACQUIRE", "{\"parts\":[\"a\"],\"value\":1}", "true or false"},
        {"RELEASE", "{\"parts\":[\"a\"],\"put_base64\":\"A\"}", "must be a text in base64"},
        {"RELEASE", "{\"parts\":[\"a\"],\"put\":\"x\",\"put_base64\":\"AAH/\"}", "given twice"},
        {"RELEASE", "{\"parts\":[\"a\"],\"put\":\"x\",\"puts\":[\"y\"]}", "given twice"},
        {"RELEASE", "{\"parts\":[\"a\"],\"puts\":[\"x\",\"y\"]}", "R15: 2 values for 1 paths"},
        {"RELEASE", "{\"parts\":[\"a\"],\"puts\":[5]}", "must be an array of texts"},
        {"RELEASE", "{\"parts\":[\"a\"],\"puts_base64\":[\"A\"]}", "must be a text in base64"},
        {"CLAIM", "{\"queue\":\"q\",\"mode\":\"queue\"}", "R10"},
        {"CLAIM", "{}", "\"queue\" is missing"},
        {"DONE", "{\"queue\":\"q\"}", "\"id\" is missing"},
        {"BREAK", "{\"reason\":\"x\"}", "\"path\" is missing"},
        {"BREAK", "{\"path\":\"x\"}", "R12"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct lk_draft_body *body;
        lk_error error = {.text = ""};
        assert_int_equal(read_json(refused[i].name, refused[i].json, &body, &error), LK_INVALID);
        lk_draft_body_free(body);
        if (strstr(error.text, refused[i].why) == NULL) {
            fail_msg("%s: %s", refused[i].json, error.text);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),         cmocka_unit_test(test_routes),
        cmocka_unit_test(test_complete),      cmocka_unit_test(test_acquire),
        cmocka_unit_test(test_styles),        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_refused_words), cmocka_unit_test(test_json),
        cmocka_unit_test(test_refused_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
