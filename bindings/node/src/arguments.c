/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of JavaScript as C takes them. index.js has checked what users give; what is wrong here
 * all the same is an exception, too.
 */
#include <stdlib.h>
#include <string.h>

#include "module.h"

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
