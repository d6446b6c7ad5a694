/* SPDX-License-Identifier: Apache-2.0 */
/* Events (R21) and bounds (R22) as JSON. */
#include "form/builder.h"

json_t *lk_form_event(const lk_watch_event *event) {
    struct lk_form_builder builder = lk_form_builder_open();
    lk_form_add_text(&builder, "event", lk_watch_kind_name(event->kind));
    lk_form_add_number(&builder, "at_ms", event->at_unix_ms);
    lk_form_add_count(&builder, "sequence", event->sequence);
    if (event->refusal != LK_OK) {
        lk_form_add_text(&builder, "refusal", lk_outcome_name(event->refusal));
    }
    if (event->part_count > 0) {
        lk_form_add_text(&builder, "path", event->paths[0]);
        lk_form_add(&builder, "paths", lk_form_texts(event->paths, event->part_count));
        lk_form_add(&builder, "parts", lk_form_texts(event->parts, event->part_count));
    }
    lk_form_add_text_if_any(&builder, "queue", event->queue);
    lk_form_add_text_if_any(&builder, "id", event->id);
    lk_form_add_count_if_any(&builder, "attempt", event->attempt);
    lk_form_add_text_if_any(&builder, "owner", event->owner);
    lk_form_add_text_if_any(&builder, "note", event->note);
    lk_form_add_count_if_any(&builder, "ticket", event->ticket);
    lk_form_add_count_if_any(&builder, "token", event->token);
    if (event->kind == LK_WATCH_VALUE_WRITTEN) {
        lk_form_add(&builder, "deleted", json_boolean(event->is_deletion));
    }
    return lk_form_builder_close(&builder);
}

json_t *lk_form_limits(const lk_limits *limits) {
    struct lk_form_builder builder = lk_form_builder_open();
    lk_form_add_text(&builder, "status", lk_outcome_name(LK_OK));
    lk_form_add_count(&builder, "live", limits->live);
    lk_form_add_count(&builder, "live_per_owner", limits->live_per_owner);
    lk_form_add_count(&builder, "live_per_root", limits->live_per_root);
    lk_form_add_count(&builder, "waiters_per_path", limits->waiters_per_path);
    lk_form_add_count(&builder, "events", limits->events);
    return lk_form_builder_close(&builder);
}
