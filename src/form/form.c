/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as JSON objects. Every object is built through `struct lk_form_builder`, which remembers
 * that an addition failed, so that the functions below read as lists of fields and fail as a whole.
 */
#include "form/builder.h"

static json_t *form_blocker(const lk_blocker_info *blocker) {
    struct lk_form_builder builder = lk_form_builder_open();
    lk_form_add_text_if_any(&builder, "path", blocker->path);
    lk_form_add_text_if_any(&builder, "owner", blocker->owner);
    lk_form_add_count_if_any(&builder, "ticket", blocker->ticket);
    lk_form_add_text(&builder, "state", blocker->held ? "held" : "waiting");
    lk_form_add_text_if_any(&builder, "note", blocker->note);
    lk_form_add_number(&builder, "expires_in_ms", blocker->expires_in_ms);
    return lk_form_builder_close(&builder);
}

static json_t *form_blockers(const lk_blocker_info *blockers, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < count; i++) {
        if (json_array_append_new(array, form_blocker(&blockers[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static const char *failure_text(lk_outcome outcome, const char *text) {
    return text != NULL && text[0] != '\0' ? text : lk_outcome_text(outcome);
}

/* The outcomes that tell how an ask was judged, and so how things stand at its paths. */
static bool is_judged(lk_outcome outcome) {
    return outcome == LK_GRANTED || outcome == LK_WAITING || outcome == LK_BUSY
           || outcome == LK_TIMEOUT || outcome == LK_DEADLOCK;
}

static bool is_failure(lk_outcome outcome) {
    return outcome != LK_OK && outcome != LK_GRANTED && outcome != LK_WAITING;
}

/* What only an answer to an ask has: how things stand at its paths, and why. */
static void add_judgement(struct lk_form_builder *builder, const lk_result *result, bool lives) {
    if (is_judged(result->outcome)) {
        lk_form_add_count(builder, "in_use", result->in_use);
    }
    if (is_judged(result->outcome) && result->outcome != LK_DEADLOCK) {
        lk_form_add_count(builder, "position", result->position);
    }
    if (result->cycle_count > 0) {
        lk_form_add(builder, "cycle", lk_form_texts(result->cycle, result->cycle_count));
    }
    if (is_judged(result->outcome) && lives) {
        lk_form_add(builder, "created", json_boolean(result->created));
    }
    if (result->blocker_count > 0) {
        lk_form_add(builder, "blockers", form_blockers(result->blockers, result->blocker_count));
    }
}

json_t *lk_form_result(const lk_result *result) {
    struct lk_form_builder builder = lk_form_builder_open();
    bool lives = result->expires_in_ms >= 0;

    lk_form_add_text(&builder, "status", lk_outcome_name(result->outcome));
    if (result->path_count > 0) {
        lk_form_add(&builder, "paths", lk_form_texts(result->paths, result->path_count));
    }
    lk_form_add_text_if_any(&builder, "owner", result->owner);
    lk_form_add_count_if_any(&builder, "ticket", result->ticket);
    lk_form_add_count_if_any(&builder, "token", result->token);
    if (lives && !result->fixed && result->ttl_ms > 0) {
        lk_form_add_number(&builder, "ttl_ms", result->ttl_ms);
    }
    if (lives) {
        lk_form_add_number(&builder, "expires_in_ms", result->expires_in_ms);
    }
    add_judgement(&builder, result, lives);
    if (result->value != NULL) {
        lk_form_add_value(&builder, result->value, result->value_size);
        lk_form_add(&builder, "in_doubt", json_boolean(result->in_doubt));
    }
    if (is_failure(result->outcome)) {
        lk_form_add_text(&builder, "error", failure_text(result->outcome, result->error));
    }
    return lk_form_builder_close(&builder);
}

json_t *lk_form_failure(lk_outcome outcome, const char *text) {
    struct lk_form_builder builder = lk_form_builder_open();
    lk_form_add_text(&builder, "status", lk_outcome_name(outcome));
    lk_form_add_text(&builder, "error", failure_text(outcome, text));
    return lk_form_builder_close(&builder);
}

json_t *lk_form_ok(void) {
    struct lk_form_builder builder = lk_form_builder_open();
    lk_form_add_text(&builder, "status", lk_outcome_name(LK_OK));
    return lk_form_builder_close(&builder);
}

json_t *lk_form_entry(const lk_entry *entry, bool with_blockers) {
    struct lk_form_builder builder = lk_form_builder_open();
    lk_form_add_text_if_any(&builder, "path", entry->path);
    lk_form_add_count(&builder, "ticket", entry->ticket);
    lk_form_add_count_if_any(&builder, "token", entry->token);
    lk_form_add_text(&builder, "state", entry->held ? "held" : "waiting");
    lk_form_add_text(&builder, "mode", entry->shared ? "shared" : "exclusive");
    lk_form_add_count_if_any(&builder, "limit", entry->limit);
    if (entry->shared) {
        lk_form_add_count(&builder, "units", entry->units);
    }
    lk_form_add_text_if_any(&builder, "owner", entry->owner);
    lk_form_add_text_if_any(&builder, "note", entry->note);
    lk_form_add_number(&builder, "ttl_ms", entry->ttl_ms);
    lk_form_add_number(&builder, "expires_in_ms", entry->expires_in_ms);
    lk_form_add_number(&builder, "age_ms", entry->age_ms);
    if (with_blockers && !entry->held) {
        lk_form_add(&builder, "blockers", form_blockers(entry->blockers, entry->blocker_count));
    }
    return lk_form_builder_close(&builder);
}

json_t *lk_form_audit_entry(const lk_audit_entry *entry) {
    struct lk_form_builder builder = lk_form_builder_open();
    lk_form_add_number(&builder, "at_ms", entry->at_unix_ms);
    lk_form_add_text_if_any(&builder, "by", entry->by);
    lk_form_add_text_if_any(&builder, "reason", entry->reason);
    lk_form_add_text_if_any(&builder, "path", entry->path);
    lk_form_add_text_if_any(&builder, "owner", entry->owner);
    lk_form_add_count(&builder, "ticket", entry->ticket);
    lk_form_add_count_if_any(&builder, "token", entry->token);
    lk_form_add_text(&builder, "state", entry->held ? "held" : "waiting");
    lk_form_add_text_if_any(&builder, "note", entry->note);
    return lk_form_builder_close(&builder);
}

json_t *lk_form_broken(size_t count) {
    struct lk_form_builder builder = lk_form_builder_open();
    lk_form_add_text(&builder, "status", lk_outcome_name(LK_OK));
    lk_form_add_count(&builder, "broken", count);
    return lk_form_builder_close(&builder);
}

char *lk_form_line(const json_t *object) {
    return json_dumps(object, JSON_COMPACT);
}
