/* SPDX-License-Identifier: Apache-2.0 */
/* Records of events (R21) and bounds (R22), field by field. */
#include "form/form.h"

void lk_form_write_event(struct lk_form_writer *writer, const lk_watch_event *event) {
    lk_form_open_map(writer, NULL);
    lk_form_add_text(writer, "event", lk_watch_kind_name(event->kind));
    lk_form_add_number(writer, "at_ms", event->at_unix_ms);
    lk_form_add_count(writer, "sequence", event->sequence);
    if (event->refusal != LK_OK) {
        lk_form_add_text(writer, "refusal", lk_outcome_name(event->refusal));
    }
    if (event->part_count > 0) {
        lk_form_add_text(writer, "path", event->paths[0]);
        lk_form_add_texts(writer, "paths", event->paths, event->part_count);
        lk_form_add_texts(writer, "parts", event->parts, event->part_count);
    }
    lk_form_add_text_if_any(writer, "queue", event->queue);
    lk_form_add_text_if_any(writer, "id", event->id);
    lk_form_add_count_if_any(writer, "attempt", event->attempt);
    lk_form_add_text_if_any(writer, "owner", event->owner);
    lk_form_add_text_if_any(writer, "note", event->note);
    lk_form_add_count_if_any(writer, "ticket", event->ticket);
    lk_form_add_count_if_any(writer, "token", event->token);
    if (event->kind == LK_WATCH_VALUE_WRITTEN) {
        lk_form_add_boolean(writer, "deleted", event->is_deletion);
    }
    lk_form_close(writer);
}

void lk_form_write_limits(struct lk_form_writer *writer, const lk_limits *limits) {
    lk_form_open_map(writer, NULL);
    lk_form_add_text(writer, "status", lk_outcome_name(LK_OK));
    lk_form_add_count(writer, "live", limits->live);
    lk_form_add_count(writer, "live_per_owner", limits->live_per_owner);
    lk_form_add_count(writer, "live_per_root", limits->live_per_root);
    lk_form_add_count(writer, "waiters_per_path", limits->waiters_per_path);
    lk_form_add_count(writer, "events", limits->events);
    lk_form_close(writer);
}
