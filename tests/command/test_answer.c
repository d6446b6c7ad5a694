/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: what a model says, written in RESP 2, RESP 3 and JSON; failures, pages and cursors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "command/answer.h"

enum { WORDS_MAX = 16, TEXT_BYTES_MAX = 65536 };

/* A model with a clock of its own, and what the last command came to. */
struct world {
    struct lk_model *model;
    struct lk_times times;
    struct lk_draft draft;
    struct lk_call call;
    struct lk_reply_context context;
    lk_audit audit;
    char output[TEXT_BYTES_MAX];
};

static int begin(void **state) {
    static struct world world;

    world.model = lk_model_new(&(struct lk_model_config){.hash_seed = 1});
    world.times = (struct lk_times){.now_us = 1000000, .wall_us = 5000000};
    *state = &world;
    return world.model == NULL;
}

static int end(void **state) {
    struct world *world = *state;

    lk_model_free(world->model);
    return 0;
}

/* Carries the call out as the core would, and gives its answer. */
static const struct lk_answer *carry_out(struct world *world) {
    struct lk_command tick = {.kind = LK_COMMAND_TICK};
    struct lk_command *command = world->call.kind == LK_CALL_COMMAND ? &world->call.command : &tick;

    command->times = world->times;
    return &lk_model_step(world->model, command)->answer;
}

static void tell(struct world *world, const char *line, struct lk_form_writer writer,
                 struct lk_buffer *out) {
    char text[256];
    struct lk_slice words[WORDS_MAX];
    size_t count = 0;
    lk_error error;
    struct lk_reply reply = {.model = world->model, .times = &world->times, .audit = &world->audit};

    (void)snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        words[count++] = lk_slice_of(word);
    }
    lk_draft_begin(&world->draft, lk_command_find(words[0]));
    assert_int_equal(lk_draft_read_words(&world->draft, words + 1, count - 1, &error), LK_OK);
    assert_int_equal(lk_draft_parse(&world->draft, &world->call, &error), LK_OK);
    lk_reply_context_fill(&world->context, &world->draft, &world->call);
    reply.answer = carry_out(world);
    /* As when it has blocked: the copy is all that is left. */
    struct lk_reply_context *copy = lk_reply_context_copy(&world->context);
    assert_non_null(copy);
    memset(&world->context, 0x5a, sizeof world->context);
    (void)lk_answer_write(copy, &reply, &writer);
    free(copy);
    assert_false(lk_form_writer_failed(&writer));
    assert_in_range(out->size, 1, sizeof world->output - 1);
    memcpy(world->output, out->bytes, out->size);
    world->output[out->size] = '\0';
    lk_buffer_done(out);
}

static const char *in_json(struct world *world, const char *line) {
    struct lk_buffer out = {.max = 0};

    tell(world, line, lk_form_writer_json(&out), &out);
    return world->output;
}

static const char *in_resp(struct world *world, int version, const char *line) {
    struct lk_buffer out = {.max = 0};

    tell(world, line, lk_form_writer_resp(&out, version), &out);
    return world->output;
}

static void test_results(void **state) {
    struct world *world = *state;

    assert_string_equal(in_json(world, "ACQUIRE db/t1 OWNER a TTL 60000"),
                        "{\"status\":\"granted\",\"paths\":[\"db/t1\"],\"owner\":\"a\","
                        "\"ticket\":5000000,\"token\":5000000,\"ttl_ms\":60000,"
                        "\"expires_in_ms\":60000,\"in_use\":0,\"position\":0,\"created\":true}");
    assert_string_equal(in_resp(world, 3, "ACQUIRE db OWNER b BLOCKERS 0"),
                        "%6\r\n$6\r\nstatus\r\n$4\r\nbusy\r\n$5\r\npaths\r\n*1\r\n$2\r\ndb\r\n"
                        "$5\r\nowner\r\n$1\r\nb\r\n$6\r\nin_use\r\n:0\r\n"
                        "$8\r\nposition\r\n:0\r\n$5\r\nerror\r\n$38\r\n"
                        "not granted: another request blocks it\r\n");
}

/* Outcomes that are no state of affairs are errors in RESP, unless a map is asked for. */
static void test_failures(void **state) {
    struct world *world = *state;

    assert_memory_equal(in_resp(world, 3, "RELEASE x OWNER a"), "-LOST ", 6);
    assert_memory_equal(in_resp(world, 3, "RELEASE x OWNER a META"), "%4\r\n$6\r\nstatus\r\n", 16);
    assert_memory_equal(in_resp(world, 2, "ACQUIRE x OWNER a TTL 1"), "-INVALID ", 9);
    assert_memory_equal(in_json(world, "RELEASE x OWNER a"), "{\"status\":\"lost\",", 17);
    (void)in_resp(world, 2, "ACQUIRE x OWNER a");
    assert_string_equal(in_resp(world, 2, "RELEASE x OWNER a"), "+OK\r\n");
    (void)in_resp(world, 2, "ACQUIRE x OWNER a");
    assert_memory_equal(in_resp(world, 2, "PUT x v OWNER b"), "-BUSY ", 6);
}

static void test_values(void **state) {
    struct world *world = *state;

    assert_string_equal(in_resp(world, 2, "GET x"), "$-1\r\n");
    assert_string_equal(in_resp(world, 3, "GET x META"), "_\r\n");
    assert_string_equal(in_json(world, "GET x"),
                        "{\"status\":\"none\",\"error\":\"nothing there\"}");
    assert_string_equal(in_resp(world, 2, "PUT x \xff"), "+OK\r\n");
    assert_string_equal(in_resp(world, 2, "GET x"), "$1\r\n\xff\r\n");
    assert_string_equal(in_json(world, "GET x"),
                        "{\"status\":\"ok\",\"path\":\"x\",\"value_base64\":\"/w==\","
                        "\"in_doubt\":false}");
    assert_string_equal(in_resp(world, 3, "GET x META"),
                        "%4\r\n$6\r\nstatus\r\n$2\r\nok\r\n$4\r\npath\r\n$1\r\nx\r\n"
                        "$5\r\nvalue\r\n$1\r\n\xff\r\n$8\r\nin_doubt\r\n#f\r\n");
}

static void test_items(void **state) {
    struct world *world = *state;

    assert_string_equal(in_resp(world, 2, "PUSH q 1"), ":1\r\n");
    assert_string_equal(in_resp(world, 2, "PUSH q 1"), ":0\r\n");
    assert_string_equal(in_json(world, "PUSH q 1"),
                        "{\"status\":\"ok\",\"added\":false,\"changed\":false,\"was\":\"ready\"}");
    assert_string_equal(in_resp(world, 2, "PUSH q 1 AGAIN"), ":2\r\n");
    assert_string_equal(in_json(world, "ITEMS q"),
                        "{\"status\":\"ok\",\"cursor\":\"0\",\"items\":[{\"queue\":\"q\","
                        "\"id\":\"1\",\"state\":\"ready\",\"attempts\":0}]}");
    assert_memory_equal(in_resp(world, 3, "STATS q"), "%15\r\n", 5);
}

static size_t count_of(const char *text, const char *piece) {
    size_t count = 0;

    for (const char *at = strstr(text, piece); at != NULL; at = strstr(at + 1, piece)) {
        count++;
    }
    return count;
}

/* Read page by page, everything is there once, in the order of the tickets; at every page size. */
static void test_pages(void **state) {
    enum { REQUESTS = 23 };
    struct world *world = *state;
    char line[128];

    for (int i = 0; i < REQUESTS; i++) {
        /* Roots of their own: tickets that are equal, and ids that are not. */
        (void)snprintf(line, sizeof line, "ACQUIRE r%02d/x OWNER o", i);
        world->times.wall_us += i % 3 == 0 ? 1 : 0;
        (void)in_resp(world, 2, line);
    }
    for (int size = 1; size <= REQUESTS + 1; size++) {
        char cursor[64] = "0";
        int seen = 0;
        do {
            const char *output;
            (void)snprintf(line, sizeof line, "LIST COUNT %d CURSOR %s", size, cursor);
            output = in_json(world, line);
            assert_in_range(count_of(output, "\"path\":"), seen < REQUESTS ? 1 : 0, size);
            for (int i = 0; i < size && seen < REQUESTS; i++, seen++) {
                (void)snprintf(line, sizeof line, "\"path\":\"r%02d/x\"", seen);
                assert_int_equal(count_of(output, line), 1);
            }
            assert_int_equal(sscanf(output, "{\"status\":\"ok\",\"cursor\":\"%63[0-9.]", cursor),
                             1);
        } while (strcmp(cursor, "0") != 0);
        assert_int_equal(seen, REQUESTS);
    }
    assert_memory_equal(in_resp(world, 2, "LIST r05"), "*2\r\n$1\r\n0\r\n*1\r\n*", 16);
}

static void test_bad_cursors(void **state) {
    static const char *const bad[] = {"x", "-1", "1.", ".1", "1.x", "1.2.3", "1.-2"};
    struct world *world = *state;
    lk_error error;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        lk_draft_begin(&world->draft, lk_command_find(lk_slice_of("LIST")));
        world->draft.cursor = lk_slice_of(bad[i]);
        assert_int_equal(lk_draft_parse(&world->draft, &world->call, &error), LK_INVALID);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_results, begin, end),
        cmocka_unit_test_setup_teardown(test_failures, begin, end),
        cmocka_unit_test_setup_teardown(test_values, begin, end),
        cmocka_unit_test_setup_teardown(test_items, begin, end),
        cmocka_unit_test_setup_teardown(test_pages, begin, end),
        cmocka_unit_test_setup_teardown(test_bad_cursors, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
