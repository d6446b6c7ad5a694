/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that answer a promise: with an object that has the outcome, whatever that is. And the
 * threads that make them, which belong to the process and serve all environments. A thread that has
 * nothing to do for a while ends. Short tasks wait for one of a few threads; a task that waits for
 * others always gets a thread, or is refused: behind other waits it could wait for itself.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "module.h"

/* ---- calls ----------------------------------------------------------------------------------- */

void lk_node_arguments(napi_env env, napi_callback_info info, napi_value *arguments) {
    size_t count = LK_NODE_ARGUMENTS_MAX;

    (void)napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
}

void lk_node_functions(napi_env env, napi_value exports, const struct lk_node_function *functions) {
    for (; functions->name != NULL; functions++) {
        napi_value function;

        if (napi_create_function(env, functions->name, NAPI_AUTO_LENGTH, functions->call, NULL,
                                 &function)
            == napi_ok) {
            lk_node_set(env, exports, functions->name, function);
        }
    }
}

struct lk_node_block {
    struct lk_node_block *next;
    max_align_t memory[];
};

void *lk_node_memory(struct lk_node_call *call, size_t size) {
    struct lk_node_block *block = calloc(1, sizeof *block + size);

    if (block == NULL) {
        if (!call->is_bad) {
            (void)napi_throw_error(call->env, NULL, "no memory for a call");
        }
        call->is_bad = true;
        return NULL;
    }
    block->next = call->blocks;
    call->blocks = block;
    return block->memory;
}

void lk_node_call_free(struct lk_node_call *call) {
    struct lk_node_block *next;

    if (call->destroy != NULL) {
        call->destroy(call);
    }
    for (struct lk_node_block *block = call->blocks; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    lk_node_thing_drop(call->cancel);
    lk_node_thing_drop(call->store);
    free(call);
}

static void call_run(struct lk_node_task *task) {
    struct lk_node_call *call = (struct lk_node_call *)task;

    call->run(call);
}

static void call_settle(napi_env env, struct lk_node_task *task) {
    struct lk_node_call *call = (struct lk_node_call *)task;

    if (env != NULL) {
        napi_value answer = lk_node_object(env);
        const char *text = call->error.text;

        lk_node_set_number(env, answer, "outcome", call->outcome);
        lk_node_set_text(env, answer, "text",
                         text[0] != '\0' ? text : lk_outcome_text(call->outcome));
        if (call->fill != NULL) {
            call->fill(env, call, answer);
        }
        (void)napi_resolve_deferred(env, call->deferred, answer);
    }
    lk_node_call_free(call);
}

void *lk_node_call_new(napi_env env, size_t size, void (*run)(struct lk_node_call *call)) {
    struct lk_node_call *call = calloc(1, size);

    if (call == NULL) {
        (void)napi_throw_error(env, NULL, "no memory for a call");
        return NULL;
    }
    call->task.home = lk_node_home(env);
    call->task.run = call_run;
    call->task.settle = call_settle;
    call->env = env;
    call->run = run;
    return call;
}

void *lk_node_store_call(napi_env env, napi_value value, size_t size,
                         void (*run)(struct lk_node_call *call)) {
    struct lk_node_store *store = lk_node_thing_of(env, value, &lk_node_store_tag);
    struct lk_node_call *call;

    if (store == NULL) {
        return NULL;
    }
    if (store->handle == NULL) {
        (void)napi_throw_error(env, "LK_CLOSED", "the store is closed");
        return NULL;
    }
    call = lk_node_call_new(env, size, run);
    if (call != NULL) {
        call->store = lk_node_thing_hold(store);
    }
    return call;
}

napi_value lk_node_call_start(struct lk_node_call *call, enum lk_node_lane lane) {
    napi_env env = call->env;
    napi_value promise = NULL;

    if (call->is_bad || napi_create_promise(env, &call->deferred, &promise) != napi_ok) {
        lk_node_call_free(call);
        return NULL;
    }
    if (!lk_node_task_start(&call->task, lane)) {
        call->outcome = LK_INTERNAL;
        (void)snprintf(call->error.text, sizeof call->error.text,
                       "the system has no thread for a call");
        call->fill = NULL;
        call_settle(env, &call->task);
    }
    return promise;
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { SHORT_THREADS_MAX = 8, IDLE_S = 5 };

struct lane {
    pthread_mutex_t mutex;
    pthread_cond_t work;
    struct lk_node_task *first, *last;
    size_t queued, idle, threads, threads_max;
};

static struct lane lanes[LK_NODE_LANES] = {
    [LK_NODE_SHORT] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, NULL, 0, 0, 0,
                       SHORT_THREADS_MAX},
    [LK_NODE_WAIT] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, NULL, 0, 0, 0,
                      SIZE_MAX},
};

/* The next task, or NULL after a while without one. With the mutex. */
static struct lk_node_task *take(struct lane *lane) {
    struct lk_node_task *task;
    struct timespec end;
    int status = 0;

    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += IDLE_S;
    lane->idle++;
    while (lane->first == NULL && status == 0) {
        status = pthread_cond_timedwait(&lane->work, &lane->mutex, &end);
    }
    lane->idle--;
    task = lane->first;
    if (task != NULL) {
        lane->first = task->next;
        lane->last = lane->first == NULL ? NULL : lane->last;
        lane->queued--;
        task->next = NULL;
    }
    return task;
}

static void *lane_thread(void *argument) {
    struct lane *lane = argument;
    struct lk_node_task *task;

    (void)pthread_mutex_lock(&lane->mutex);
    while ((task = take(lane)) != NULL) {
        (void)pthread_mutex_unlock(&lane->mutex);
        task->run(task);
        lk_node_task_ended(task);
        (void)pthread_mutex_lock(&lane->mutex);
    }
    lane->threads--;
    (void)pthread_mutex_unlock(&lane->mutex);
    return NULL;
}

static bool start(struct lane *lane) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, former;
    bool is_started;

    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)sigfillset(&all); /* signals are for the threads of Node.js */
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    is_started = pthread_create(&thread, &attributes, lane_thread, lane) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    (void)pthread_attr_destroy(&attributes);
    return is_started;
}

bool lk_node_thread_run(struct lk_node_task *task, enum lk_node_lane which) {
    struct lane *lane = &lanes[which];
    bool is_taken = true;

    task->next = NULL;
    (void)pthread_mutex_lock(&lane->mutex);
    if (lane->queued + 1 > lane->idle && lane->threads < lane->threads_max) {
        if (start(lane)) {
            lane->threads++;
        } else {
            is_taken = lane->threads > 0 && which == LK_NODE_SHORT;
        }
    }
    if (is_taken) {
        if (lane->last == NULL) {
            lane->first = task;
        } else {
            lane->last->next = task;
        }
        lane->last = task;
        lane->queued++;
        (void)pthread_cond_signal(&lane->work);
    }
    (void)pthread_mutex_unlock(&lane->mutex);
    return is_taken;
}
