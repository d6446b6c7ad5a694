/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of JSON, and queries, at the HTTP listener. The first byte chooses the command. A body is
 * understood, or refused with a sentence, and what is answered to that is JSON.
 */
#include <jansson.h>
#include <string.h>

#include "command/answer.h"
#include "target.h"

static void check_refusal(lk_outcome outcome, const lk_error *error) {
    struct lk_buffer out = {.max = 0};
    struct lk_form_writer writer = lk_form_writer_json(&out);
    json_t *again;

    FUZZ_DEMAND(outcome == LK_INVALID && error->text[0] != '\0');
    lk_answer_write_failure(&writer, outcome, error->text);
    again = json_loadb(out.bytes, out.size, JSON_REJECT_DUPLICATES, NULL);
    FUZZ_DEMAND(again != NULL);
    json_decref(again);
    lk_buffer_done(&out);
}

static lk_outcome understand(struct lk_draft *draft, lk_error *error) {
    static struct lk_call call;
    static struct lk_reply_context context;
    lk_outcome outcome = lk_draft_parse(draft, &call, error);

    if (outcome == LK_OK) {
        lk_reply_context_fill(&context, draft, &call);
    }
    return outcome;
}

static void read_body(const struct lk_command_spec *command, struct lk_slice json) {
    struct lk_draft draft;
    struct lk_draft_body *body;
    lk_error error = {.text = ""};
    lk_outcome outcome;

    lk_draft_begin(&draft, command);
    outcome = lk_draft_read_json(&draft, json, &body, &error);
    if (outcome == LK_OK) {
        outcome = understand(&draft, &error);
    }
    if (outcome != LK_OK) {
        check_refusal(outcome, &error);
    }
    lk_draft_body_free(body);
}

/* NAME=VALUE, as the query of a route whose path is given. */
static void read_query(const struct lk_command_spec *command, struct lk_slice query) {
    const char *equals = query.size > 0 ? memchr(query.bytes, '=', query.size) : NULL;
    struct lk_draft draft;
    lk_error error = {.text = ""};
    lk_outcome outcome;

    if (equals == NULL) {
        return;
    }
    lk_draft_begin(&draft, command);
    draft.has_path = true;
    draft.path = lk_slice_of("db/t1");
    outcome = lk_draft_set_text(
        &draft, (struct lk_slice){query.bytes, (size_t)(equals - query.bytes)},
        (struct lk_slice){equals + 1, query.size - 1 - (size_t)(equals - query.bytes)}, &error);
    if (outcome == LK_OK) {
        outcome = understand(&draft, &error);
    }
    if (outcome != LK_OK) {
        check_refusal(outcome, &error);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct lk_command_spec *command;
    struct lk_slice text;

    if (size == 0 || size > FUZZ_INPUT_MAX) {
        return 0;
    }
    command = &lk_command_table[data[0] % lk_command_count];
    text = (struct lk_slice){.bytes = (const char *)data + 1, .size = size - 1};
    if (command->method == NULL) {
        return 0; /* HTTP has no such command */
    }
    if (strcmp(command->method, "POST") == 0) {
        read_body(command, text);
    } else {
        read_query(command, text);
    }
    return 0;
}
