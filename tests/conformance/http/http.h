/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP listener of a service as a store, http+unix:PATH, for this suite only: every operation
 * of engine/engine.h as one exchange of docs/wire.md, by libcurl, so that the scenarios go through
 * the listener as an outsider's client would.
 *
 * exchange.c sends and receives, json.c reads answers into records, asks.c, look.c and work.c say
 * what is sent for what, events.c follows. What the protocol promises of every answer is checked
 * here and nowhere else: the status of HTTP that goes with an outcome, and the types of bodies.
 * Any breach is LK_INTERNAL with its sentence, which fails the scenario.
 */
#ifndef CONFORMANCE_HTTP_HTTP_H
#define CONFORMANCE_HTTP_HTTP_H

#include <curl/curl.h>
#include <jansson.h>
#include <pthread.h>

#include "base/buffer.h"
#include "engine/engine.h"

/* A connection that is free, or is in use by one call. */
struct http_link {
    struct http_link *next;
    CURLM *multi; /* keeps the connection open from one call to the next */
    CURL *easy;
};

struct http_stream; /* events.c */

struct http_store {
    struct lk_engine engine;
    char *socket;
    pthread_mutex_t mutex; /* guards the links that are free */
    struct http_link *idle;
    pthread_mutex_t following; /* held by the thread that uses the stream */
    struct http_stream *stream;
};

static inline struct http_store *http_store_of(struct lk_engine *engine) {
    return (struct http_store *)(void *)engine;
}

/* ---- exchange.c ---- */

/* One exchange. `target` and `body` are taken over; a body of JSON makes it a POST. */
struct http_call {
    const char *method;
    char *target;          /* NULL: memory was exhausted */
    json_t *body;          /* POST */
    struct lk_slice bytes; /* PUT */
    bool is_raw;           /* an answer of 200 is bytes, no JSON */
};

struct http_answer {
    json_t *json;           /* NULL: raw */
    struct lk_buffer bytes; /* of the body */
    bool is_in_doubt;       /* Lockkeeper-In-Doubt: 1 */
    bool is_in_other_doubt; /* of another value */
};

/*
 * The outcome that the answer says; or LK_UNAVAILABLE, LK_CANCELLED, LK_INTERNAL by itself. *error
 * is always set. The answer is to be ended with http_answer_done() in every case.
 */
lk_outcome http_exchange(struct lk_engine *engine, struct http_call *call,
                         const struct lk_patience *patience, struct http_answer *ret_answer,
                         lk_error *error);
void http_answer_done(struct http_answer *answer);

/* For answers that are no more than an outcome. */
lk_outcome http_tell(struct lk_engine *engine, struct http_call *call,
                     const struct lk_patience *patience, lk_error *error);

/* A call that blocks in the service; what came of it is looked for by the next one. */
lk_outcome http_block(struct lk_engine *engine, struct http_call *call, int64_t until_us,
                      struct lk_waker *waker);

/* `route` and the path, encoded, and what follows; for call.target. */
char *http_target(const char *route, const struct lk_path *path, const char *query);

/* A new handle for the service; NULL: none is to be had. */
CURL *http_handle_new(const struct http_store *store, const char *target);

/* Runs the transfers of `multi` until none is left, the patience is over, or its waker thrown. */
lk_outcome http_run(CURLM *multi, const struct lk_patience *patience, lk_error *error);

/* ---- json.c ---- */

/* Reading an object: what is missing is NULL, -1 or 0; what has another type is a breach. */
struct http_reader {
    bool is_damaged;
};

char *http_read_text(struct http_reader *reader, const json_t *object, const char *name);
int64_t http_read_number(struct http_reader *reader, const json_t *object, const char *name,
                         int64_t otherwise);
uint64_t http_read_count(struct http_reader *reader, const json_t *object, const char *name);
bool http_read_flag(struct http_reader *reader, const json_t *object, const char *name);

/* Whether the member is `yes`; it must be that or `no`. */
bool http_read_word(struct http_reader *reader, const json_t *object, const char *name,
                    const char *yes, const char *no);

/* `value` or `value_base64`, with a 0 behind it; NULL: none. */
void *http_read_value(struct http_reader *reader, const json_t *object, size_t *ret_size);

/* An array of texts; its copies, or NULL of an array that is missing or empty. */
char **http_read_texts(struct http_reader *reader, const json_t *object, const char *name,
                       size_t *ret_count);
lk_blocker_info *http_read_blockers(struct http_reader *reader, const json_t *object,
                                    size_t *ret_count);

/* LK_OK, or LK_INTERNAL in *error. */
lk_outcome http_read_end(const struct http_reader *reader, lk_error *error);

/* Bodies. Texts that are not UTF-8 cannot be said: the body becomes NULL. */
json_t *http_text(struct lk_slice text);
json_t *http_paths(const struct lk_part *parts, size_t count, bool with_modes);
void http_add(json_t *body, const char *name, json_t *value);
void http_add_number(json_t *body, const char *name, int64_t number); /* unless it is 0 */

/* As `name`, or in base64 as `name`_base64. */
void http_add_value(json_t *body, const char *name, struct lk_slice bytes);

/* The same of an array of values. */
void http_add_values(json_t *body, const char *name, const struct lk_release_put *puts,
                     size_t count);

/* ---- the operations ---- */

lk_outcome http_decide(struct lk_engine *engine, const struct lk_command *command,
                       const struct lk_patience *patience, struct lk_decision *ret_decision);
lk_outcome http_await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                      int64_t until_us, struct lk_waker *waker);

/* Of http_decide(), into an empty decision. */
lk_outcome http_break(struct lk_engine *engine, const struct lk_break *broken,
                      const struct lk_patience *patience, struct lk_decision *decision);
lk_outcome http_put(struct lk_engine *engine, const struct lk_put *put,
                    const struct lk_patience *patience, struct lk_decision *decision);
lk_outcome http_push(struct lk_engine *engine, const struct lk_push *push,
                     const struct lk_patience *patience, struct lk_decision *decision);
lk_outcome http_take(struct lk_engine *engine, const struct lk_take *take,
                     const struct lk_patience *patience, struct lk_decision *decision);
lk_outcome http_finish(struct lk_engine *engine, const struct lk_finish *finish,
                       const struct lk_patience *patience, struct lk_decision *decision);
lk_outcome http_unpark(struct lk_engine *engine, const struct lk_unpark *unpark,
                       const struct lk_patience *patience, struct lk_decision *decision);
json_t *http_body_of_take(const struct lk_take *take);

lk_outcome http_list(struct lk_engine *engine, const struct lk_path *prefix,
                     const struct lk_patience *patience, lk_listing **ret_listing, lk_error *error);
lk_outcome http_show(struct lk_engine *engine, const struct lk_path *path,
                     const struct lk_patience *patience, lk_listing **ret_listing, lk_error *error);
lk_outcome http_audit(struct lk_engine *engine, const struct lk_path *prefix,
                      const struct lk_patience *patience, lk_audit **ret_audit, lk_error *error);
lk_outcome http_value_get(struct lk_engine *engine, const struct lk_path *path,
                          const struct lk_patience *patience, lk_value **ret_value,
                          lk_error *error);
lk_outcome http_values(struct lk_engine *engine, const struct lk_value_query *query,
                       const struct lk_patience *patience, lk_value_list **ret_list,
                       lk_error *error);
lk_outcome http_items(struct lk_engine *engine, const struct lk_item_query *query,
                      const struct lk_patience *patience, lk_item_list **ret_list, lk_error *error);
lk_outcome http_stats(struct lk_engine *engine, const struct lk_path *queue,
                      enum lk_stats_depth depth, const struct lk_patience *patience,
                      lk_queue_stats *ret_stats, lk_error *error);
lk_outcome http_events(struct lk_engine *engine, const struct lk_event_query *query,
                       const struct lk_patience *patience, struct lk_event_page **ret_page,
                       lk_error *error);
lk_outcome http_await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                             struct lk_waker *waker);
lk_outcome http_limits_get(struct lk_engine *engine, const struct lk_patience *patience,
                           lk_limits *ret_limits, lk_error *error);
lk_outcome http_limits_set(struct lk_engine *engine, const lk_limits *limits,
                           const struct lk_patience *patience, lk_error *error);
void http_stream_free(struct http_stream *stream); /* accepts NULL */

#endif
