/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of JavaScript as C takes them. index.js has checked what users give; what is wrong here
 * all the same is an exception, too. And answers as objects of JavaScript. Texts that are not UTF-8
 * get replacement characters; texts and bytes that are not there are null. To make them fails only
 * when memory is exhausted: then a member is missing.
 */
#include <stdlib.h>
#include <string.h>

#include "module.h"

/* ---- arguments ------------------------------------------------------------------------------- */

static void wrong(struct lk_node_call *call, const char *what) {
    bool is_pending = false;

    (void)napi_is_exception_pending(call->env, &is_pending);
    if (!call->is_bad && !is_pending) {
        (void)napi_throw_type_error(call->env, NULL, what);
    }
    call->is_bad = true;
}

static napi_valuetype type_of(struct lk_node_call *call, napi_value value) {
    napi_valuetype type = napi_undefined;

    if (value != NULL) {
        (void)napi_typeof(call->env, value, &type);
    }
    return type;
}

static bool is_none(struct lk_node_call *call, napi_value value) {
    napi_valuetype type = type_of(call, value);

    return call->is_bad || type == napi_undefined || type == napi_null;
}

napi_value lk_node_get(struct lk_node_call *call, napi_value object, const char *name) {
    napi_value value = NULL;

    if (is_none(call, object)) {
        return NULL;
    }
    if (napi_get_named_property(call->env, object, name, &value) != napi_ok) {
        wrong(call, "options must be an object");
        return NULL;
    }
    return value;
}

const char *lk_node_text(struct lk_node_call *call, napi_value value) {
    size_t length = 0;
    char *text;

    if (is_none(call, value)) {
        return NULL;
    }
    if (napi_get_value_string_utf8(call->env, value, NULL, 0, &length) != napi_ok) {
        wrong(call, "a text must be a string");
        return NULL;
    }
    text = lk_node_memory(call, length + 1);
    if (text != NULL) {
        (void)napi_get_value_string_utf8(call->env, value, text, length + 1, &length);
        if (strlen(text) != length) {
            wrong(call, "a text must not contain a NUL character");
        }
    }
    return text;
}

uint32_t lk_node_length(struct lk_node_call *call, napi_value value) {
    uint32_t length = 0;

    if (!is_none(call, value) && napi_get_array_length(call->env, value, &length) != napi_ok) {
        wrong(call, "a list must be an array");
    }
    return length;
}

napi_value lk_node_element(struct lk_node_call *call, napi_value array, uint32_t index) {
    napi_value element = NULL;

    if (!call->is_bad && napi_get_element(call->env, array, index, &element) != napi_ok) {
        wrong(call, "a list must be an array");
    }
    return element;
}

const char *const *lk_node_texts(struct lk_node_call *call, napi_value value, size_t *ret_count) {
    uint32_t count = lk_node_length(call, value);
    const char **texts = lk_node_memory(call, (count + (size_t)1) * sizeof *texts);

    for (uint32_t i = 0; i < count && !call->is_bad; i++) {
        texts[i] = lk_node_text(call, lk_node_element(call, value, i));
        if (texts[i] == NULL) {
            wrong(call, "a text must be a string");
        }
    }
    *ret_count = count;
    return texts;
}

int64_t lk_node_integer(struct lk_node_call *call, napi_value value, int64_t otherwise) {
    int64_t number = otherwise;

    if (!is_none(call, value) && napi_get_value_int64(call->env, value, &number) != napi_ok) {
        wrong(call, "a number must be a number");
    }
    return number;
}

uint64_t lk_node_big(struct lk_node_call *call, napi_value value) {
    uint64_t number = 0;
    bool is_whole = true;

    if (!is_none(call, value)
        && (napi_get_value_bigint_uint64(call->env, value, &number, &is_whole) != napi_ok
            || !is_whole)) {
        wrong(call, "a token must be a bigint of 64 bits");
    }
    return number;
}

bool lk_node_flag(struct lk_node_call *call, napi_value value) {
    bool flag = false;

    if (!is_none(call, value) && napi_get_value_bool(call->env, value, &flag) != napi_ok) {
        wrong(call, "a flag must be a boolean");
    }
    return flag;
}

const void *lk_node_bytes(struct lk_node_call *call, napi_value value, size_t *ret_size) {
    void *data = NULL, *copy;
    bool is_buffer = false;
    size_t size = 0;

    *ret_size = 0;
    if (is_none(call, value)) {
        return NULL;
    }
    if (napi_is_buffer(call->env, value, &is_buffer) != napi_ok || !is_buffer
        || napi_get_buffer_info(call->env, value, &data, &size) != napi_ok) {
        wrong(call, "bytes must be a Uint8Array");
        return NULL;
    }
    copy = lk_node_memory(call, size + 1);
    if (copy != NULL && size > 0) {
        (void)memcpy(copy, data, size);
    }
    *ret_size = size;
    return copy;
}

struct lk_node_cancel *lk_node_cancel_held(struct lk_node_call *call, napi_value value) {
    if (!is_none(call, value) && call->cancel == NULL) {
        struct lk_node_cancel *cancel = lk_node_thing_of(call->env, value, &lk_node_cancel_tag);

        call->is_bad = call->is_bad || cancel == NULL;
        call->cancel = cancel == NULL ? NULL : lk_node_thing_hold(cancel);
    }
    return call->cancel;
}

/* ---- answers --------------------------------------------------------------------------------- */

napi_value lk_node_object(napi_env env) {
    napi_value object = NULL;

    (void)napi_create_object(env, &object);
    return object;
}

void lk_node_set(napi_env env, napi_value object, const char *name, napi_value value) {
    if (object != NULL && value != NULL) {
        (void)napi_set_named_property(env, object, name, value);
    }
}

static napi_value text_of(napi_env env, const char *text) {
    napi_value value = NULL;

    if (text == NULL) {
        (void)napi_get_null(env, &value);
    } else {
        (void)napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value);
    }
    return value;
}

void lk_node_set_text(napi_env env, napi_value object, const char *name, const char *text) {
    lk_node_set(env, object, name, text_of(env, text));
}

void lk_node_set_bytes(napi_env env, napi_value object, const char *name, const void *bytes,
                       size_t size) {
    napi_value value = NULL;

    if (bytes == NULL) {
        (void)napi_get_null(env, &value);
    } else {
        (void)napi_create_buffer_copy(env, size, bytes, NULL, &value);
    }
    lk_node_set(env, object, name, value);
}

void lk_node_set_number(napi_env env, napi_value object, const char *name, int64_t number) {
    napi_value value = NULL;

    (void)napi_create_int64(env, number, &value);
    lk_node_set(env, object, name, value);
}

void lk_node_set_big(napi_env env, napi_value object, const char *name, uint64_t number) {
    napi_value value = NULL;

    (void)napi_create_bigint_uint64(env, number, &value);
    lk_node_set(env, object, name, value);
}

void lk_node_set_flag(napi_env env, napi_value object, const char *name, bool flag) {
    napi_value value = NULL;

    (void)napi_get_boolean(env, flag, &value);
    lk_node_set(env, object, name, value);
}

napi_value lk_node_set_array(napi_env env, napi_value object, const char *name, size_t count) {
    napi_value array = NULL;

    (void)napi_create_array_with_length(env, count, &array);
    lk_node_set(env, object, name, array);
    return array;
}

napi_value lk_node_add(napi_env env, napi_value array, size_t index) {
    napi_value object = lk_node_object(env);

    if (array != NULL && object != NULL) {
        (void)napi_set_element(env, array, (uint32_t)index, object);
    }
    return object;
}

void lk_node_set_texts(napi_env env, napi_value object, const char *name, char *const *texts,
                       size_t count) {
    napi_value array = lk_node_set_array(env, object, name, count);

    for (size_t i = 0; array != NULL && i < count; i++) {
        (void)napi_set_element(env, array, (uint32_t)i, text_of(env, texts[i]));
    }
}

void lk_node_set_blockers(napi_env env, napi_value object, const lk_blocker_info *blockers,
                          size_t count) {
    napi_value array = lk_node_set_array(env, object, "blockers", count);

    for (size_t i = 0; i < count; i++) {
        napi_value one = lk_node_add(env, array, i);

        lk_node_set_text(env, one, "path", blockers[i].path);
        lk_node_set_text(env, one, "owner", blockers[i].owner);
        lk_node_set_text(env, one, "user", blockers[i].user);
        lk_node_set_text(env, one, "note", blockers[i].note);
        lk_node_set_big(env, one, "ticket", blockers[i].ticket);
        lk_node_set_flag(env, one, "held", blockers[i].held);
        lk_node_set_number(env, one, "expiresIn", blockers[i].expires_in_ms);
    }
}

static void set_tokens(napi_env env, napi_value object, const lk_result *result) {
    napi_value array = lk_node_set_array(env, object, "tokens", 0);

    for (size_t i = 0; array != NULL && (i < result->token_count || i == 0); i++) {
        napi_value token = NULL;

        (void)napi_create_bigint_uint64(
            env, result->token_count > 0 ? result->tokens[i] : result->token, &token);
        (void)napi_set_element(env, array, (uint32_t)i, token);
    }
}

void lk_node_set_result(napi_env env, napi_value answer, const lk_result *result) {
    napi_value object, values;

    if (result == NULL) {
        return;
    }
    object = lk_node_object(env);
    lk_node_set_number(env, object, "outcome", result->outcome);
    lk_node_set_texts(env, object, "paths", result->paths, result->path_count);
    lk_node_set_text(env, object, "owner", result->owner);
    lk_node_set_big(env, object, "ticket", result->ticket);
    lk_node_set_big(env, object, "token", result->token);
    set_tokens(env, object, result);
    lk_node_set_number(env, object, "ttl", result->ttl_ms);
    lk_node_set_number(env, object, "expiresIn", result->expires_in_ms);
    lk_node_set_number(env, object, "inUse", (int64_t)result->in_use);
    lk_node_set_number(env, object, "position", (int64_t)result->position);
    lk_node_set_flag(env, object, "created", result->created);
    lk_node_set_flag(env, object, "fixed", result->fixed);
    lk_node_set_flag(env, object, "requeued", result->requeued);
    lk_node_set_blockers(env, object, result->blockers, result->blocker_count);
    lk_node_set_texts(env, object, "cycle", result->cycle, result->cycle_count);
    values = lk_node_set_array(env, object, "values", result->value_count);
    for (size_t i = 0; i < result->value_count; i++) {
        napi_value one = lk_node_add(env, values, i);

        lk_node_set_bytes(env, one, "data", result->values[i].value, result->values[i].value_size);
        lk_node_set_flag(env, one, "inDoubt", result->values[i].in_doubt);
    }
    lk_node_set(env, answer, "result", object);
}

void lk_node_set_claim(napi_env env, napi_value object, const lk_claim_info *claim) {
    lk_node_set_text(env, object, "queue", claim->queue);
    lk_node_set_text(env, object, "id", claim->id);
    lk_node_set_text(env, object, "owner", claim->owner);
    lk_node_set_bytes(env, object, "value", claim->value, claim->value_size);
    lk_node_set_big(env, object, "token", claim->token);
    lk_node_set_number(env, object, "attempt", claim->attempt);
    lk_node_set_flag(env, object, "isStolen", claim->is_stolen);
    lk_node_set_text(env, object, "rowId", claim->row_id);
}

void lk_node_set_counts(napi_env env, napi_value object, const lk_work_counts *counts) {
    lk_node_set_number(env, object, "claims", (int64_t)counts->claims);
    lk_node_set_number(env, object, "steals", (int64_t)counts->steals);
    lk_node_set_number(env, object, "done", (int64_t)counts->done);
    lk_node_set_number(env, object, "retried", (int64_t)counts->retried);
    lk_node_set_number(env, object, "parked", (int64_t)counts->parked);
    lk_node_set_number(env, object, "lost", (int64_t)counts->lost);
    lk_node_set_number(env, object, "unknown", (int64_t)counts->unknown);
    lk_node_set_number(env, object, "announced", (int64_t)counts->announced);
    lk_node_set_number(env, object, "duplicates", (int64_t)counts->duplicates);
    lk_node_set_number(env, object, "left", (int64_t)counts->left);
    lk_node_set_number(env, object, "skipped", (int64_t)counts->skipped);
}
