/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a store as a snapshot. */
#include "server/store/sql_snapshot.h"

#include "engine/reply/reply.h"
#include "engine/sqlite/changes.h"
#include "server/core/core.h"

static int visit_request(void *context, const struct lk_sql_request *request) {
    return !request->bound || lk_core_snapshot_add_bound(context, request->record.id)
               ? SQLITE_OK
               : SQLITE_NOMEM;
}

static int visit_audit(void *context, const struct lk_audit_row *audit) {
    const struct lk_core_snapshot *snapshot = context;

    return lk_audit_add(snapshot->audit, audit) ? SQLITE_OK : SQLITE_NOMEM;
}

static int visit_event(void *context, const struct lk_sql_event *row) {
    struct lk_core_snapshot *snapshot = context;
    struct lk_part parts[LK_PARTS_MAX];
    struct lk_event step_event;

    if (!lk_sqlite_event_read(row, parts, &step_event)) {
        return SQLITE_OK; /* another program's change: its number stays unused, and followers get
                           * a gap event */
    }
    return lk_event_ring_add(&snapshot->event_log.ring,
                             lk_stored_event_make(&step_event, row->sequence, row->at_unix_us))
               ? SQLITE_OK
               : SQLITE_NOMEM;
}

static int load_events(struct lk_sql *sql, const struct lk_sql_meta *meta, bool is_continuous,
                       struct lk_core_snapshot *snapshot) {
    struct lk_event_log_snapshot *event_log = &snapshot->event_log;
    uint64_t max = meta->events_max > 0 ? meta->events_max : (uint64_t)LK_WATCHED_EVENTS_MAX;

    event_log->last = meta->last_event;
    event_log->kept_max = (size_t)meta->events_max;
    event_log->is_continuous = is_continuous;
    return lk_sql_events_each(sql, meta->last_event > max ? meta->last_event - max : 0, visit_event,
                              snapshot);
}

int lk_sql_snapshot_fill(struct lk_sql *sql, const struct lk_sql_meta *meta,
                         struct lk_sql_load_room *room, int64_t now_us, bool is_continuous,
                         struct lk_core_snapshot *snapshot) {
    int code = lk_sql_load(sql, meta, snapshot->model, room, now_us, visit_request, snapshot);

    if (code == SQLITE_OK) {
        code = lk_sql_audit_each(sql, (struct lk_slice){NULL, 0}, visit_audit, snapshot);
    }
    return code == SQLITE_OK ? load_events(sql, meta, is_continuous, snapshot) : code;
}

void lk_sql_snapshot_bound(const struct lk_sql_meta *meta, const struct lk_model_config *config,
                           struct lk_core_snapshot *snapshot) {
    struct lk_quotas quotas = lk_quotas_over(&config->quotas, &meta->quotas);

    lk_model_set_quotas(snapshot->model, &quotas);
    snapshot->quotas = meta->quotas;
}
