/* SPDX-License-Identifier: Apache-2.0 */
/* Loads all that a store keeps into a model. Items come before the requests that claim them. */
#include "sql/load.h"

#include <stdio.h>

#include "sql/values.h"

struct loading {
    struct lk_sql *sql;
    struct lk_model *model;
    lk_sql_visit_request *visit;
    void *context;
};

/* `what` names the row if the model rejects it. */
static int taken(const struct loading *loading, lk_outcome outcome, const char *what) {
    if (outcome == LK_OK) {
        return SQLITE_OK;
    }
    if (outcome == LK_INTERNAL) {
        return SQLITE_NOMEM;
    }
    (void)snprintf(loading->sql->complaint, sizeof loading->sql->complaint,
                   "%s cannot be together with the other rows", what);
    return SQLITE_CORRUPT;
}

static int load_value(void *context, struct lk_slice text, struct lk_slice bytes, bool in_doubt) {
    struct loading *loading = context;
    struct lk_path path;
    lk_outcome outcome = lk_path_parse(text, &path, NULL);

    if (outcome == LK_OK) {
        outcome = lk_model_restore_value(loading->model, &path, bytes, in_doubt);
    }
    return taken(loading, outcome, "a value");
}

static int load_queue(void *context, struct lk_slice text, const struct lk_queue_counts *counts) {
    struct loading *loading = context;
    struct lk_path path;
    lk_outcome outcome = lk_path_parse(text, &path, NULL);

    if (outcome == LK_OK) {
        outcome = lk_model_restore_queue(loading->model, &path, counts);
    }
    return taken(loading, outcome, "a queue");
}

static int load_item(void *context, const struct lk_sql_item *item) {
    struct loading *loading = context;
    struct lk_item_record record = item->record;

    /* It becomes claimed when its claim is restored. */
    record.state = record.state == LK_ITEM_CLAIMED ? LK_ITEM_READY : record.state;
    return taken(loading, lk_model_restore_item(loading->model, &record), "an item");
}

static int load_request(void *context, const struct lk_sql_request *request) {
    struct loading *loading = context;
    char what[64];
    int code;

    (void)snprintf(what, sizeof what, "request %llu", (unsigned long long)request->record.id);
    code = taken(loading, lk_model_restore(loading->model, &request->record), what);
    return code == SQLITE_OK ? loading->visit(loading->context, request) : code;
}

static int load_ended(void *context, const struct lk_target *target, int64_t ended_us) {
    struct loading *loading = context;

    return taken(loading, lk_model_restore_ended(loading->model, target, ended_us),
                 "an ended token");
}

int lk_sql_load(struct lk_sql *sql, const struct lk_sql_meta *meta, struct lk_model *model,
                struct lk_sql_load_room *room, lk_sql_visit_request *visit, void *context) {
    struct loading loading = {.sql = sql, .model = model, .visit = visit, .context = context};
    uint64_t floor = 0;
    int code = lk_sql_roots_greatest(sql, meta, &floor);

    if (code == SQLITE_OK) {
        lk_model_restore_floor(model, floor);
        code = lk_sql_values_each(sql, load_value, &loading);
    }
    if (code == SQLITE_OK) {
        code = lk_sql_queues_each(sql, load_queue, &loading);
    }
    if (code == SQLITE_OK) {
        code = lk_sql_items_each_anywhere(sql, &room->item, load_item, &loading);
    }
    if (code == SQLITE_OK) {
        code = lk_sql_requests_each(sql, &room->request, load_request, &loading);
    }
    return code == SQLITE_OK ? lk_sql_ended_each(sql, load_ended, &loading) : code;
}
