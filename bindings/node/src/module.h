/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Node.js binding: what its files share. The module gives JavaScript (../index.js) functions
 * with plain arguments; classes, errors and checks of options are there.
 *
 * Calls of the library run in threads of the module (call.c), never in those of libuv, of which
 * there are four. What they bring back goes to the thread of the event loop through a home, one for
 * each environment: the main thread, or a worker of worker_threads. When the environment ends, its
 * home ends all waits, and closes what is open, before anything of JavaScript's is gone.
 */
#ifndef LOCKKEEPER_NODE_MODULE_H
#define LOCKKEEPER_NODE_MODULE_H

#include <node_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockkeeper/lockkeeper.h"

struct lk_node_home;

/* ---- threads (call.c) ------------------------------------------------------------------------ */

enum lk_node_lane {
    LK_NODE_SHORT, /* lasts as long as a store takes to answer; a few threads */
    LK_NODE_WAIT,  /* waits for others; a thread each */
    LK_NODE_LANES
};

/* Something that a thread runs, and then the thread of the event loop settles. */
struct lk_node_task {
    struct lk_node_task *next;
    struct lk_node_home *home;
    bool is_quiet; /* the event loop does not stay alive for it */
    void (*run)(struct lk_node_task *task);
    /* Frees the task. `env` NULL: the environment has ended, nothing can be told any more. */
    void (*settle)(napi_env env, struct lk_node_task *task);
};

bool lk_node_thread_run(struct lk_node_task *task, enum lk_node_lane lane); /* false: no thread */

/* ---- homes (home.c) -------------------------------------------------------------------------- */

/*
 * What a home stops and ends: stores, leases, watches, feeds, cancellations. Counted by its object
 * of JavaScript and by the tasks that use it; freed with the last of them.
 */
struct lk_node_thing {
    struct lk_node_home *home;
    struct lk_node_thing *former, *later; /* in the order in which they were made */
    atomic_int count;
    bool is_stopped_when_collected;
    void (*stop)(struct lk_node_thing *thing); /* ends its waits; NULL: has none */
    void (*end)(struct lk_node_thing *thing);  /* closes it, if it is open */
};

struct lk_node_home *lk_node_home_open(napi_env env, napi_value exports);
struct lk_node_home *lk_node_home(napi_env env);
napi_value lk_node_home_end(napi_env env, napi_callback_info info); /* at the process's exit */

/* Begins a task. False: there is no thread for it, and it is the caller's to free. */
bool lk_node_task_start(struct lk_node_task *task, enum lk_node_lane lane);
void lk_node_task_ended(struct lk_node_task *task); /* in its thread: to the event loop */
/* From any thread: to the event loop without a thread of its own. */
void lk_node_notice(struct lk_node_home *home, struct lk_node_task *task);
/* Calls the function of JavaScript that hears of losses, items and steps. */
void lk_node_tell(napi_env env, napi_value what);

/* A new thing, all zero, of `size` bytes, counted once; NULL: no memory. */
void *lk_node_thing_new(struct lk_node_home *home, size_t size,
                        void (*stop)(struct lk_node_thing *thing),
                        void (*end)(struct lk_node_thing *thing));
void *lk_node_thing_hold(void *thing);
void lk_node_thing_drop(void *thing); /* accepts NULL; may block: not in the event loop */
/* The object of JavaScript for a thing, which takes the caller's count. */
napi_value lk_node_thing_wrap(napi_env env, void *thing, const napi_type_tag *tag);
void *lk_node_thing_of(napi_env env, napi_value value, const napi_type_tag *tag); /* NULL: thrown */

extern const napi_type_tag lk_node_store_tag;
extern const napi_type_tag lk_node_cancel_tag;
extern const napi_type_tag lk_node_lease_tag;
extern const napi_type_tag lk_node_watch_tag;
extern const napi_type_tag lk_node_feed_tag;

struct lk_node_store {
    struct lk_node_thing thing;
    lk_store *handle; /* NULL: closed */
};

struct lk_node_cancel {
    struct lk_node_thing thing;
    lk_cancel *handle;
};

/* ---- calls (call.c) -------------------------------------------------------------------------- */

/* A call that answers a promise. Texts and bytes that it was given are copies of its own. */
struct lk_node_call {
    struct lk_node_task task;
    napi_env env; /* in the thread of the event loop alone */
    napi_deferred deferred;
    bool is_bad; /* an argument was wrong: an exception is pending */
    struct lk_node_store *store;
    struct lk_node_cancel *cancel;
    void (*run)(struct lk_node_call *call);
    /* Adds to the answer, which has outcome and text already; NULL: nothing. */
    void (*fill)(napi_env env, struct lk_node_call *call, napi_value answer);
    void (*destroy)(struct lk_node_call *call); /* all but the call; NULL: nothing */
    lk_outcome outcome;
    lk_error error;
    struct lk_node_block *blocks;

    /* For calls that need no struct of their own. */
    const char *path, *text[3];
    const void *bytes;
    size_t size;
    uint64_t number, found;
    void *answer;
};

enum { LK_NODE_ARGUMENTS_MAX = 7 };

/* Reads the arguments; the missing ones are undefined. */
void lk_node_arguments(napi_env env, napi_callback_info info, napi_value *arguments);
/* A new call of `size` bytes; NULL: an exception is pending. */
void *lk_node_call_new(napi_env env, size_t size, void (*run)(struct lk_node_call *call));
/* The same on a store that is open. */
void *lk_node_store_call(napi_env env, napi_value store, size_t size,
                         void (*run)(struct lk_node_call *call));
/* Returns the promise; or NULL with an exception, the call freed, if an argument was wrong. */
napi_value lk_node_call_start(struct lk_node_call *call, enum lk_node_lane lane);
void lk_node_call_free(struct lk_node_call *call);

/* ---- arguments (arguments.c) ----------------------------------------------------------------- */

void *lk_node_memory(struct lk_node_call *call, size_t size); /* freed with the call; zeroed */
napi_value lk_node_get(struct lk_node_call *call, napi_value object, const char *name);
/* Undefined and null are: NULL, 0, false. */
const char *lk_node_text(struct lk_node_call *call, napi_value value);
const char *const *lk_node_texts(struct lk_node_call *call, napi_value value, size_t *ret_count);
int64_t lk_node_integer(struct lk_node_call *call, napi_value value, int64_t otherwise);
uint64_t lk_node_big(struct lk_node_call *call, napi_value value);
bool lk_node_flag(struct lk_node_call *call, napi_value value);
const void *lk_node_bytes(struct lk_node_call *call, napi_value value, size_t *ret_size);
/* The length of an array; 0: none. */
uint32_t lk_node_length(struct lk_node_call *call, napi_value value);
napi_value lk_node_element(struct lk_node_call *call, napi_value array, uint32_t index);
struct lk_node_cancel *lk_node_cancel_held(struct lk_node_call *call, napi_value value);

/* ---- answers (arguments.c) ------------------------------------------------------------------- */

napi_value lk_node_object(napi_env env);
void lk_node_set(napi_env env, napi_value object, const char *name, napi_value value);
void lk_node_set_text(napi_env env, napi_value object, const char *name, const char *text);
void lk_node_set_bytes(napi_env env, napi_value object, const char *name, const void *bytes,
                       size_t size);
void lk_node_set_number(napi_env env, napi_value object, const char *name, int64_t number);
void lk_node_set_big(napi_env env, napi_value object, const char *name, uint64_t number);
void lk_node_set_flag(napi_env env, napi_value object, const char *name, bool flag);
void lk_node_set_texts(napi_env env, napi_value object, const char *name, char *const *texts,
                       size_t count);
/* A new array at that name. */
napi_value lk_node_set_array(napi_env env, napi_value object, const char *name, size_t count);
napi_value lk_node_add(napi_env env, napi_value array, size_t index); /* a new object in it */
void lk_node_set_blockers(napi_env env, napi_value object, const lk_blocker_info *blockers,
                          size_t count);
void lk_node_set_result(napi_env env, napi_value answer, const lk_result *result);
void lk_node_set_claim(napi_env env, napi_value object, const lk_claim_info *claim);
void lk_node_set_counts(napi_env env, napi_value object, const lk_work_counts *counts);

/* ---- parts of the module --------------------------------------------------------------------- */

/* Fills a request of the call's own from an object of options. */
void lk_node_request(struct lk_node_call *call, napi_value options, lk_request *request);
const lk_part_put *lk_node_puts(struct lk_node_call *call, napi_value puts, size_t *ret_count);
/* Fills the table, and returns it; NULL: none is given. */
const lk_work_table *lk_node_table(struct lk_node_call *call, napi_value given,
                                   lk_work_table *table);
napi_value lk_node_lease_make(napi_env env, struct lk_node_home *home, lk_lease *handle);

struct lk_node_function {
    const char *name;
    napi_callback call;
};
void lk_node_functions(napi_env env, napi_value exports, const struct lk_node_function *functions);

void lk_node_store_open(napi_env env, napi_value exports);
void lk_node_request_open(napi_env env, napi_value exports);
void lk_node_lease_open(napi_env env, napi_value exports);
void lk_node_value_open(napi_env env, napi_value exports);
void lk_node_admin_open(napi_env env, napi_value exports);
void lk_node_queue_open(napi_env env, napi_value exports);
void lk_node_work_open(napi_env env, napi_value exports);
void lk_node_claim_open(napi_env env, napi_value exports);
void lk_node_watch_functions_open(napi_env env, napi_value exports);

#endif
