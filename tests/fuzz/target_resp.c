/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes at the RESP listener. The first byte says how the others are cut into pieces: as a stream
 * of requests they mean the same however they are cut, what is whole stays within its bytes, and a
 * command is understood or refused with a sentence. As a reply they are measured the same however
 * they are cut, and what was measured can be walked over to its end.
 */
#include <string.h>

#include "command/answer.h"
#include "target.h"
#include "wire/resp.h"

enum { REQUESTS_MAX = 64 };

static const struct lk_resp_bounds bounds = {
    .arguments_max = LK_RESP_ARGUMENTS_MAX,
    .request_bytes_max = 1024,
};

/* What a stream was taken for: where each request ended, and how the last parse did. */
struct taken {
    size_t count;
    size_t ends[REQUESTS_MAX];
    size_t argument_counts[REQUESTS_MAX];
    enum lk_resp_step last;
};

static void understand(const struct lk_resp_request *request) {
    static struct lk_draft draft;
    static struct lk_call call;
    static struct lk_reply_context context;
    const struct lk_command_spec *command = lk_command_find(request->arguments[0]);
    lk_error error = {.text = ""};
    lk_outcome outcome;

    if (command == NULL || request->argument_count - 1 < lk_command_operand_count(command)) {
        return;
    }
    lk_draft_begin(&draft, command);
    outcome =
        lk_draft_read_words(&draft, request->arguments + 1, request->argument_count - 1, &error);
    if (outcome == LK_OK) {
        outcome = lk_draft_parse(&draft, &call, &error);
    }
    FUZZ_DEMAND(outcome == LK_OK || (outcome == LK_INVALID && error.text[0] != '\0'));
    if (outcome == LK_OK) {
        lk_reply_context_fill(&context, &draft, &call);
        struct lk_reply_context *copy = lk_reply_context_copy(&context);
        FUZZ_DEMAND(copy == NULL || copy->path_count == context.path_count);
        free(copy);
    }
}

/* Whether the argument lies in the request's own bytes, or in its text. */
static void check_place(const struct lk_resp_request *request, struct lk_slice input,
                        struct lk_slice argument) {
    bool is_in_input = argument.bytes >= input.bytes
                       && argument.bytes + argument.size <= input.bytes + request->size;
    bool is_in_text = argument.bytes >= request->text
                      && argument.bytes + argument.size <= request->text + sizeof request->text;

    FUZZ_DEMAND(request->is_inline ? is_in_text : is_in_input);
}

/* Takes what is whole of the first `size` bytes, going on where `taken` has come to. */
static void take(const char *bytes, size_t size, struct taken *taken, bool is_whole) {
    static struct lk_resp_request request;

    while (taken->count < REQUESTS_MAX && taken->last != LK_RESP_BAD) {
        size_t from = taken->count > 0 ? taken->ends[taken->count - 1] : 0;
        struct lk_slice input = {.bytes = bytes + from, .size = size - from};

        taken->last = lk_resp_request_parse(input, &bounds, &request);
        if (taken->last != LK_RESP_DONE) {
            FUZZ_DEMAND(taken->last != LK_RESP_MORE || request.size > input.size);
            FUZZ_DEMAND(taken->last != LK_RESP_BAD || request.error != NULL);
            return;
        }
        FUZZ_DEMAND(request.size > 0 && request.size <= input.size);
        for (size_t i = 0; i < request.argument_count; i++) {
            check_place(&request, input, request.arguments[i]);
        }
        if (is_whole && request.argument_count > 0) {
            understand(&request);
        }
        taken->argument_counts[taken->count] = request.argument_count;
        taken->ends[taken->count++] = from + request.size;
    }
}

static void read_requests(const char *bytes, size_t size, size_t step) {
    static struct taken whole;
    static struct taken pieces;

    whole = (struct taken){.last = LK_RESP_MORE};
    pieces = (struct taken){.last = LK_RESP_MORE};
    take(bytes, size, &whole, true);
    for (size_t end = 0; end < size; end += step) {
        take(bytes, end, &pieces, false);
    }
    take(bytes, size, &pieces, false);
    FUZZ_DEMAND(whole.count == pieces.count && whole.last == pieces.last);
    FUZZ_DEMAND(memcmp(whole.ends, pieces.ends, whole.count * sizeof whole.ends[0]) == 0);
    FUZZ_DEMAND(memcmp(whole.argument_counts, pieces.argument_counts,
                       whole.count * sizeof whole.argument_counts[0])
                == 0);
}

static void read_reply(const char *bytes, size_t size, size_t step) {
    struct lk_resp_measure whole = {.size = 0};
    struct lk_resp_measure pieces = {.size = 0};
    struct lk_slice input = {.bytes = bytes, .size = size};
    enum lk_resp_step last = lk_resp_reply_measure(input, FUZZ_INPUT_MAX, &whole);
    enum lk_resp_step now = LK_RESP_MORE;

    for (size_t end = 0; end < size && now == LK_RESP_MORE; end += step) {
        now = lk_resp_reply_measure((struct lk_slice){bytes, end}, FUZZ_INPUT_MAX, &pieces);
    }
    if (now == LK_RESP_MORE) {
        now = lk_resp_reply_measure(input, FUZZ_INPUT_MAX, &pieces);
    }
    FUZZ_DEMAND(now == last);
    if (last == LK_RESP_DONE) {
        struct lk_resp_cursor walk = {.reply = {bytes, whole.size}};
        struct lk_resp_cursor skip = walk;
        struct lk_resp_value value;

        FUZZ_DEMAND(whole.size == pieces.size && whole.size <= size);
        while (lk_resp_cursor_next(&walk, &value)) {
            FUZZ_DEMAND(value.text.size == 0
                        || (value.text.bytes >= bytes
                            && value.text.bytes + value.text.size <= bytes + whole.size));
        }
        FUZZ_DEMAND(walk.at == whole.size && lk_resp_cursor_next(&skip, &value));
        lk_resp_cursor_skip(&skip, &value);
        FUZZ_DEMAND(skip.at == whole.size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *bytes;

    if (size == 0 || size > FUZZ_INPUT_MAX) {
        return 0;
    }
    bytes = malloc(size > 1 ? size - 1 : 1);
    FUZZ_DEMAND(bytes != NULL);
    memcpy(bytes, data + 1, size - 1);
    read_requests(bytes, size - 1, 1u + data[0] % 16u);
    read_reply(bytes, size - 1, 1u + data[0] % 16u);
    free(bytes);
    return 0;
}
