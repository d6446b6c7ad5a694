/* SPDX-License-Identifier: Apache-2.0 */
/* Values (R15). */
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/redis/answer.h"
#include "engine/redis/call.h"
#include "engine/redis/operations.h"
#include "model/command_check.h"

enum { VALUE = 3, DOUBT = 4 };

lk_outcome lk_redis_value_get(struct lk_engine *engine, const struct lk_path *path,
                              const struct lk_patience *patience, lk_value **ret_value,
                              lk_error *error) {
    struct lk_redis *store = lk_redis_of(engine);
    struct lk_redis_call call;
    redisReply *reply;
    lk_outcome outcome;

    lk_redis_call_begin(store, "get", path, false, &call);
    lk_redis_call_add(&call, (struct lk_slice){path->bytes, path->size});
    call.is_repeatable = true;
    outcome = lk_redis_call_make(store, &call, patience, &reply, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = lk_redis_outcome_read(reply, error);
    if (outcome == LK_OK) {
        struct lk_slice bytes = lk_redis_text_at(reply, VALUE);
        lk_value *value = calloc(1, sizeof *value);

        if (value != NULL) {
            value->bytes = lk_text_copy(bytes);
            value->size = bytes.size;
            value->in_doubt = lk_redis_integer_at(reply, DOUBT) != 0;
        }
        if (value == NULL || value->bytes == NULL) {
            lk_value_free(value);
            outcome = lk_error_set(error, LK_INTERNAL, "no memory for the value");
        } else {
            *ret_value = value;
        }
    }
    freeReplyObject(reply);
    return outcome;
}

lk_outcome lk_redis_put(struct lk_redis *store, const struct lk_put *put,
                        const struct lk_patience *patience, struct lk_decision *decision) {
    lk_error *error = &decision->error;
    struct lk_redis_call call;
    redisReply *reply;
    lk_outcome outcome = lk_put_check(put, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_redis_call_begin(store, "put", &put->path, false, &call);
    lk_redis_call_add(&call, (struct lk_slice){put->path.bytes, put->path.size});
    lk_redis_call_add(&call, put->owner);
    lk_redis_call_add_number(&call, (int64_t)put->token);
    lk_redis_call_add_number(&call, put->deletes);
    lk_redis_call_add(&call, put->deletes ? (struct lk_slice){NULL, 0} : put->bytes);
    outcome = lk_redis_call_make(store, &call, patience, &reply, error);
    if (outcome == LK_OK) {
        outcome = lk_redis_outcome_read(reply, error);
        freeReplyObject(reply);
    }
    return outcome;
}
