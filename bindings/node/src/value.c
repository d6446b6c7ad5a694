/* SPDX-License-Identifier: Apache-2.0 */
/* Values at paths (rule R15). */
#include "module.h"

static void get_run(struct lk_node_call *call) {
    lk_value *value = NULL;

    call->outcome = lk_value_get(call->store->handle, call->path, &value, &call->error);
    call->answer = value;
}

static void get_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    const lk_value *value = call->answer;

    if (value != NULL) {
        lk_node_set_bytes(env, answer, "data", value->bytes, value->size);
        lk_node_set_flag(env, answer, "inDoubt", value->in_doubt);
    }
}

static void get_destroy(struct lk_node_call *call) {
    lk_value_free(call->answer);
}

/* valueGet(store, path) */
static napi_value value_get(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct lk_node_call *call;

    lk_node_arguments(env, info, arguments);
    call = lk_node_store_call(env, arguments[0], sizeof *call, get_run);
    if (call == NULL) {
        return NULL;
    }
    call->fill = get_fill;
    call->destroy = get_destroy;
    call->path = lk_node_text(call, arguments[1]);
    return lk_node_call_start(call, LK_NODE_SHORT);
}

static void put_run(struct lk_node_call *call) {
    call->outcome = lk_value_put(call->store->handle, call->path, call->text[0], call->number,
                                 call->bytes, call->size, &call->error);
}

/* valuePut(store, path, bytes, owner, token): null for bytes deletes. */
static napi_value value_put(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct lk_node_call *call;

    lk_node_arguments(env, info, arguments);
    call = lk_node_store_call(env, arguments[0], sizeof *call, put_run);
    if (call == NULL) {
        return NULL;
    }
    call->path = lk_node_text(call, arguments[1]);
    call->bytes = lk_node_bytes(call, arguments[2], &call->size);
    call->text[0] = lk_node_text(call, arguments[3]);
    call->number = lk_node_big(call, arguments[4]);
    return lk_node_call_start(call, LK_NODE_SHORT);
}

static void list_run(struct lk_node_call *call) {
    lk_value_list *list = NULL;

    call->outcome = lk_values(call->store->handle, call->path, call->text[0], &list, &call->error);
    call->answer = list;
}

static void list_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    const lk_value_list *list = call->answer;
    napi_value array;

    if (list == NULL) {
        return;
    }
    lk_node_set_text(env, answer, "reached", list->reached);
    array = lk_node_set_array(env, answer, "values", list->count);
    for (size_t i = 0; i < list->count; i++) {
        napi_value one = lk_node_add(env, array, i);

        lk_node_set_text(env, one, "path", list->values[i].path);
        lk_node_set_number(env, one, "size", (int64_t)list->values[i].size);
        lk_node_set_flag(env, one, "inDoubt", list->values[i].in_doubt);
    }
}

static void list_destroy(struct lk_node_call *call) {
    lk_value_list_free(call->answer);
}

/* values(store, prefix, behind) */
static napi_value values(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct lk_node_call *call;

    lk_node_arguments(env, info, arguments);
    call = lk_node_store_call(env, arguments[0], sizeof *call, list_run);
    if (call == NULL) {
        return NULL;
    }
    call->fill = list_fill;
    call->destroy = list_destroy;
    call->path = lk_node_text(call, arguments[1]);
    call->text[0] = lk_node_text(call, arguments[2]);
    return lk_node_call_start(call, LK_NODE_SHORT);
}

void lk_node_value_open(napi_env env, napi_value exports) {
    static const struct lk_node_function functions[] = {
        {"valueGet", value_get}, {"valuePut", value_put}, {"values", values}, {NULL, NULL}};

    lk_node_functions(env, exports, functions);
}
