/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of every shape. */
#include "command/answer.h"

#include "command/page.h"
#include "engine/reply.h"
#include "form/form.h"
#include "wire/resp.h"

enum { OUTCOME_WORD_BYTES = 16 };

/* ---- failures -------------------------------------------------------------------------------- */

static bool is_resp(const struct lk_form_writer *writer) {
    return writer->kind == LK_FORM_RESP;
}

/* The outcome's name in upper case: the first word of an error. */
static void name_outcome(lk_outcome outcome, char ret_word[OUTCOME_WORD_BYTES]) {
    const char *name = lk_outcome_name(outcome);
    size_t i = 0;

    for (; name[i] != '\0' && i + 1 < OUTCOME_WORD_BYTES; i++) {
        ret_word[i] = (char)(name[i] - 'a' + 'A');
    }
    ret_word[i] = '\0';
}

void lk_answer_write_failure(struct lk_form_writer *writer, lk_outcome outcome, const char *text) {
    char word[OUTCOME_WORD_BYTES];

    if (!is_resp(writer)) {
        lk_form_write_failure(writer, outcome, text);
        return;
    }
    name_outcome(outcome, word);
    if (text == NULL || text[0] == '\0') {
        text = lk_outcome_text(outcome);
    }
    lk_resp_put_error(writer->out, word, lk_slice_of(text));
}

int lk_answer_http_status(lk_outcome outcome) {
    static const int statuses[LK_OUTCOME_COUNT] = {
        [LK_OK] = 200,       [LK_GRANTED] = 200, [LK_WAITING] = 202,     [LK_BUSY] = 409,
        [LK_TIMEOUT] = 409,  [LK_LOST] = 410,    [LK_DEADLOCK] = 409,    [LK_INVALID] = 400,
        [LK_DENIED] = 403,   [LK_FULL] = 429,    [LK_UNSUPPORTED] = 501, [LK_UNAVAILABLE] = 503,
        [LK_INTERNAL] = 500, [LK_NONE] = 404,    [LK_CANCELLED] = 503,
    };
    unsigned index = (unsigned)outcome;

    return statuses[index < LK_OUTCOME_COUNT ? index : LK_INTERNAL];
}

/* ---- requests -------------------------------------------------------------------------------- */

/* GRANTED, WAITING, BUSY and TIMEOUT are states of affairs; the rest are errors. */
static bool is_state(lk_outcome outcome) {
    return outcome == LK_GRANTED || outcome == LK_WAITING || outcome == LK_BUSY
           || outcome == LK_TIMEOUT;
}

static void write_result(const struct lk_echo *echo, const struct lk_reply *reply,
                         struct lk_form_writer *writer) {
    const struct lk_effects effects = {.answer = *reply->answer};
    lk_result result = {.outcome = LK_OK, .expires_in_ms = -1};
    bool is_complete = lk_result_from_effects(reply->model, &effects, reply->times, &result);

    if (is_complete) {
        result.owner = echo->owner;
        result.paths = (char **)(uintptr_t)echo->paths;
        result.path_count = echo->path_count;
        lk_form_write_result(writer, &result);
        result.owner = NULL;
        result.paths = NULL;
        result.path_count = 0;
    } else {
        lk_answer_write_failure(writer, LK_INTERNAL, "no memory for the answer");
    }
    lk_result_clear(&result);
}

static void write_asked(const struct lk_echo *echo, const struct lk_reply *reply,
                        struct lk_form_writer *writer) {
    const struct lk_answer *answer = reply->answer;

    if (reply->model == NULL || (is_resp(writer) && !echo->is_meta && !is_state(answer->outcome))) {
        lk_answer_write_failure(writer, answer->outcome, answer->text);
    } else {
        write_result(echo, reply, writer);
    }
}

static void write_done(const struct lk_echo *echo, const struct lk_reply *reply,
                       struct lk_form_writer *writer) {
    if (is_resp(writer) && !echo->is_meta && reply->answer->outcome == LK_OK) {
        lk_resp_put_simple(writer->out, "OK");
    } else {
        write_asked(echo, reply, writer);
    }
}

static void write_ok(struct lk_form_writer *writer) {
    if (is_resp(writer)) {
        lk_resp_put_simple(writer->out, "OK");
    } else {
        lk_form_write_ok(writer);
    }
}

/* ---- values and work ------------------------------------------------------------------------- */

static lk_outcome write_value(const struct lk_echo *echo, const struct lk_reply *reply,
                              struct lk_form_writer *writer) {
    lk_value *value;
    lk_outcome outcome = lk_value_from_model(reply->model, &echo->path, &value);

    if (outcome == LK_NONE && is_resp(writer)) {
        lk_resp_put_null(writer->out, writer->version);
    } else if (outcome != LK_OK) {
        lk_answer_write_failure(writer, outcome, NULL);
    } else if (is_resp(writer) && !echo->is_meta) {
        lk_resp_put_bulk(writer->out,
                         (struct lk_slice){.bytes = value->bytes, .size = value->size});
    } else {
        lk_form_write_value(writer, echo->path.bytes, value);
    }
    if (outcome == LK_OK) {
        lk_value_free(value);
    }
    return outcome;
}

static lk_outcome write_claim(const struct lk_reply *reply, struct lk_form_writer *writer) {
    const struct lk_effects effects = {.answer = *reply->answer};
    lk_claim_info *claim;
    lk_error error;
    lk_outcome outcome =
        lk_claim_from_effects(reply->model, &effects, reply->times, &claim, &error);

    if (outcome == LK_GRANTED) {
        lk_form_write_claim(writer, claim);
        lk_claim_free(claim);
    } else {
        lk_answer_write_failure(writer, outcome, error.text);
    }
    return outcome;
}

static void write_pushed(const struct lk_reply *reply, struct lk_form_writer *writer) {
    if (is_resp(writer)) {
        lk_resp_put_number(writer->out, reply->answer->created);
    } else {
        lk_form_write_pushed(writer, reply->answer->created);
    }
}

static void write_stats(const struct lk_echo *echo, const struct lk_reply *reply,
                        struct lk_form_writer *writer) {
    struct lk_queue_counts counts;
    lk_queue_stats stats;

    lk_model_queue_counts(reply->model, &echo->path, &counts);
    lk_stats_from_counts(&counts, &stats);
    lk_form_write_stats(writer, echo->path.bytes, &stats);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* What stands around a list: in JSON a map with a status, in RESP at most an array. */
static void open_list(struct lk_form_writer *writer, const char *name) {
    if (!is_resp(writer)) {
        lk_form_open_map(writer, NULL);
        lk_form_add_text(writer, "status", lk_outcome_name(LK_OK));
    }
    lk_form_open_array(writer, is_resp(writer) ? NULL : name);
}

static void close_list(struct lk_form_writer *writer) {
    lk_form_close(writer);
    if (!is_resp(writer)) {
        lk_form_close(writer);
    }
}

/* The same for a page: `[cursor, [...]]`, or a map with both. */
static void open_page(struct lk_form_writer *writer, const char *name, const char *cursor) {
    if (is_resp(writer)) {
        lk_form_open_array(writer, NULL);
        lk_form_add_text(writer, NULL, cursor);
    } else {
        lk_form_open_map(writer, NULL);
        lk_form_add_text(writer, "status", lk_outcome_name(LK_OK));
        lk_form_add_text(writer, "cursor", cursor);
    }
    lk_form_open_array(writer, is_resp(writer) ? NULL : name);
}

static void close_page(struct lk_form_writer *writer) {
    lk_form_close(writer);
    lk_form_close(writer);
}

static lk_outcome write_list(const struct lk_echo *echo, const struct lk_reply *reply,
                             struct lk_form_writer *writer) {
    char cursor[LK_CURSOR_BYTES_MAX];
    lk_listing *listing;
    lk_outcome outcome = lk_page_of_requests(echo, reply, &listing, cursor);

    if (outcome != LK_OK) {
        lk_answer_write_failure(writer, outcome, "no memory for the list");
        return outcome;
    }
    open_page(writer, "requests", cursor);
    for (size_t i = 0; i < listing->count; i++) {
        lk_form_write_entry(writer, &listing->entries[i], false);
    }
    close_page(writer);
    lk_listing_free(listing);
    return LK_OK;
}

static lk_outcome write_items(const struct lk_echo *echo, const struct lk_reply *reply,
                              struct lk_form_writer *writer) {
    char cursor[LK_CURSOR_BYTES_MAX];
    lk_item_list *list;
    lk_outcome outcome = lk_page_of_items(echo, reply, &list, cursor);

    if (outcome != LK_OK) {
        lk_answer_write_failure(writer, outcome, "no memory for the items");
        return outcome;
    }
    open_page(writer, "items", cursor);
    for (size_t i = 0; i < list->count; i++) {
        lk_form_write_item(writer, echo->path.bytes, &list->items[i]);
    }
    close_page(writer);
    lk_item_list_free(list);
    return LK_OK;
}

static lk_outcome write_show(const struct lk_echo *echo, const struct lk_reply *reply,
                             struct lk_form_writer *writer) {
    lk_listing *listing;
    lk_outcome outcome =
        lk_listing_from_model_with_blockers(reply->model, reply->times, &echo->path, &listing);

    if (outcome != LK_OK) {
        lk_answer_write_failure(writer, outcome, "no memory for the list");
        return outcome;
    }
    open_list(writer, "requests");
    for (size_t i = 0; i < listing->count; i++) {
        lk_form_write_entry(writer, &listing->entries[i], true);
    }
    close_list(writer);
    lk_listing_free(listing);
    return LK_OK;
}

/* The record may hold texts that were no path once; what cannot be parsed is below nothing. */
static bool is_below(const struct lk_echo *echo, const char *text) {
    struct lk_path path;

    return !echo->has_path
           || (lk_path_parse(lk_slice_of(text), &path, NULL) == LK_OK
               && lk_path_contains(&echo->path, &path));
}

static void write_audit(const struct lk_echo *echo, const struct lk_reply *reply,
                        struct lk_form_writer *writer) {
    open_list(writer, "audit");
    for (size_t i = 0; i < reply->audit->count; i++) {
        if (is_below(echo, reply->audit->entries[i].path)) {
            lk_form_write_audit_entry(writer, &reply->audit->entries[i]);
        }
    }
    close_list(writer);
}

/* ---- events and bounds ----------------------------------------------------------------------- */

static void write_events(const struct lk_reply *reply, struct lk_form_writer *writer) {
    char cursor[LK_NUMBER_BYTES_MAX + 1];

    cursor[lk_number_write(cursor, (int64_t)reply->happenings->last)] = '\0';
    open_page(writer, "events", cursor);
    for (size_t i = 0; i < reply->happenings->count; i++) {
        lk_form_write_event(writer, &reply->happenings->events[i]);
    }
    close_page(writer);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* What succeeded, and is not a request's result. */
static lk_outcome write_success(const struct lk_echo *echo, const struct lk_reply *reply,
                                struct lk_form_writer *writer) {
    switch (echo->command->shape) {
    case LK_SHAPE_BROKEN:
        if (is_resp(writer)) {
            lk_resp_put_number(writer->out, (int64_t)reply->answer->broken);
        } else {
            lk_form_write_broken(writer, reply->answer->broken);
        }
        return LK_OK;
    case LK_SHAPE_PUSHED:
        write_pushed(reply, writer);
        return LK_OK;
    case LK_SHAPE_VALUE:
        return write_value(echo, reply, writer);
    case LK_SHAPE_LIST:
        return write_list(echo, reply, writer);
    case LK_SHAPE_SHOW:
        return write_show(echo, reply, writer);
    case LK_SHAPE_ITEMS:
        return write_items(echo, reply, writer);
    case LK_SHAPE_STATS:
        write_stats(echo, reply, writer);
        return LK_OK;
    case LK_SHAPE_AUDIT:
        write_audit(echo, reply, writer);
        return LK_OK;
    case LK_SHAPE_EVENTS:
        write_events(reply, writer);
        return LK_OK;
    case LK_SHAPE_LIMITS:
        lk_form_write_limits(writer, reply->limits);
        return LK_OK;
    default:
        write_ok(writer);
        return LK_OK;
    }
}

lk_outcome lk_answer_write(const struct lk_echo *echo, const struct lk_reply *reply,
                           struct lk_form_writer *writer) {
    lk_outcome outcome = reply->answer->outcome;

    if (echo->command->shape == LK_SHAPE_RESULT) {
        write_asked(echo, reply, writer);
        return outcome;
    }
    if (echo->command->shape == LK_SHAPE_DONE) {
        write_done(echo, reply, writer);
        return outcome;
    }
    if (echo->command->shape == LK_SHAPE_CLAIM && is_state(outcome)) {
        if (outcome == LK_GRANTED) {
            return write_claim(reply, writer);
        }
        lk_form_write_failure(writer, outcome, reply->answer->text);
        return outcome;
    }
    if (outcome != LK_OK && (outcome != LK_NONE || reply->model == NULL)) {
        lk_answer_write_failure(writer, outcome, reply->answer->text);
        return outcome;
    }
    return write_success(echo, reply, writer);
}
