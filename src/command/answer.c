/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of every shape. */
#include "command/answer.h"

#include <stdio.h>
#include <stdlib.h>

#include "command/page.h"
#include "command/rights.h"
#include "engine/reply/reply.h"
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

/* The owner that the command named, or that its token was found to belong to. */
static char *owner_of(const struct lk_reply_context *context, const struct lk_reply *reply,
                      char found[LK_IDENTITY_BYTES_MAX + 1]) {
    struct lk_record record;

    if (!context->is_by_token || reply->answer->request == 0) {
        return context->owner;
    }
    lk_model_record_head(reply->model, reply->answer->request, &record);
    memcpy(found, record.owner.bytes, record.owner.size);
    found[record.owner.size] = '\0';
    lk_visible_owner(context->user, found);
    return found;
}

static void write_result(const struct lk_reply_context *context, const struct lk_reply *reply,
                         struct lk_form_writer *writer) {
    lk_result result = {.outcome = LK_OK, .expires_in_ms = -1};
    bool is_complete = lk_result_from_answer(reply->model, reply->answer, reply->times, &result);
    char found[LK_IDENTITY_BYTES_MAX + 1];

    if (is_complete) {
        result.owner = owner_of(context, reply, found);
        result.paths = (char **)(uintptr_t)context->paths;
        result.path_count = context->path_count;
        lk_visible_result(context->user, &result);
        lk_form_write_result(writer, &result);
        result.owner = NULL;
        result.paths = NULL;
        result.path_count = 0;
    } else {
        lk_answer_write_failure(writer, LK_INTERNAL, "no memory for the answer");
    }
    lk_result_clear(&result);
}

static void write_result_or_failure(const struct lk_reply_context *context,
                                    const struct lk_reply *reply, struct lk_form_writer *writer) {
    const struct lk_answer *answer = reply->answer;

    if (reply->model == NULL
        || (is_resp(writer) && !context->is_meta && !is_state(answer->outcome))) {
        lk_answer_write_failure(writer, answer->outcome, answer->text);
    } else {
        write_result(context, reply, writer);
    }
}

static void write_done(const struct lk_reply_context *context, const struct lk_reply *reply,
                       struct lk_form_writer *writer) {
    if (is_resp(writer) && !context->is_meta && reply->answer->outcome == LK_OK) {
        lk_resp_put_simple(writer->out, "OK");
    } else {
        write_result_or_failure(context, reply, writer);
    }
}

/* ---- values and work ------------------------------------------------------------------------- */

static lk_outcome write_value(const struct lk_reply_context *context, const struct lk_reply *reply,
                              struct lk_form_writer *writer) {
    lk_value *value;
    lk_outcome outcome = lk_value_from_model(reply->model, &context->selection.path, &value);

    if (outcome == LK_NONE && is_resp(writer)) {
        lk_resp_put_null(writer->out, writer->version);
    } else if (outcome != LK_OK) {
        lk_answer_write_failure(writer, outcome, NULL);
    } else if (is_resp(writer) && !context->is_meta) {
        lk_resp_put_bulk(writer->out,
                         (struct lk_slice){.bytes = value->bytes, .size = value->size});
    } else {
        lk_form_write_value(writer, context->selection.path.bytes, value);
    }
    if (outcome == LK_OK) {
        lk_value_free(value);
    }
    return outcome;
}

static lk_outcome write_claim(const struct lk_reply_context *context, const struct lk_reply *reply,
                              struct lk_form_writer *writer) {
    lk_claim_info *claim;
    lk_error error;
    lk_outcome outcome =
        lk_claim_from_answer(reply->model, reply->answer, reply->times, &claim, &error);

    if (outcome == LK_GRANTED) {
        lk_visible_owner(context->user, claim->owner);
        lk_form_write_claim(writer, claim);
        lk_claim_free(claim);
    } else {
        lk_answer_write_failure(writer, outcome, error.text);
    }
    return outcome;
}

/* In JSON and with META a map, which also says why there are not more. */
static void add_claims(const struct lk_reply_context *context, const struct lk_reply *reply,
                       const lk_claim_info *const *claims, size_t count,
                       struct lk_form_writer *writer) {
    const struct lk_answer_form *form = &lk_answer_forms[context->command->shape];

    if (is_resp(writer) && !context->is_meta) {
        lk_form_add_claims(writer, NULL, claims, count);
        return;
    }
    lk_form_open_answer(writer, LK_GRANTED);
    lk_form_add_claims(writer, form->list, claims, count);
    if (reply->refusal != NULL) {
        const struct lk_series_end end = {reply->refusal->outcome, reply->refusal->text};

        lk_form_add_fields(writer, form->at_end, &end);
    }
    lk_form_close(writer);
}

/* The claims of a take of several. */
static lk_outcome write_claims(const struct lk_reply_context *context, const struct lk_reply *reply,
                               struct lk_form_writer *writer) {
    lk_claim_info *claims[LK_TAKES_MAX] = {NULL};
    lk_outcome outcome = LK_GRANTED;
    size_t count = 0;
    lk_error error;

    while (count < reply->claim_count && outcome == LK_GRANTED) {
        outcome = lk_claim_from_answer(reply->model, &reply->claims[count], reply->times,
                                       &claims[count], &error);
        if (outcome == LK_GRANTED) {
            lk_visible_owner(context->user, claims[count++]->owner);
        }
    }
    if (outcome == LK_GRANTED) {
        add_claims(context, reply, (const lk_claim_info *const *)claims, count, writer);
    } else {
        lk_answer_write_failure(writer, outcome, error.text);
    }
    while (count > 0) {
        lk_claim_free(claims[--count]);
    }
    return outcome;
}

static void write_ok(struct lk_form_writer *writer) {
    if (is_resp(writer)) {
        lk_resp_put_simple(writer->out, "OK");
    } else {
        lk_form_write_ok(writer);
    }
}

/* How many items were ended; a single one that is done is OK. */
static void write_ended(const struct lk_reply_context *context, const struct lk_reply *reply,
                        struct lk_form_writer *writer) {
    bool is_done = context->command->shape == LK_SHAPE_ENDED;
    size_t count = context->is_of_several ? reply->ended : 1;

    if (is_done && !context->is_of_several) {
        write_ok(writer);
    } else if (is_resp(writer)) {
        lk_resp_put_number(writer->out, (int64_t)count);
    } else {
        lk_form_open_answer(writer, LK_OK);
        lk_form_add_fields(writer, lk_answer_forms[context->command->shape].fields, &count);
        lk_form_close(writer);
    }
}

/* RESP: 1 added, 2 changed, 0 left as it is; with META a map. */
static void write_pushed(const struct lk_reply_context *context, const struct lk_reply *reply,
                         struct lk_form_writer *writer) {
    lk_push_result pushed = lk_pushed_of(reply->answer);

    if (is_resp(writer) && !context->is_meta) {
        lk_resp_put_number(writer->out, pushed.added ? 1 : pushed.changed ? 2 : 0);
    } else {
        lk_form_write_pushed(writer, &pushed);
    }
}

static void write_deleted(const struct lk_reply *reply, struct lk_form_writer *writer) {
    if (is_resp(writer)) {
        lk_resp_put_number(writer->out, reply->answer->deleted);
    } else {
        lk_form_write_ok(writer);
    }
}

static void write_stats(const struct lk_reply_context *context, const struct lk_reply *reply,
                        struct lk_form_writer *writer) {
    struct lk_queue_counts counts;
    lk_queue_stats stats;

    lk_model_queue_counts(reply->model, &context->selection.path, &counts);
    lk_stats_from_counts(&counts, reply->times->now_us, &stats);
    lk_form_write_stats(writer, context->selection.path.bytes, &stats);
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* An answer that consists of rows. */
struct page_writer {
    const struct lk_reply_context *context;
    const struct lk_reply *reply;
    struct lk_form_writer *writer;
    struct lk_explaining *explaining; /* SHOW only */
};

/* Writes one row; false: memory is exhausted. */
static bool write_request(struct page_writer *page_writer, uint32_t request) {
    const struct lk_selection *selection = &page_writer->context->selection;
    const struct lk_reply *reply = page_writer->reply;
    lk_listing *listing = lk_listing_new();
    bool is_explained = page_writer->explaining != NULL;
    bool is_complete = listing != NULL;
    struct lk_record record;

    if (is_complete && is_explained) {
        is_complete = lk_listing_add_explained(listing, reply->model, request, reply->times,
                                               page_writer->explaining);
    } else if (is_complete) {
        lk_model_record(reply->model, request, &record);
        is_complete = lk_listing_add(listing, &record, reply->times,
                                     selection->has_path ? &selection->path : NULL);
    }
    for (size_t i = 0; is_complete && i < listing->count; i++) {
        if (lk_visible_entry(page_writer->context->user, selection, &listing->entries[i])) {
            lk_form_write_entry(page_writer->writer, &listing->entries[i], is_explained);
        }
    }
    lk_listing_free(listing);
    return is_complete;
}

static bool write_item(struct page_writer *page_writer, uint32_t ref) {
    const struct lk_reply *reply = page_writer->reply;
    lk_item_list *list = lk_item_list_new();
    struct lk_item_record item;
    struct lk_record claim;
    bool is_complete = list != NULL;

    lk_model_item_record(reply->model, ref, &item);
    if (item.claim != 0) {
        lk_model_record(reply->model, item.claim, &claim);
    }
    is_complete =
        is_complete && lk_item_list_add(list, &item, item.claim != 0 ? &claim : NULL, reply->times);
    if (is_complete) {
        lk_visible_item(page_writer->context->user, &list->items[0]);
        lk_form_write_item(page_writer->writer, page_writer->context->selection.path.bytes,
                           &list->items[0]);
    }
    lk_item_list_free(list);
    return is_complete;
}

static void write_break(struct page_writer *page_writer, uint32_t ref) {
    struct lk_visible_names room;
    const lk_audit_entry entry = lk_visible_break(page_writer->context->user,
                                                  &page_writer->reply->audit->entries[ref], &room);

    lk_form_write_audit_entry(page_writer->writer, &entry);
}

static bool write_row(struct page_writer *page_writer, uint32_t ref) {
    if (page_writer->context->command->shape == LK_SHAPE_ITEMS) {
        return write_item(page_writer, ref);
    }
    if (page_writer->context->command->shape == LK_SHAPE_AUDIT) {
        write_break(page_writer, ref);
        return true;
    }
    return write_request(page_writer, ref);
}

static bool has_reached_walk_bound(const struct page_writer *page_writer) {
    return page_writer->explaining != NULL && page_writer->explaining->steps > LK_PAGE_STEPS_MAX;
}

/*
 * Writes rows until the page is full, in entries, bytes or the walks behind them; at least one.
 * Returns how many; *ret_is_complete becomes false when memory is exhausted.
 */
static size_t write_rows(struct page_writer *page_writer, const struct lk_page *page,
                         struct lk_form_mark begin, bool *ret_is_complete) {
    bool is_complete = true;
    size_t written = 0;

    while (written < page->count && is_complete && !has_reached_walk_bound(page_writer)) {
        struct lk_form_mark mark = lk_form_mark_here(page_writer->writer);

        is_complete = write_row(page_writer, page->rows[written].ref);
        if (written > 0 && lk_answer_is_over(page_writer->writer, begin)) {
            lk_form_rewind(page_writer->writer, mark);
            break;
        }
        written++;
    }
    *ret_is_complete = is_complete;
    return written;
}

/* Replaces what was written so far by a failure. */
static lk_outcome replace_by_failure(struct lk_form_writer *writer, struct lk_form_writer begun,
                                     struct lk_form_mark begin, lk_outcome outcome,
                                     const char *text) {
    *writer = begun;
    lk_form_rewind(writer, begin);
    lk_answer_write_failure(writer, outcome, text);
    return outcome;
}

/*
 * A page. SHOW and AUDIT without COUNT and CURSOR have no cursor: they are one page with all
 * entries, or FULL.
 */
static lk_outcome write_page(const struct lk_reply_context *context, const struct lk_reply *reply,
                             struct lk_form_writer *writer) {
    struct page_writer page_writer = {.context = context, .reply = reply, .writer = writer};
    bool has_cursor =
        lk_answer_forms[context->command->shape].is_paged || context->selection.is_paged;
    struct lk_form_writer begun = *writer;
    struct lk_form_mark begin = lk_form_mark_here(writer);
    struct lk_form_mark mark;
    char cursor[LK_CURSOR_BYTES_MAX];
    struct lk_page page = {.rows = NULL};
    bool is_complete = true;

    if (context->command->shape == LK_SHAPE_SHOW) {
        page_writer.explaining = calloc(1, sizeof *page_writer.explaining);
        is_complete = page_writer.explaining != NULL;
    }
    if (is_complete && lk_page_find(context, reply, !has_cursor, &page)) {
        mark = lk_answer_open_page(writer, context->command->shape, has_cursor);
        lk_page_cursor(&page, write_rows(&page_writer, &page, begin, &is_complete), cursor);
        lk_answer_close_page(writer, mark, has_cursor ? cursor : NULL);
    } else {
        is_complete = false;
    }
    free(page.rows);
    free(page_writer.explaining);
    if (!is_complete) {
        return replace_by_failure(writer, begun, begin, LK_INTERNAL, "no memory for the list");
    }
    return has_cursor || strcmp(cursor, "0") == 0
               ? LK_OK
               : replace_by_failure(writer, begun, begin, LK_FULL,
                                    "the reply is too large: use COUNT and CURSOR to read it in "
                                    "pages");
}

/* ---- events ---------------------------------------------------------------------------------- */

static void write_event(const struct lk_reply_context *context, const lk_watch_event *event,
                        struct lk_form_writer *writer) {
    struct lk_visible_event visible;

    event = lk_visible_event(context->user, event, &visible);
    if (event != NULL) {
        lk_form_write_event(writer, event);
    }
}

static void write_events(const struct lk_reply_context *context, const struct lk_reply *reply,
                         struct lk_form_writer *writer) {
    const struct lk_event_page *page = reply->page;
    struct lk_form_mark begin = lk_form_mark_here(writer);
    struct lk_form_mark mark = lk_answer_open_page(writer, context->command->shape, true);
    char cursor[LK_NUMBER_BYTES_MAX + 1];
    uint64_t last = page->last;

    for (size_t i = 0; i < page->count; i++) {
        struct lk_form_mark behind = lk_form_mark_here(writer);

        write_event(context, &page->events[i], writer);
        if (i > 0 && lk_answer_is_over(writer, begin)) {
            lk_form_rewind(writer, behind);
            last = page->events[i - 1].sequence;
            break;
        }
    }
    cursor[lk_number_write(cursor, (int64_t)last)] = '\0';
    lk_answer_close_page(writer, mark, cursor);
}

/* ---- leases that were broken (R12) ----------------------------------------------------------- */

/* The place in the audit of the first break that is told: one behind `after`, or of the last. */
static size_t first_told(const struct lk_reply *reply, uint64_t after) {
    uint64_t first = reply->audit_first;
    size_t count = reply->audit->count;

    if (after == 0 || after >= first + count) { /* none is named, or one of before a restart */
        return count > LK_REVOKED_MAX ? count - LK_REVOKED_MAX : 0;
    }
    return after >= first ? (size_t)(after - first) + 1 : 0;
}

/* To a user only the tokens of its own leases: a token is enough to end a lease. */
static void write_revoked(const struct lk_reply_context *context, const struct lk_reply *reply,
                          struct lk_form_writer *writer) {
    const lk_audit *audit = reply->audit;
    size_t at = first_told(reply, context->selection.after);
    int64_t tokens[LK_REVOKED_MAX];
    size_t count = 0;

    for (; at < audit->count && count < LK_REVOKED_MAX; at++) {
        const lk_audit_entry *entry = &audit->entries[at];

        if (entry->token != 0 && lk_visible_is_own(context->user, entry->owner)) {
            tokens[count++] = (int64_t)entry->token;
        }
    }
    lk_resp_put_array(writer->out, 2);
    lk_resp_put_number(writer->out, (int64_t)(reply->audit_first + at) - 1);
    lk_resp_put_array(writer->out, count);
    for (size_t i = 0; i < count; i++) {
        lk_resp_put_number(writer->out, tokens[i]);
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Writes the answer of a call that succeeded and is not a request's result. */
static lk_outcome write_success(const struct lk_reply_context *context,
                                const struct lk_reply *reply, struct lk_form_writer *writer) {
    switch (context->command->shape) {
    case LK_SHAPE_BROKEN:
        if (is_resp(writer)) {
            lk_resp_put_number(writer->out, (int64_t)reply->answer->broken);
        } else {
            lk_form_write_broken(writer, reply->answer->broken);
        }
        return LK_OK;
    case LK_SHAPE_PUSHED:
        write_pushed(context, reply, writer);
        return LK_OK;
    case LK_SHAPE_DELETED:
        write_deleted(reply, writer);
        return LK_OK;
    case LK_SHAPE_VALUE:
        return write_value(context, reply, writer);
    case LK_SHAPE_LIST:
    case LK_SHAPE_SHOW:
    case LK_SHAPE_ITEMS:
    case LK_SHAPE_AUDIT:
        return write_page(context, reply, writer);
    case LK_SHAPE_STATS:
        write_stats(context, reply, writer);
        return LK_OK;
    case LK_SHAPE_QUEUES:
    case LK_SHAPE_VALUES:
    case LK_SHAPE_DOUBTS:
        return lk_answer_write_by_path(context, reply, writer);
    case LK_SHAPE_ENDED:
    case LK_SHAPE_DROPPED:
        write_ended(context, reply, writer);
        return LK_OK;
    case LK_SHAPE_EVENTS:
        write_events(context, reply, writer);
        return LK_OK;
    case LK_SHAPE_REVOKED:
        write_revoked(context, reply, writer);
        return LK_OK;
    case LK_SHAPE_LIMITS:
        lk_form_write_limits(writer, reply->limits);
        return LK_OK;
    case LK_SHAPE_OK:
    case LK_SHAPE_RESULT: /* these three are written elsewhere */
    case LK_SHAPE_DONE:
    case LK_SHAPE_CLAIM:
    case LK_SHAPES_COUNT:
        break;
    }
    write_ok(writer);
    return LK_OK;
}

lk_outcome lk_answer_write(const struct lk_reply_context *context, const struct lk_reply *reply,
                           struct lk_form_writer *writer) {
    lk_outcome outcome = reply->answer->outcome;

    if (context->command->shape == LK_SHAPE_RESULT) {
        write_result_or_failure(context, reply, writer);
        return outcome;
    }
    if (context->command->shape == LK_SHAPE_DONE) {
        write_done(context, reply, writer);
        return outcome;
    }
    if (context->command->shape == LK_SHAPE_CLAIM && is_state(outcome)) {
        if (outcome == LK_GRANTED) {
            return reply->claims != NULL ? write_claims(context, reply, writer)
                                         : write_claim(context, reply, writer);
        }
        lk_form_write_failure(writer, outcome, reply->answer->text);
        return outcome;
    }
    if (outcome != LK_OK && (outcome != LK_NONE || reply->model == NULL)) {
        lk_answer_write_failure(writer, outcome, reply->answer->text);
        return outcome;
    }
    return write_success(context, reply, writer);
}
