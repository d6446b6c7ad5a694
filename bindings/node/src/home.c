/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Homes: the end of threads' work comes to the event loop here, and the end of an environment comes
 * to the threads.
 *
 * Invariant: a thread touches the gate (the thread-safe function of Node.js) only under the mutex
 * and only while the home is open. So none calls into an environment that has ended.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "module.h"

enum { END_S = 10 }; /* how long the end of an environment waits for calls that cannot be ended */

struct lk_node_home {
    atomic_int count; /* the environment, and each thing */
    napi_threadsafe_function gate;
    napi_ref notice; /* the function that is told; these two: of the event loop's thread alone */
    size_t pending;

    pthread_mutex_t mutex; /* for all below */
    pthread_cond_t ended;
    bool is_closed;
    size_t running; /* tasks in threads */
    struct lk_node_task *first, *last;
    struct lk_node_thing *things; /* the newest first */
};

struct lk_node_home *lk_node_home(napi_env env) {
    void *home = NULL;

    (void)napi_get_instance_data(env, &home);
    return home;
}

static void home_drop(struct lk_node_home *home) {
    if (atomic_fetch_sub(&home->count, 1) == 1) {
        (void)pthread_cond_destroy(&home->ended);
        (void)pthread_mutex_destroy(&home->mutex);
        free(home);
    }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

bool lk_node_task_start(struct lk_node_task *task, enum lk_node_lane lane) {
    struct lk_node_home *home = task->home;
    bool is_begun;

    (void)pthread_mutex_lock(&home->mutex);
    is_begun = !home->is_closed && lk_node_thread_run(task, lane);
    if (is_begun) {
        (void)atomic_fetch_add(&home->count, 1);
        home->running++;
        if (!task->is_quiet && home->pending++ == 0) {
            (void)napi_ref_threadsafe_function(NULL, home->gate);
        }
    }
    (void)pthread_mutex_unlock(&home->mutex);
    return is_begun;
}

/* With the mutex. False: the home is closed, and the task is the caller's. */
static bool deliver(struct lk_node_home *home, struct lk_node_task *task) {
    if (home->is_closed) {
        return false;
    }
    task->next = NULL;
    if (home->last == NULL) {
        home->first = task;
    } else {
        home->last->next = task;
    }
    home->last = task;
    (void)napi_call_threadsafe_function(home->gate, NULL, napi_tsfn_nonblocking);
    return true;
}

void lk_node_task_ended(struct lk_node_task *task) {
    struct lk_node_home *home = task->home;
    bool is_delivered;

    (void)pthread_mutex_lock(&home->mutex);
    is_delivered = deliver(home, task);
    if (!is_delivered) {
        (void)pthread_mutex_unlock(&home->mutex);
        task->settle(NULL, task);
        (void)pthread_mutex_lock(&home->mutex);
    }
    home->running--;
    (void)pthread_cond_broadcast(&home->ended);
    (void)pthread_mutex_unlock(&home->mutex);
    home_drop(home);
}

void lk_node_notice(struct lk_node_home *home, struct lk_node_task *task) {
    bool is_delivered;

    task->is_quiet = true;
    (void)pthread_mutex_lock(&home->mutex);
    is_delivered = deliver(home, task);
    (void)pthread_mutex_unlock(&home->mutex);
    if (!is_delivered) {
        task->settle(NULL, task);
    }
}

/* In the event loop: what has ended since. */
static void settle_all(napi_env env, napi_value function, void *context, void *data) {
    struct lk_node_home *home = context;
    struct lk_node_task *task, *next;

    (void)function;
    (void)data;
    (void)pthread_mutex_lock(&home->mutex);
    task = home->first;
    home->first = home->last = NULL;
    (void)pthread_mutex_unlock(&home->mutex);
    for (; task != NULL; task = next) {
        napi_handle_scope scope = NULL;

        next = task->next;
        if (!task->is_quiet && --home->pending == 0 && env != NULL) {
            (void)napi_unref_threadsafe_function(env, home->gate);
        }
        if (env != NULL) {
            (void)napi_open_handle_scope(env, &scope);
        }
        task->settle(env, task);
        if (env != NULL) {
            (void)napi_close_handle_scope(env, scope);
        }
    }
}

void lk_node_tell(napi_env env, napi_value what) {
    struct lk_node_home *home = lk_node_home(env);
    napi_value function = NULL, global, ignored, error;

    if (home->notice == NULL || napi_get_reference_value(env, home->notice, &function) != napi_ok
        || function == NULL || napi_get_global(env, &global) != napi_ok) {
        return;
    }
    if (napi_call_function(env, global, function, 1, &what, &ignored) == napi_pending_exception
        && napi_get_and_clear_last_exception(env, &error) == napi_ok) {
        (void)napi_fatal_exception(env, error);
    }
}

/* ---- things ---------------------------------------------------------------------------------- */

void *lk_node_thing_new(struct lk_node_home *home, size_t size,
                        void (*stop)(struct lk_node_thing *thing),
                        void (*end)(struct lk_node_thing *thing)) {
    struct lk_node_thing *thing = calloc(1, size);

    if (thing == NULL) {
        return NULL;
    }
    atomic_init(&thing->count, 1);
    thing->home = home;
    thing->stop = stop;
    thing->end = end;
    (void)atomic_fetch_add(&home->count, 1);
    (void)pthread_mutex_lock(&home->mutex);
    thing->former = home->things;
    if (home->things != NULL) {
        home->things->later = thing;
    }
    home->things = thing;
    (void)pthread_mutex_unlock(&home->mutex);
    return thing;
}

void *lk_node_thing_hold(void *held) {
    struct lk_node_thing *thing = held;

    (void)atomic_fetch_add(&thing->count, 1);
    return thing;
}

static void thing_unlink(struct lk_node_thing *thing) {
    struct lk_node_home *home = thing->home;

    (void)pthread_mutex_lock(&home->mutex);
    if (thing->former != NULL) {
        thing->former->later = thing->later;
    }
    if (thing->later != NULL) {
        thing->later->former = thing->former;
    }
    if (home->things == thing) {
        home->things = thing->former;
    }
    (void)pthread_mutex_unlock(&home->mutex);
}

void lk_node_thing_drop(void *dropped) {
    struct lk_node_thing *thing = dropped;

    if (thing != NULL && atomic_fetch_sub(&thing->count, 1) == 1) {
        struct lk_node_home *home = thing->home;

        thing_unlink(thing);
        thing->end(thing);
        free(thing);
        home_drop(home);
    }
}

struct disposal {
    struct lk_node_task task;
    struct lk_node_thing *thing;
};

static void disposal_run(struct lk_node_task *task) {
    lk_node_thing_drop(((struct disposal *)task)->thing);
}

static void disposal_settle(napi_env env, struct lk_node_task *task) {
    (void)env;
    free(task);
}

/* The collector does not wait for a store: the end of a thing is left to a thread. */
static void collected(napi_env env, void *data, void *hint) {
    struct lk_node_thing *thing = data;
    struct disposal *disposal = calloc(1, sizeof *disposal);

    (void)env;
    (void)hint;
    if (thing->is_stopped_when_collected) {
        thing->stop(thing);
    }
    if (disposal != NULL) {
        disposal->task = (struct lk_node_task){
            .home = thing->home, .is_quiet = true, .run = disposal_run, .settle = disposal_settle};
        disposal->thing = thing;
        if (lk_node_task_start(&disposal->task, LK_NODE_SHORT)) {
            return;
        }
        free(disposal);
    }
    lk_node_thing_drop(thing);
}

napi_value lk_node_thing_wrap(napi_env env, void *thing, const napi_type_tag *tag) {
    napi_value object = NULL;

    if (napi_create_external(env, thing, collected, NULL, &object) != napi_ok) {
        collected(env, thing, NULL);
        return NULL;
    }
    (void)napi_type_tag_object(env, object, tag);
    return object;
}

void *lk_node_thing_of(napi_env env, napi_value value, const napi_type_tag *tag) {
    napi_valuetype type = napi_undefined;
    bool is_tagged = false;
    void *thing = NULL;

    if (napi_typeof(env, value, &type) == napi_ok && type == napi_external
        && napi_check_object_type_tag(env, value, tag, &is_tagged) == napi_ok && is_tagged) {
        (void)napi_get_value_external(env, value, &thing);
    }
    if (thing == NULL) {
        (void)napi_throw_type_error(env, NULL, "not a handle of this kind");
    }
    return thing;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* With the mutex. Ends waits, and returns whether no task is in a thread any more. */
static bool stop_all(struct lk_node_home *home) {
    struct timespec end;
    int status = 0;

    for (struct lk_node_thing *thing = home->things; thing != NULL; thing = thing->former) {
        if (thing->stop != NULL) {
            thing->stop(thing);
        }
    }
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += END_S;
    while (home->running > 0 && status != ETIMEDOUT) {
        status = pthread_cond_timedwait(&home->ended, &home->mutex, &end);
    }
    return home->running == 0;
}

/* Watches and leases are newer than their stores, so the newest ends first. */
static void home_close(void *argument) {
    struct lk_node_home *home = argument;
    struct lk_node_task *task, *next;
    bool is_idle;

    (void)pthread_mutex_lock(&home->mutex);
    if (home->is_closed) {
        (void)pthread_mutex_unlock(&home->mutex);
        return;
    }
    home->is_closed = true;
    is_idle = stop_all(home);
    task = home->first;
    home->first = home->last = NULL;
    (void)pthread_mutex_unlock(&home->mutex);
    for (; task != NULL; task = next) {
        next = task->next;
        task->settle(NULL, task);
    }
    for (struct lk_node_thing *thing = home->things; is_idle && thing != NULL;
         thing = thing->former) {
        thing->end(thing);
    }
}

napi_value lk_node_home_end(napi_env env, napi_callback_info info) {
    (void)info;
    home_close(lk_node_home(env));
    return NULL;
}

/* Node.js has ended the gate, which knows the home until then. */
static void gate_gone(napi_env env, void *data, void *hint) {
    (void)env;
    (void)hint;
    home_drop(data);
}

static void home_gone(napi_env env, void *data, void *hint) {
    (void)env;
    (void)hint;
    home_close(data);
    home_drop(data);
}

/* on_notice(function): what hears of losses, items and steps. */
static napi_value on_notice(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct lk_node_home *home = lk_node_home(env);

    lk_node_arguments(env, info, arguments);
    (void)napi_create_reference(env, arguments[0], 1, &home->notice);
    return NULL;
}

struct lk_node_home *lk_node_home_open(napi_env env, napi_value exports) {
    static const struct lk_node_function functions[] = {
        {"onNotice", on_notice},
        {"end", lk_node_home_end},
        {NULL, NULL},
    };
    struct lk_node_home *home = calloc(1, sizeof *home);
    napi_value name;

    if (home == NULL) {
        return NULL;
    }
    atomic_init(&home->count, 1);
    (void)pthread_mutex_init(&home->mutex, NULL);
    (void)pthread_cond_init(&home->ended, NULL);
    if (napi_create_string_utf8(env, "lockkeeper", NAPI_AUTO_LENGTH, &name) != napi_ok
        || napi_create_threadsafe_function(env, NULL, NULL, name, 0, 1, home, gate_gone, home,
                                           settle_all, &home->gate)
               != napi_ok) {
        home_drop(home);
        return NULL;
    }
    (void)atomic_fetch_add(&home->count, 1);
    (void)napi_unref_threadsafe_function(env, home->gate);
    (void)napi_set_instance_data(env, home, home_gone, NULL);
    (void)napi_add_env_cleanup_hook(env, home_close, home);
    lk_node_functions(env, exports, functions);
    return home;
}
