/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that answer a promise: with an object that has the outcome, whatever that is. */
#include <stdio.h>
#include <stdlib.h>

#include "module.h"

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
