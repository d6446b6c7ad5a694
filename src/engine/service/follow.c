/* SPDX-License-Identifier: Apache-2.0 */
/* Events (R21) and breaks (R12), by calls that block in the service; and bounds (R22). */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "engine/event.h"
#include "engine/service/call.h"
#include "engine/service/service.h"

/* ---- reading events -------------------------------------------------------------------------- */

/* An event has as many paths as parts; only a gap has none. */
static bool is_whole(const lk_watch_event *event) {
    return (event->paths == NULL) == (event->parts == NULL)
           && (event->paths == NULL) == (event->kind == LK_WATCH_GAP);
}

static void read_events(struct lk_reader *reader, const struct lk_resp_value *array,
                        struct lk_event_page *page) {
    struct lk_records records = {.items = NULL};

    lk_reader_read_maps(reader, array, &lk_form_of_event, &records);
    page->events = records.items;
    page->count = records.count;
    for (size_t i = 0; i < page->count; i++) {
        reader->is_damaged = reader->is_damaged || !is_whole(&page->events[i]);
    }
}

/* `[last, [map, ...]]` */
static void read_answer(struct lk_service_answer *answer, const struct lk_event_query *query,
                        struct lk_event_page *page) {
    struct lk_reader *reader = &answer->reader;
    struct lk_resp_value value;

    if (answer->head.kind != LK_RESP_ARRAY || answer->head.count != 2
        || !lk_resp_cursor_next(&reader->cursor, &value)) {
        reader->is_damaged = true;
        return;
    }
    page->last = (uint64_t)lk_reader_number(reader, &value);
    if (lk_reader_is_ok(reader) && lk_resp_cursor_next(&reader->cursor, &value)) {
        read_events(reader, &value, page);
    } else {
        reader->is_damaged = true;
    }
    page->has_more = lk_event_page_is_full(page, query);
}

/* ---- asking for events ----------------------------------------------------------------------- */

static void add_query(struct lk_builder *builder, const struct lk_event_query *query,
                      int64_t wait_us) {
    lk_builder_add_text(builder, "EVENTS");
    lk_builder_add_prefix(builder, query->prefix);
    if (query->after != LK_EVENTS_FROM_NOW) {
        lk_builder_add_number(builder, "AFTER", (int64_t)query->after);
    }
    lk_builder_add_number(builder, "COUNT", (int64_t)query->max);
    if (wait_us >= 1000) {
        lk_builder_add_number(builder, "WAIT", wait_us / 1000);
    }
}

/*
 * The service blocks until the first event, for at most the time that it keeps events without a
 * follower. A client that was disconnected asks again and misses nothing: the answer has the events
 * after the last one that it has seen, or a gap.
 */
static lk_outcome ask_events(struct lk_engine *engine, const struct lk_event_query *query,
                             const struct lk_patience *patience, struct lk_event_page **ret_page,
                             lk_error *error) {
    int64_t wait_us = query->until_us - lk_clock_now_us();
    struct lk_event_page *page = lk_event_page_new(query);
    struct lk_patience longer = *patience;
    struct lk_builder builder = {.count = 0};
    struct lk_service_answer answer;
    lk_outcome outcome;

    if (page == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the events");
    }
    wait_us = wait_us < LK_WATCHED_LEAST_US ? wait_us : LK_WATCHED_LEAST_US;
    if (wait_us > 0 && query->until_us != 0) {
        longer.until_us += wait_us;
    }
    add_query(&builder, query, query->until_us != 0 ? wait_us : 0);
    outcome =
        lk_service_call(lk_service_of(engine), &builder, LK_SERVICE_AGAIN, &longer, &answer, error);
    if (outcome == LK_OK) {
        read_answer(&answer, query, page);
        outcome = lk_service_read_end(&answer.reader, error);
    }
    lk_service_answer_done(&answer);
    if (outcome != LK_OK) {
        lk_event_page_free(page);
        return outcome;
    }
    *ret_page = page;
    return LK_OK;
}

/* The call for events has waited already. */
static lk_outcome await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                               struct lk_waker *waker) {
    (void)engine;
    (void)after;
    (void)until_us;
    return lk_waker_is_thrown(waker) ? LK_CANCELLED : LK_OK;
}

const struct lk_event_ops lk_service_event_ops = {.read = ask_events, .await = await_events};

/* ---- leases that are revoked (R12) ----------------------------------------------------------- */

/* `[number, [token, ...]]` */
static void read_revoked(struct lk_service_answer *answer, struct lk_revoked *revoked) {
    struct lk_reader *reader = &answer->reader;
    struct lk_resp_value value;
    struct lk_resp_value tokens;

    if (answer->head.kind != LK_RESP_ARRAY || answer->head.count != 2
        || !lk_resp_cursor_next(&reader->cursor, &value)
        || !lk_resp_cursor_next(&reader->cursor, &tokens) || tokens.kind != LK_RESP_ARRAY
        || tokens.count > LK_REVOKED_MAX) {
        reader->is_damaged = true;
        return;
    }
    revoked->position = (uint64_t)lk_reader_number(reader, &value);
    revoked->has_position = true;
    for (size_t i = 0; i < tokens.count && lk_resp_cursor_next(&reader->cursor, &value); i++) {
        revoked->tokens[revoked->count++] = (uint64_t)lk_reader_number(reader, &value);
    }
}

/* An error that is no failure of the connection: the service is older, or lets no user ask. */
static bool is_refusal(lk_outcome outcome) {
    return outcome != LK_OK && outcome != LK_UNAVAILABLE && outcome != LK_CANCELLED;
}

/* Blocks in the service, over a connection of its own meanwhile. */
static lk_outcome await_revoked(struct lk_engine *engine, struct lk_revoked *revoked,
                                int64_t until_us, struct lk_waker *waker) {
    const struct lk_patience patience = {.until_us = until_us + LK_SERVICE_GRACE_US,
                                         .waker = waker};
    struct lk_builder builder = {.count = 0};
    struct lk_service_answer answer;
    lk_outcome outcome;
    lk_error error;

    lk_builder_add_text(&builder, "REVOKED");
    lk_builder_add_number_if_any(&builder, "AFTER", (int64_t)revoked->position);
    lk_builder_add_number(&builder, "WAIT", lk_max(1, (until_us - lk_clock_now_us()) / 1000));
    outcome = lk_service_call(lk_service_of(engine), &builder, LK_SERVICE_AGAIN, &patience, &answer,
                              &error);
    if (outcome == LK_OK) {
        read_revoked(&answer, revoked);
        outcome = lk_service_read_end(&answer.reader, &error);
    }
    lk_service_answer_done(&answer);
    return is_refusal(outcome) ? LK_UNSUPPORTED : outcome;
}

const struct lk_revoked_ops lk_service_revoked_ops = {.await = await_revoked};

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Repeated: setting the same bounds again has no effect. */
static lk_outcome call_for_limits(struct lk_engine *engine, struct lk_builder *builder,
                                  const struct lk_patience *patience, lk_limits *ret_limits,
                                  lk_error *error) {
    lk_limits limits = {.size = sizeof limits};
    lk_outcome outcome = lk_service_call_for_map(lk_service_of(engine), builder, LK_SERVICE_AGAIN,
                                                 patience, &lk_form_of_limits, &limits, error);

    if (outcome == LK_OK) {
        *ret_limits = limits;
    }
    return outcome;
}

static lk_outcome limits_get(struct lk_engine *engine, const struct lk_patience *patience,
                             lk_limits *ret_limits, lk_error *error) {
    struct lk_builder builder = {.count = 0};

    lk_builder_add_text(&builder, "LIMITS");
    return call_for_limits(engine, &builder, patience, ret_limits, error);
}

static void add_limit(struct lk_builder *builder, const char *name, uint64_t limit) {
    if (limit != LK_LIMIT_AS_IS) {
        lk_builder_add_number(builder, name, (int64_t)limit);
    }
}

static lk_outcome limits_set(struct lk_engine *engine, const lk_limits *limits,
                             const struct lk_patience *patience, lk_error *error) {
    struct lk_builder builder = {.count = 0};
    lk_limits now;

    lk_builder_add_text(&builder, "LIMIT");
    add_limit(&builder, "LIVE", limits->live);
    add_limit(&builder, "LIVE-PER-OWNER", limits->live_per_owner);
    add_limit(&builder, "LIVE-PER-ROOT", limits->live_per_root);
    add_limit(&builder, "WAITERS-PER-PATH", limits->waiters_per_path);
    add_limit(&builder, "EVENTS", limits->events);
    return call_for_limits(engine, &builder, patience, &now, error);
}

const struct lk_limit_ops lk_service_limit_ops = {.get = limits_get, .set = limits_set};
