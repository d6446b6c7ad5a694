/* SPDX-License-Identifier: Apache-2.0 */
/* The pipe, its lines, and what they say. */
#include "cli/work/report.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/parse/json_line.h"
#include "cli/run/status.h"
#include "form/text.h"
#include "model/command_check.h"

/* ---- a line ---------------------------------------------------------------------------------- */

static lk_outcome wrong(lk_error *error, const char *name, const char *expected) {
    return lk_error_set(error, LK_INVALID, "\"%s\" must be %s", name, expected);
}

/* A text is cut to what is kept of one, between two characters. */
static void keep_text(struct lk_pool_report *report, const json_t *text) {
    const char *bytes = json_string_value(text);
    size_t size = json_string_length(text);

    if (size > LK_FAILURE_BYTES_MAX) {
        size = LK_FAILURE_BYTES_MAX;
        while (size > 0 && ((unsigned char)bytes[size] & 0xC0) == 0x80) {
            size--;
        }
    }
    memcpy(report->text, bytes, size);
    report->text[size] = '\0';
    report->text_size = size;
}

static lk_outcome read_retry(struct lk_pool_report *report, const json_t *retry, lk_error *error) {
    const json_t *delay = json_object_get(retry, "delay_ms");
    const json_t *reason = json_object_get(retry, "reason");
    const json_t *uncounted = json_object_get(retry, "uncounted");

    if (!json_is_object(retry)) {
        return wrong(error, "retry", "an object");
    }
    if (delay != NULL
        && (!json_is_integer(delay) || json_integer_value(delay) < 0
            || json_integer_value(delay) > LK_TTL_MAX_MS)) {
        return wrong(error, "delay_ms", "a whole number of milliseconds, up to 366 days");
    }
    if (reason != NULL && !json_is_string(reason)) {
        return wrong(error, "reason", "a text");
    }
    if (uncounted != NULL && !json_is_boolean(uncounted)) {
        return wrong(error, "uncounted", "true or false");
    }
    report->kind = LK_POOL_REPORT_RETRY;
    report->delay_ms = delay != NULL ? json_integer_value(delay) : -1;
    report->is_uncounted = json_is_true(uncounted);
    if (reason != NULL) {
        keep_text(report, reason);
    }
    return LK_OK;
}

static lk_outcome read_park(struct lk_pool_report *report, const json_t *park, lk_error *error) {
    const json_t *reason = json_object_get(park, "reason");

    if (!json_is_object(park)) {
        return wrong(error, "park", "an object");
    }
    if (reason != NULL && !json_is_string(reason)) {
        return wrong(error, "reason", "a text");
    }
    report->kind = LK_POOL_REPORT_RETRY;
    report->delay_ms = 0;
    report->parks = true;
    if (reason != NULL) {
        keep_text(report, reason);
    }
    return LK_OK;
}

/* As text, or as base64. */
static lk_outcome read_bytes(struct lk_pool_report *report, const json_t *text,
                             const json_t *base64, lk_error *error) {
    const json_t *given = text != NULL ? text : base64;
    size_t size = json_string_length(given);
    bool is_read = json_is_string(given) && (text == NULL || base64 == NULL);

    report->result = is_read ? malloc(size + 1) : NULL;
    if (is_read && report->result == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    if (is_read) {
        memcpy(report->result, json_string_value(given), size);
        report->result[size] = '\0';
    }
    if (is_read && text == NULL) {
        is_read = lk_form_read_base64(report->result, size, &size);
    }
    report->result_size = size;
    if (!is_read) {
        return lk_error_set(error, LK_INVALID,
                            "\"result\" must be a text, or \"result_base64\" in base64");
    }
    return lk_value_check((struct lk_slice){report->result, size}, error);
}

static lk_outcome read_result(struct lk_pool_report *report, const json_t *object,
                              lk_error *error) {
    const json_t *text = json_object_get(object, "result");
    const json_t *base64 = json_object_get(object, "result_base64");
    const json_t *keep = json_object_get(object, "keep_ms");

    if (keep != NULL
        && (!json_is_integer(keep) || json_integer_value(keep) < 0
            || json_integer_value(keep) > LK_TTL_MAX_MS)) {
        return wrong(error, "keep_ms", "a whole number of milliseconds, up to 366 days");
    }
    report->keep_ms = json_integer_value(keep);
    return text != NULL || base64 != NULL ? read_bytes(report, text, base64, error) : LK_OK;
}

/* Exactly one of "done", "retry", "park" and "progress". */
static lk_outcome read_word(struct lk_pool_report *report, const json_t *object, lk_error *error) {
    const json_t *done = json_object_get(object, "done");
    const json_t *retry = json_object_get(object, "retry");
    const json_t *park = json_object_get(object, "park");
    const json_t *progress = json_object_get(object, "progress");

    if ((done != NULL) + (retry != NULL) + (park != NULL) + (progress != NULL) != 1) {
        return lk_error_set(error, LK_INVALID,
                            "it has not one of \"done\", \"retry\", \"park\", \"progress\"");
    }
    if (park != NULL) {
        return read_park(report, park, error);
    }
    if (retry != NULL) {
        return read_retry(report, retry, error);
    }
    if (done != NULL) {
        report->kind = LK_POOL_REPORT_DONE;
        return json_is_true(done) ? read_result(report, object, error)
                                  : wrong(error, "done", "true");
    }
    if (!json_is_string(progress)) {
        return wrong(error, "progress", "a text");
    }
    report->kind = LK_POOL_REPORT_PROGRESS;
    keep_text(report, progress);
    return LK_OK;
}

static lk_outcome read_id(const json_t *id, char **ret_id, lk_error *error) {
    char number[LK_JSON_LINE_NUMBER_BYTES];
    const char *text = lk_json_line_id(id, number);

    if (text == NULL) {
        return wrong(error, "id", "a text, or a whole number");
    }
    *ret_id = strdup(text);
    return *ret_id != NULL ? LK_OK : lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}

lk_outcome lk_pool_report_parse(const char *line, size_t size, char **ret_id,
                                struct lk_pool_report *ret_report, lk_error *error) {
    json_t *object;
    lk_outcome outcome = lk_json_line_parse(line, size, &object, error);
    const json_t *id = json_object_get(object, "id");

    *ret_id = NULL;
    *ret_report = (struct lk_pool_report){.delay_ms = -1};
    if (outcome == LK_OK) {
        outcome = read_word(ret_report, object, error);
    }
    if (outcome == LK_OK && id != NULL) {
        outcome = read_id(id, ret_id, error);
    }
    json_decref(object);
    return outcome;
}

/* ---- the pipe -------------------------------------------------------------------------------- */

int lk_pool_channel_number(void) {
    for (int number = 3; number < 10; number++) {
        int flags = fcntl(number, F_GETFD);
        if (flags < 0 || (flags & FD_CLOEXEC) != 0) {
            return number;
        }
    }
    return -1;
}

bool lk_pool_channel_open(struct lk_pool_channel *channel) {
    int ends[2];

    channel->used = 0;
    channel->is_cut = channel->is_refusal_said = false;
    channel->line = malloc(LK_POOL_REPORT_LINE_MAX);
    if (channel->line == NULL || pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    channel->input = ends[0];
    channel->output = ends[1];
    return fcntl(channel->input, F_SETFL, O_NONBLOCK) == 0;
}

static void close_end(int *end) {
    if (*end >= 0) {
        close(*end);
        *end = -1;
    }
}

void lk_pool_channel_hand_over(struct lk_pool_channel *channel) {
    close_end(&channel->output);
}

void lk_pool_channel_close(struct lk_pool_channel *channel) {
    close_end(&channel->input);
    close_end(&channel->output);
    free(channel->line);
    channel->line = NULL;
}

static void refuse(struct lk_pool_channel *channel, const char *why) {
    if (!channel->is_refusal_said && !channel->is_quiet) {
        lk_run_status("REPORT", "%s: a line of CMD is passed over: %s", channel->queue, why);
    }
    channel->is_refusal_said = true;
}

static void take_line(struct lk_pool_channel *channel) {
    struct lk_pool_report report;
    char *id = NULL;
    lk_error error;

    if (channel->is_cut) {
        (void)lk_error_set(&error, LK_INVALID, "it has more than %d bytes",
                           LK_POOL_REPORT_LINE_MAX);
        refuse(channel, error.text);
    } else if (!lk_json_line_is_blank(channel->line, channel->used)) {
        lk_outcome outcome =
            lk_pool_report_parse(channel->line, channel->used, &id, &report, &error);

        if (outcome == LK_OK) {
            outcome = channel->take(channel->context, id, &report, &error);
        }
        if (outcome != LK_OK) {
            free(report.result);
            refuse(channel, error.text);
        }
        free(id);
    }
    channel->used = 0;
    channel->is_cut = false;
}

static void add(struct lk_pool_channel *channel, const char *bytes, size_t size) {
    if (size > LK_POOL_REPORT_LINE_MAX - channel->used) {
        channel->is_cut = true;
        return;
    }
    memcpy(channel->line + channel->used, bytes, size);
    channel->used += size;
}

static void take_bytes(struct lk_pool_channel *channel, const char *bytes, size_t size) {
    const char *end = bytes + size;

    while (bytes < end) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));

        add(channel, bytes, (size_t)((newline != NULL ? newline : end) - bytes));
        if (newline == NULL) {
            return;
        }
        take_line(channel);
        bytes = newline + 1;
    }
}

void lk_pool_channel_read(struct lk_pool_channel *channel) {
    char bytes[4096];

    while (channel->input >= 0) {
        ssize_t size = read(channel->input, bytes, sizeof bytes);

        if (size > 0) {
            take_bytes(channel, bytes, (size_t)size);
        } else if (size == 0) {
            close_end(&channel->input);
        } else if (errno != EINTR) {
            return;
        }
    }
}
