/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/requests, /v1/break, /v1/audit, /v1/limits: looking and administering. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "engine/reply/reply.h"
#include "http.h"

enum { PAGE_COUNT = 3 }; /* so that pages are turned */

static lk_entry read_entry(struct http_reader *reader, const json_t *json) {
    lk_entry entry = {
        .path = http_read_text(reader, json, "path"),
        .owner = http_read_text(reader, json, "owner"),
        .note = http_read_text(reader, json, "note"),
        .ticket = http_read_count(reader, json, "ticket"),
        .token = http_read_count(reader, json, "token"),
        .held = http_read_word(reader, json, "state", "held", "waiting"),
        .shared = http_read_word(reader, json, "mode", "shared", "exclusive"),
        .revoked = http_read_flag(reader, json, "revoked"),
        .limit = (uint32_t)http_read_count(reader, json, "limit"),
        .units = (uint32_t)http_read_count(reader, json, "units"),
        .ttl_ms = http_read_number(reader, json, "ttl_ms", -1),
        .expires_in_ms = http_read_number(reader, json, "expires_in_ms", -1),
        .age_ms = http_read_number(reader, json, "age_ms", -1),
        .position = http_read_count(reader, json, "position"),
    };

    entry.blockers = http_read_blockers(reader, json, &entry.blocker_count);
    reader->is_damaged = reader->is_damaged || entry.path == NULL || entry.owner == NULL;
    return entry;
}

/* Adds what the answer lists. Parts of one request are listed together, under one ticket and
 * owner. */
static lk_outcome read_entries(const json_t *json, lk_listing *listing, lk_error *error) {
    struct http_reader reader = {.is_damaged = false};
    const json_t *array = json_object_get(json, "requests");
    size_t count = listing->count + json_array_size(array);
    lk_entry *entries = reallocarray(listing->entries, count + 1, sizeof *entries);

    if (entries == NULL || !json_is_array(array)) {
        return lk_error_set(error, LK_INTERNAL, "no list, or no memory for it");
    }
    listing->entries = entries;
    for (size_t i = 0; listing->count < count && !reader.is_damaged; i++) {
        lk_entry *entry = &entries[listing->count++];
        *entry = read_entry(&reader, json_array_get(array, i));
        if (listing->count > 1 && !reader.is_damaged) {
            bool is_same =
                entry[-1].ticket == entry->ticket && strcmp(entry[-1].owner, entry->owner) == 0;
            entry->request_index = entry[-1].request_index + (is_same ? 0 : 1);
        }
    }
    return http_read_end(&reader, error);
}

/* One page, and where the next one begins; "0": nowhere. */
static lk_outcome list_page(struct lk_engine *engine, const char *query,
                            const struct lk_patience *patience, lk_listing *listing,
                            char ret_cursor[64], lk_error *error) {
    struct http_call call = {.method = "GET", .target = http_target("/v1/requests", NULL, query)};
    struct http_answer answer;
    lk_outcome outcome = http_exchange(engine, &call, patience, &answer, error);
    const char *cursor = json_string_value(json_object_get(answer.json, "cursor"));

    if (outcome == LK_OK) {
        outcome = cursor != NULL && strlen(cursor) < 64
                      ? read_entries(answer.json, listing, error)
                      : lk_error_set(error, LK_INTERNAL, "a page without a cursor");
    }
    if (outcome == LK_OK) {
        (void)strcpy(ret_cursor, cursor);
    }
    http_answer_done(&answer);
    return outcome;
}

static lk_outcome end_listing(lk_outcome outcome, lk_listing *listing, lk_listing **ret_listing) {
    if (outcome == LK_OK) {
        *ret_listing = listing;
    } else {
        lk_listing_free(listing);
    }
    return outcome;
}

lk_outcome http_list(struct lk_engine *engine, const struct lk_path *prefix,
                     const struct lk_patience *patience, lk_listing **ret_listing,
                     lk_error *error) {
    char *below = http_target("?prefix=", prefix, "");
    lk_listing *listing = lk_listing_new();
    lk_outcome outcome = below != NULL && listing != NULL
                             ? LK_OK
                             : lk_error_set(error, LK_INTERNAL, "no memory for a list");
    char cursor[64] = "";

    while (outcome == LK_OK && strcmp(cursor, "0") != 0) {
        char *query = NULL;
        if (asprintf(&query, "%s&count=%d%s%s", below, PAGE_COUNT,
                     cursor[0] != '\0' ? "&cursor=" : "", cursor)
            < 0) {
            outcome = lk_error_set(error, LK_INTERNAL, "no memory for a query");
        } else {
            outcome = list_page(engine, query, patience, listing, cursor, error);
            free(query);
        }
    }
    free(below);
    return end_listing(outcome, listing, ret_listing);
}

lk_outcome http_show(struct lk_engine *engine, const struct lk_path *path,
                     const struct lk_patience *patience, lk_listing **ret_listing,
                     lk_error *error) {
    struct http_call call = {.method = "GET", .target = http_target("/v1/requests/", path, "")};
    struct http_answer answer;
    lk_listing *listing = lk_listing_new();
    lk_outcome outcome = http_exchange(engine, &call, patience, &answer, error);

    if (outcome == LK_OK) {
        outcome = listing != NULL ? read_entries(answer.json, listing, error)
                                  : lk_error_set(error, LK_INTERNAL, "no memory for a list");
    }
    http_answer_done(&answer);
    return end_listing(outcome, listing, ret_listing);
}

lk_outcome http_break(struct lk_engine *engine, const struct lk_break *broken,
                      const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_slice path = {.bytes = broken->path.bytes, .size = broken->path.size};
    struct http_reader reader = {.is_damaged = false};
    struct http_call call = {.method = "POST", .body = json_object()};
    struct http_answer answer;
    struct lk_path queue;
    struct lk_slice id;
    lk_outcome outcome;

    if (broken->cancels) {
        lk_path_split(&broken->path, &queue, &id);
        call.target = http_target("/v1/cancel", NULL, "");
        http_add(call.body, "queue", http_text((struct lk_slice){queue.bytes, queue.size}));
        http_add(call.body, "id", http_text(id));
    } else {
        call.target = http_target("/v1/break", NULL, "");
        http_add(call.body, "path", http_text(path));
    }
    http_add(call.body, "reason", http_text(broken->reason));
    http_add(call.body, "by", http_text(broken->by));
    http_add(call.body, "now", json_boolean(broken->at_once));
    if (broken->owner.size > 0) {
        http_add(call.body, "owner", http_text(broken->owner));
    }
    outcome = http_exchange(engine, &call, patience, &answer, &decision->error);
    if (outcome == LK_OK) {
        int64_t count = http_read_number(&reader, answer.json, "broken", -1);
        reader.is_damaged = reader.is_damaged || count < 0;
        outcome = http_read_end(&reader, &decision->error);
        decision->broken = outcome == LK_OK ? (size_t)count : 0;
    }
    http_answer_done(&answer);
    return outcome;
}

static lk_outcome read_audit(const json_t *json, lk_audit *audit, lk_error *error) {
    struct http_reader reader = {.is_damaged = false};
    const json_t *array = json_object_get(json, "audit");

    audit->entries = calloc(json_array_size(array) + 1, sizeof *audit->entries);
    if (audit->entries == NULL || !json_is_array(array)) {
        return lk_error_set(error, LK_INTERNAL, "no audit, or no memory for it");
    }
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *entry = json_array_get(array, i);
        lk_audit_entry *read = &audit->entries[audit->count++];
        *read = (lk_audit_entry){
            .at_unix_ms = http_read_number(&reader, entry, "at_ms", 0),
            .by = http_read_text(&reader, entry, "by"),
            .reason = http_read_text(&reader, entry, "reason"),
            .path = http_read_text(&reader, entry, "path"),
            .owner = http_read_text(&reader, entry, "owner"),
            .note = http_read_text(&reader, entry, "note"),
            .ticket = http_read_count(&reader, entry, "ticket"),
            .token = http_read_count(&reader, entry, "token"),
            .held = http_read_word(&reader, entry, "state", "held", "waiting"),
        };
        reader.is_damaged = reader.is_damaged || read->by == NULL || read->reason == NULL
                            || read->path == NULL || read->owner == NULL;
    }
    return http_read_end(&reader, error);
}

lk_outcome http_audit(struct lk_engine *engine, const struct lk_path *prefix,
                      const struct lk_patience *patience, lk_audit **ret_audit, lk_error *error) {
    struct http_call call = {.method = "GET",
                             .target = http_target("/v1/audit?prefix=", prefix, "")};
    struct http_answer answer;
    lk_audit *audit = lk_audit_new();
    lk_outcome outcome = http_exchange(engine, &call, patience, &answer, error);

    if (outcome == LK_OK) {
        outcome = audit != NULL ? read_audit(answer.json, audit, error)
                                : lk_error_set(error, LK_INTERNAL, "no memory for the audit");
    }
    if (outcome == LK_OK) {
        *ret_audit = audit;
    } else {
        lk_audit_free(audit);
    }
    http_answer_done(&answer);
    return outcome;
}

static lk_outcome call_for_limits(struct lk_engine *engine, struct http_call *call,
                                  const struct lk_patience *patience, lk_limits *ret_limits,
                                  lk_error *error) {
    struct http_reader reader = {.is_damaged = false};
    struct http_answer answer;
    lk_outcome outcome = http_exchange(engine, call, patience, &answer, error);

    if (outcome == LK_OK) {
        lk_limits limits = {
            .size = sizeof limits,
            .live = http_read_count(&reader, answer.json, "live"),
            .live_per_owner = http_read_count(&reader, answer.json, "live_per_owner"),
            .live_per_root = http_read_count(&reader, answer.json, "live_per_root"),
            .waiters_per_path = http_read_count(&reader, answer.json, "waiters_per_path"),
            .events = http_read_count(&reader, answer.json, "events"),
        };
        outcome = http_read_end(&reader, error);
        *ret_limits = outcome == LK_OK ? limits : *ret_limits;
    }
    http_answer_done(&answer);
    return outcome;
}

lk_outcome http_limits_get(struct lk_engine *engine, const struct lk_patience *patience,
                           lk_limits *ret_limits, lk_error *error) {
    struct http_call call = {.method = "GET", .target = http_target("/v1/limits", NULL, "")};

    return call_for_limits(engine, &call, patience, ret_limits, error);
}

static void add_limit(json_t *body, const char *name, uint64_t limit) {
    if (limit != LK_LIMIT_AS_IS) {
        http_add(body, name, json_integer((json_int_t)limit));
    }
}

lk_outcome http_limits_set(struct lk_engine *engine, const lk_limits *limits,
                           const struct lk_patience *patience, lk_error *error) {
    struct http_call call = {
        .method = "POST", .target = http_target("/v1/limits", NULL, ""), .body = json_object()};
    lk_limits set;

    add_limit(call.body, "live", limits->live);
    add_limit(call.body, "live_per_owner", limits->live_per_owner);
    add_limit(call.body, "live_per_root", limits->live_per_root);
    add_limit(call.body, "waiters_per_path", limits->waiters_per_path);
    add_limit(call.body, "events", limits->events);
    return call_for_limits(engine, &call, patience, &set, error);
}
