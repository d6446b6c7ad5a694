/* SPDX-License-Identifier: Apache-2.0 */
/* Listing and administration; values at paths (rule R15). */
#include "module.h"

/* Reads the store and a path, which may be none. */
static struct lk_node_call *begin(napi_env env, napi_callback_info info, napi_value *arguments,
                                  void (*run)(struct lk_node_call *call)) {
    struct lk_node_call *call;

    lk_node_arguments(env, info, arguments);
    call = lk_node_store_call(env, arguments[0], sizeof *call, run);
    if (call != NULL) {
        call->path = lk_node_text(call, arguments[1]);
    }
    return call;
}

/* A call that takes no more than that, and changes nothing in the store. */
static napi_value look(napi_env env, napi_callback_info info,
                       void (*run)(struct lk_node_call *call),
                       void (*fill)(napi_env env, struct lk_node_call *call, napi_value answer),
                       void (*destroy)(struct lk_node_call *call)) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct lk_node_call *call = begin(env, info, arguments, run);

    if (call == NULL) {
        return NULL;
    }
    call->fill = fill;
    call->destroy = destroy;
    return lk_node_call_start(call, LK_NODE_SHORT);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void list_run(struct lk_node_call *call) {
    lk_listing *listing = NULL;

    call->outcome = lk_list(call->store->handle, call->path, &listing, &call->error);
    call->answer = listing;
}

static void show_run(struct lk_node_call *call) {
    lk_listing *listing = NULL;

    call->outcome = lk_show(call->store->handle, call->path, &listing, &call->error);
    call->answer = listing;
}

static void entry_set(napi_env env, napi_value one, const lk_entry *entry) {
    lk_node_set_text(env, one, "path", entry->path);
    lk_node_set_text(env, one, "owner", entry->owner);
    lk_node_set_text(env, one, "user", entry->user);
    lk_node_set_text(env, one, "note", entry->note);
    lk_node_set_big(env, one, "ticket", entry->ticket);
    lk_node_set_big(env, one, "token", entry->token);
    lk_node_set_flag(env, one, "held", entry->held);
    lk_node_set_flag(env, one, "shared", entry->shared);
    lk_node_set_flag(env, one, "revoked", entry->revoked);
    lk_node_set_number(env, one, "limit", entry->limit);
    lk_node_set_number(env, one, "units", entry->units);
    lk_node_set_number(env, one, "ttl", entry->ttl_ms);
    lk_node_set_number(env, one, "expiresIn", entry->expires_in_ms);
    lk_node_set_number(env, one, "age", entry->age_ms);
    lk_node_set_number(env, one, "requestIndex", (int64_t)entry->request_index);
    lk_node_set_number(env, one, "position", (int64_t)entry->position);
    lk_node_set_blockers(env, one, entry->blockers, entry->blocker_count);
}

static void listing_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    const lk_listing *listing = call->answer;
    napi_value array;

    if (listing != NULL) {
        array = lk_node_set_array(env, answer, "entries", listing->count);
        for (size_t i = 0; i < listing->count; i++) {
            entry_set(env, lk_node_add(env, array, i), &listing->entries[i]);
        }
    }
}

static void listing_destroy(struct lk_node_call *call) {
    lk_listing_free(call->answer);
}

static napi_value list(napi_env env, napi_callback_info info) {
    return look(env, info, list_run, listing_fill, listing_destroy);
}

static napi_value show(napi_env env, napi_callback_info info) {
    return look(env, info, show_run, listing_fill, listing_destroy);
}

static void count_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    lk_node_set_number(env, answer, "count", (int64_t)call->found);
}

static void break_run(struct lk_node_call *call) {
    const lk_break_request request = {
        .size = sizeof request,
        .path = call->path,
        .reason = call->text[0],
        .by = call->text[1],
        .owner = call->text[2],
        .at_once = call->number != 0,
    };
    size_t count = 0;

    call->outcome = lk_break(call->store->handle, &request, &count, &call->error);
    call->found = count;
}

/* break(store, path, {reason, by, owner, atOnce}) */
static napi_value break_requests(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct lk_node_call *call = begin(env, info, arguments, break_run);

    if (call == NULL) {
        return NULL;
    }
    call->fill = count_fill;
    call->text[0] = lk_node_text(call, lk_node_get(call, arguments[2], "reason"));
    call->text[1] = lk_node_text(call, lk_node_get(call, arguments[2], "by"));
    call->text[2] = lk_node_text(call, lk_node_get(call, arguments[2], "owner"));
    call->number = lk_node_flag(call, lk_node_get(call, arguments[2], "atOnce"));
    return lk_node_call_start(call, LK_NODE_SHORT);
}

static void cancel_run(struct lk_node_call *call) {
    const lk_cancel_request request = {
        .size = sizeof request,
        .queue = call->path,
        .id = call->text[0],
        .reason = call->text[1],
        .by = call->text[2],
        .at_once = call->number != 0,
    };
    bool is_claimed = false;

    call->outcome = lk_cancel_item(call->store->handle, &request, &is_claimed, &call->error);
    call->found = is_claimed;
}

static void claimed_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    lk_node_set_flag(env, answer, "isClaimed", call->found != 0);
}

/* cancelItem(store, queue, id, {reason, by, atOnce}) */
static napi_value cancel_item(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct lk_node_call *call = begin(env, info, arguments, cancel_run);

    if (call == NULL) {
        return NULL;
    }
    call->fill = claimed_fill;
    call->text[0] = lk_node_text(call, arguments[2]);
    call->text[1] = lk_node_text(call, lk_node_get(call, arguments[3], "reason"));
    call->text[2] = lk_node_text(call, lk_node_get(call, arguments[3], "by"));
    call->number = lk_node_flag(call, lk_node_get(call, arguments[3], "atOnce"));
    return lk_node_call_start(call, LK_NODE_SHORT);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

struct limits_call {
    struct lk_node_call call;
    lk_limits limits;
};

static void limits_get_run(struct lk_node_call *call) {
    struct limits_call *made = (struct limits_call *)call;

    call->outcome = lk_limits_get(call->store->handle, &made->limits, &call->error);
}

static void limits_set_run(struct lk_node_call *call) {
    struct limits_call *made = (struct limits_call *)call;

    call->outcome = lk_limits_set(call->store->handle, &made->limits, &call->error);
}

static void limits_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    const lk_limits *limits = &((struct limits_call *)call)->limits;
    napi_value object = lk_node_object(env);

    lk_node_set_number(env, object, "live", (int64_t)limits->live);
    lk_node_set_number(env, object, "livePerOwner", (int64_t)limits->live_per_owner);
    lk_node_set_number(env, object, "livePerRoot", (int64_t)limits->live_per_root);
    lk_node_set_number(env, object, "waitersPerPath", (int64_t)limits->waiters_per_path);
    lk_node_set_number(env, object, "events", (int64_t)limits->events);
    lk_node_set(env, answer, "limits", object);
}

static uint64_t bound(struct lk_node_call *call, napi_value bounds, const char *name) {
    int64_t number = lk_node_integer(call, lk_node_get(call, bounds, name), -1);

    return number < 0 ? LK_LIMIT_AS_IS : (uint64_t)number;
}

/* limits(store [, bounds]): sets those that are given, else reads all. */
static napi_value limits(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    napi_valuetype type = napi_undefined;
    struct limits_call *made;

    lk_node_arguments(env, info, arguments);
    (void)napi_typeof(env, arguments[1], &type);
    made = lk_node_store_call(env, arguments[0], sizeof *made,
                              type == napi_undefined ? limits_get_run : limits_set_run);
    if (made == NULL) {
        return NULL;
    }
    made->limits.size = sizeof made->limits;
    if (type == napi_undefined) {
        made->call.fill = limits_fill;
    } else {
        made->limits.live = bound(&made->call, arguments[1], "live");
        made->limits.live_per_owner = bound(&made->call, arguments[1], "livePerOwner");
        made->limits.live_per_root = bound(&made->call, arguments[1], "livePerRoot");
        made->limits.waiters_per_path = bound(&made->call, arguments[1], "waitersPerPath");
        made->limits.events = bound(&made->call, arguments[1], "events");
    }
    return lk_node_call_start(&made->call, LK_NODE_SHORT);
}

/* ---- the store ------------------------------------------------------------------------------- */

static void examine_run(struct lk_node_call *call) {
    lk_report *report = NULL;

    call->outcome = lk_examine(call->store->handle, &report, &call->error);
    call->answer = report;
}

static void examine_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    const lk_report *report = call->answer;

    if (report != NULL) {
        lk_node_set_text(env, answer, "report", report->text);
        lk_node_set_text(env, answer, "warnings", report->warnings);
        lk_node_set_number(env, answer, "roundTripUs", report->round_trip_us);
        lk_node_set_number(env, answer, "clockOffsetUs", report->clock_offset_us);
    }
}

static void examine_destroy(struct lk_node_call *call) {
    lk_report_free(call->answer);
}

static napi_value examine(napi_env env, napi_callback_info info) {
    return look(env, info, examine_run, examine_fill, examine_destroy);
}

static void backup_run(struct lk_node_call *call) {
    call->outcome = lk_backup(call->store->handle, call->path, &call->error);
}

static napi_value backup(napi_env env, napi_callback_info info) {
    return look(env, info, backup_run, NULL, NULL);
}

void lk_node_admin_open(napi_env env, napi_value exports) {
    static const struct lk_node_function functions[] = {
        {"list", list},     {"show", show},       {"break", break_requests},
        {"limits", limits}, {"examine", examine}, {"backup", backup},
        {"cancelItem", cancel_item}, {NULL, NULL},
    };

    lk_node_functions(env, exports, functions);
}

/* ---- values (rule R15) ----------------------------------------------------------------------- */

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

static void values_run(struct lk_node_call *call) {
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
    call = lk_node_store_call(env, arguments[0], sizeof *call, values_run);
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
