/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/values, and the queues of work: /v1/push, claim, done, retry, unpark, items, stats. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/reply/reply.h"
#include "http.h"

enum { PAGE_COUNT = 2 }; /* so that pages are turned */

/* ---- values ---------------------------------------------------------------------------------- */

lk_outcome http_value_get(struct lk_engine *engine, const struct lk_path *path,
                          const struct lk_patience *patience, lk_value **ret_value,
                          lk_error *error) {
    struct http_call call = {
        .method = "GET", .target = http_target("/v1/values/", path, ""), .is_raw = true};
    struct http_answer answer;
    lk_value *value = calloc(1, sizeof *value);
    lk_outcome outcome = http_exchange(engine, &call, patience, &answer, error);

    if (outcome == LK_OK && value != NULL) {
        struct lk_slice bytes = {.bytes = answer.bytes.bytes, .size = answer.bytes.size};
        *value = (lk_value){
            .bytes = lk_text_copy(bytes), .size = bytes.size, .in_doubt = answer.is_in_doubt};
    }
    http_answer_done(&answer);
    if (outcome == LK_OK && (value == NULL || value->bytes == NULL)) {
        outcome = lk_error_set(error, LK_INTERNAL, "no memory for the value");
    }
    if (outcome == LK_OK) {
        *ret_value = value;
    } else {
        lk_value_free(value);
    }
    return outcome;
}

/* A page, however many are wanted, so that pages are turned. */
static lk_outcome read_values(const json_t *json, lk_value_list *list, lk_error *error) {
    struct http_reader reader = {.is_damaged = false};
    const json_t *array = json_object_get(json, "values");

    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *value = json_array_get(array, i);
        char *path = http_read_text(&reader, value, "path");

        if (path == NULL
            || !lk_value_list_add(list, lk_slice_of(path), http_read_count(&reader, value, "size"),
                                  http_read_flag(&reader, value, "in_doubt"))) {
            reader.is_damaged = true;
        }
        free(path);
    }
    list->reached = http_read_text(&reader, json, "cursor");
    if (list->reached != NULL && strcmp(list->reached, "0") == 0) {
        free(list->reached);
        list->reached = NULL;
    } else if (list->reached != NULL) {
        (void)memmove(list->reached, list->reached + 1, strlen(list->reached));
    }
    return http_read_end(&reader, error);
}

lk_outcome http_values(struct lk_engine *engine, const struct lk_value_query *query,
                       const struct lk_patience *patience, lk_value_list **ret_list,
                       lk_error *error) {
    char *behind = curl_easy_escape(NULL, query->behind.bytes != NULL ? query->behind.bytes : "",
                                    (int)query->behind.size);
    struct http_call call = {.method = "GET"};
    char *below = http_target("/v1/values?prefix=", query->prefix, "");
    lk_value_list *list = lk_value_list_new();
    struct http_answer answer;
    lk_outcome outcome;

    if (asprintf(&call.target, "%s&count=%d%s%s", below, PAGE_COUNT,
                 query->behind.size > 0 ? "&cursor=/" : "", query->behind.size > 0 ? behind : "")
        < 0) {
        call.target = NULL;
    }
    free(below);
    curl_free(behind);
    outcome = http_exchange(engine, &call, patience, &answer, error);
    if (outcome == LK_OK) {
        outcome = read_values(answer.json, list, error);
    }
    http_answer_done(&answer);
    if (outcome == LK_OK) {
        *ret_list = list;
    } else {
        lk_value_list_free(list);
    }
    return outcome;
}

lk_outcome http_put(struct lk_engine *engine, const struct lk_put *put,
                    const struct lk_patience *patience, struct lk_decision *decision) {
    struct http_call call = {.method = put->deletes ? "DELETE" : "PUT", .bytes = put->bytes};
    char *owner = curl_easy_escape(NULL, put->owner.bytes != NULL ? put->owner.bytes : "",
                                   (int)put->owner.size);
    char *query = NULL;
    char token[32] = "";

    if (put->token != 0) {
        (void)snprintf(token, sizeof token, "&token=%llu", (unsigned long long)put->token);
    }
    if (put->owner.size > 0 && asprintf(&query, "?owner=%s%s", owner, token) < 0) {
        query = NULL;
    }
    call.target = http_target("/v1/values/", &put->path, query != NULL ? query : "");
    free(query);
    curl_free(owner);
    return http_tell(engine, &call, patience, &decision->error);
}

/* ---- adding and taking ----------------------------------------------------------------------- */

static json_t *body_of_item(const struct lk_path *queue, struct lk_slice id) {
    json_t *body = json_object();

    http_add(body, "queue", http_text((struct lk_slice){queue->bytes, queue->size}));
    http_add(body, "id", http_text(id));
    return body;
}

/* Of a push that has added nothing: what it has found, and whether it has changed it. */
static void read_found(struct http_reader *reader, const json_t *object,
                       lk_push_result *ret_pushed) {
    char *was = http_read_text(reader, object, "was");

    ret_pushed->changed = http_read_flag(reader, object, "changed");
    ret_pushed->was = was != NULL ? lk_item_state_name(lk_item_state_of(lk_slice_of(was))) : NULL;
    free(was);
}

lk_outcome http_push(struct lk_engine *engine, const struct lk_push *push,
                     const struct lk_patience *patience, struct lk_decision *decision) {
    struct http_reader reader = {.is_damaged = false};
    struct http_call call = {.method = "POST",
                             .target = http_target("/v1/push", NULL, ""),
                             .body = body_of_item(&push->queue, push->id)};
    struct http_answer answer;
    lk_outcome outcome;

    if (push->value.bytes != NULL) {
        http_add_value(call.body, "value", push->value);
    }
    http_add_number(call.body, "delay_ms", push->delay_ms);
    if (push->kind != LK_PUSH_NEW) {
        http_add(call.body, push->kind == LK_PUSH_AGAIN ? "again" : "replace", json_true());
    }
    if (push->need_count > 0) {
        http_add(call.body, "needs", http_paths(push->needs, push->need_count, true));
    }
    outcome = http_exchange(engine, &call, patience, &answer, &decision->error);
    if (outcome == LK_OK) {
        decision->pushed.added = http_read_flag(&reader, answer.json, "added");
        if (!decision->pushed.added) {
            read_found(&reader, answer.json, &decision->pushed);
        }
        outcome = http_read_end(&reader, &decision->error);
    }
    http_answer_done(&answer);
    return outcome;
}

json_t *http_body_of_take(const struct lk_take *take) {
    json_t *body = json_object();

    http_add(body, "queue", http_text((struct lk_slice){take->queue.bytes, take->queue.size}));
    http_add(body, "owner", http_text(take->owner));
    http_add_number(body, "ttl_ms", take->ttl_ms);
    http_add_number(body, "max_attempts", take->max_attempts);
    if (take->ask_number != 0) {
        http_add(body, "ask", json_integer((json_int_t)(take->ask_number & INT64_MAX) | 1));
    }
    if (take->note_given) {
        http_add(body, "note", http_text(take->note));
    }
    return body;
}

static lk_outcome read_claim(const json_t *json, const struct lk_take *take,
                             lk_claim_info **ret_claim, lk_error *error) {
    struct http_reader reader = {.is_damaged = false};
    lk_claim_info *claim = calloc(1, sizeof *claim);
    lk_outcome outcome;

    if (claim == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the claim");
    }
    *claim = (lk_claim_info){
        .queue = http_read_text(&reader, json, "queue"),
        .id = http_read_text(&reader, json, "id"),
        .owner = http_read_text(&reader, json, "owner"),
        .token = http_read_count(&reader, json, "token"),
        .attempt = (uint32_t)http_read_count(&reader, json, "attempt"),
        .is_stolen = http_read_flag(&reader, json, "stolen"),
        .ttl_ms = take->ttl_ms,
        .expires_in_ms = http_read_number(&reader, json, "expires_in_ms", -1),
    };
    claim->value = http_read_value(&reader, json, &claim->value_size);
    reader.is_damaged =
        reader.is_damaged || claim->queue == NULL || claim->id == NULL || claim->owner == NULL;
    outcome = http_read_end(&reader, error);
    if (outcome != LK_OK) {
        lk_claim_free(claim);
        return outcome;
    }
    *ret_claim = claim;
    return lk_error_clear(error, LK_GRANTED);
}

lk_outcome http_take(struct lk_engine *engine, const struct lk_take *take,
                     const struct lk_patience *patience, struct lk_decision *decision) {
    struct http_call call = {.method = "POST",
                             .target = http_target("/v1/claim", NULL, ""),
                             .body = http_body_of_take(take)};
    struct http_answer answer;
    lk_outcome outcome = http_exchange(engine, &call, patience, &answer, &decision->error);

    if (outcome == LK_GRANTED) {
        outcome = read_claim(answer.json, take, &decision->claim, &decision->error);
    }
    http_answer_done(&answer);
    return outcome;
}

lk_outcome http_finish(struct lk_engine *engine, const struct lk_finish *finish,
                       const struct lk_patience *patience, struct lk_decision *decision) {
    const char *route = finish->kind == LK_FINISH_DONE ? "/v1/done" : "/v1/retry";
    struct http_call call = {.method = "POST",
                             .target = http_target(route, NULL, ""),
                             .body = body_of_item(&finish->queue, finish->id)};

    http_add(call.body, "owner", http_text(finish->owner));
    http_add_number(call.body, "token", (int64_t)finish->token);
    http_add_number(call.body, "delay", finish->delay_ms);
    if (finish->is_uncounted) {
        http_add(call.body, "uncounted", json_true());
    }
    if (finish->parks) {
        http_add(call.body, "park", json_true());
    }
    return http_tell(engine, &call, patience, &decision->error);
}

lk_outcome http_unpark(struct lk_engine *engine, const struct lk_unpark *unpark,
                       const struct lk_patience *patience, struct lk_decision *decision) {
    struct http_call call = {.method = "POST",
                             .target = http_target("/v1/unpark", NULL, ""),
                             .body = body_of_item(&unpark->queue, unpark->id)};

    return http_tell(engine, &call, patience, &decision->error);
}

/* ---- looking --------------------------------------------------------------------------------- */

static const char *read_state(struct http_reader *reader, const json_t *json) {
    static const char *const states[] = {"ready",     "delayed", "claimed", "parked",
                                         "cancelled", "again",   "done"};
    const char *said = json_string_value(json_object_get(json, "state"));

    for (size_t i = 0; said != NULL && i < sizeof states / sizeof states[0]; i++) {
        if (strcmp(said, states[i]) == 0) {
            return states[i];
        }
    }
    reader->is_damaged = true;
    return NULL;
}

static lk_outcome read_items(const json_t *json, lk_item_list *list, lk_error *error) {
    struct http_reader reader = {.is_damaged = false};
    const json_t *array = json_object_get(json, "items");
    size_t count = list->count + json_array_size(array);
    lk_item_info *items = reallocarray(list->items, count + 1, sizeof *items);

    if (items == NULL || !json_is_array(array)) {
        return lk_error_set(error, LK_INTERNAL, "no items, or no memory for them");
    }
    list->items = items;
    for (size_t i = 0; list->count < count; i++) {
        const json_t *item = json_array_get(array, i);
        lk_item_info *read = &items[list->count++];
        *read = (lk_item_info){
            .id = http_read_text(&reader, item, "id"),
            .owner = http_read_text(&reader, item, "owner"),
            .state = read_state(&reader, item),
            .attempts = (uint32_t)http_read_count(&reader, item, "attempts"),
            .due_in_ms = http_read_number(&reader, item, "due_in_ms", -1),
            .expires_in_ms = http_read_number(&reader, item, "expires_in_ms", -1),
        };
        read->value = http_read_value(&reader, item, &read->value_size);
        read->needs = http_read_texts(&reader, item, "needs", &read->need_count);
        reader.is_damaged = reader.is_damaged || read->id == NULL;
    }
    return http_read_end(&reader, error);
}

/* One page; *ret_cursor is where the next one begins, "0": nowhere. */
static lk_outcome items_page(struct lk_engine *engine, const struct lk_item_query *wanted,
                             const struct lk_patience *patience, lk_item_list *list,
                             char ret_cursor[64], lk_error *error) {
    char query[512];
    struct http_call call = {.method = "GET"};
    struct http_answer answer;
    const char *cursor;
    lk_outcome outcome;

    (void)snprintf(query, sizeof query, "?count=%d%s%s%s%.*s", PAGE_COUNT,
                   ret_cursor[0] != '\0' ? "&cursor=" : "", ret_cursor,
                   wanted->id.size > 0 ? "&id=" : "", (int)wanted->id.size, wanted->id.bytes);
    call.target = http_target("/v1/items/", wanted->queue, query);
    outcome = http_exchange(engine, &call, patience, &answer, error);
    cursor = json_string_value(json_object_get(answer.json, "cursor"));
    if (outcome == LK_OK) {
        outcome = cursor != NULL && strlen(cursor) < 64
                      ? read_items(answer.json, list, error)
                      : lk_error_set(error, LK_INTERNAL, "a page without a cursor");
    }
    if (outcome == LK_OK) {
        (void)strcpy(ret_cursor, cursor);
    }
    http_answer_done(&answer);
    return outcome;
}

lk_outcome http_items(struct lk_engine *engine, const struct lk_item_query *query,
                      const struct lk_patience *patience, lk_item_list **ret_list,
                      lk_error *error) {
    lk_item_list *list = lk_item_list_new();
    lk_outcome outcome =
        list != NULL ? LK_OK : lk_error_set(error, LK_INTERNAL, "no memory for the items");
    char cursor[64] = "";

    while (outcome == LK_OK && strcmp(cursor, "0") != 0) {
        outcome = items_page(engine, query, patience, list, cursor, error);
    }
    if (outcome == LK_OK) {
        *ret_list = list;
    } else {
        lk_item_list_free(list);
    }
    return outcome;
}

lk_outcome http_stats(struct lk_engine *engine, const struct lk_path *queue,
                      enum lk_stats_depth depth, const struct lk_patience *patience,
                      lk_queue_stats *ret_stats, lk_error *error) {
    struct http_reader reader = {.is_damaged = false};
    struct http_call call = {.method = "GET", .target = http_target("/v1/stats/", queue, "")};
    struct http_answer answer;
    lk_outcome outcome = http_exchange(engine, &call, patience, &answer, error);

    (void)depth; /* the service counts them all */
    if (outcome == LK_OK) {
        const json_t *json = answer.json;
        lk_queue_stats stats = {
            .pushed = http_read_count(&reader, json, "pushed"),
            .duplicates = http_read_count(&reader, json, "duplicates"),
            .claims = http_read_count(&reader, json, "claims"),
            .steals = http_read_count(&reader, json, "steals"),
            .done = http_read_count(&reader, json, "done"),
            .retried = http_read_count(&reader, json, "retried"),
            .parked = http_read_count(&reader, json, "parked"),
            .ready_now = http_read_count(&reader, json, "ready_now"),
            .delayed_now = http_read_count(&reader, json, "delayed_now"),
            .claimed_now = http_read_count(&reader, json, "claimed_now"),
            .parked_now = http_read_count(&reader, json, "parked_now"),
            .done_now = http_read_count(&reader, json, "done_now"),
            .oldest_ready_ms = http_read_number(&reader, json, "oldest_ready_ms", -1),
        };
        outcome = http_read_end(&reader, error);
        *ret_stats = outcome == LK_OK ? stats : *ret_stats;
    }
    http_answer_done(&answer);
    return outcome;
}
