/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as JSON objects. Every object is built through `struct builder`, which remembers that an
 * addition failed, so that the functions below read as lists of fields and fail as a whole.
 */
#include "form/form.h"

struct builder {
    json_t *object; /* NULL: memory was exhausted at the start */
    bool failed;
};

static struct builder builder_open(void) {
    struct builder builder = {.object = json_object(), .failed = false};
    builder.failed = builder.object == NULL;
    return builder;
}

/* Takes over `value`; NULL is a failure. */
static void add(struct builder *builder, const char *name, json_t *value) {
    if (builder->failed) {
        json_decref(value);
    } else if (json_object_set_new(builder->object, name, value) != 0) {
        builder->failed = true;
    }
}

static void add_text(struct builder *builder, const char *name, const char *text) {
    add(builder, name, lk_form_text(text));
}

static void add_text_if_any(struct builder *builder, const char *name, const char *text) {
    if (text != NULL) {
        add_text(builder, name, text);
    }
}

static void add_number(struct builder *builder, const char *name, int64_t number) {
    add(builder, name, json_integer(number));
}

/* Tickets, tokens and counts: below 2^53 (R4), so nothing is lost by the sign. */
static void add_count(struct builder *builder, const char *name, uint64_t count) {
    add_number(builder, name, (int64_t)count);
}

static void add_count_if_any(struct builder *builder, const char *name, uint64_t count) {
    if (count != 0) {
        add_count(builder, name, count);
    }
}

static json_t *builder_close(struct builder *builder) {
    if (builder->failed) {
        json_decref(builder->object);
        return NULL;
    }
    return builder->object;
}

static json_t *form_texts(char *const *texts, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < count; i++) {
        if (json_array_append_new(array, lk_form_text(texts[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *form_blocker(const lk_blocker_info *blocker) {
    struct builder builder = builder_open();
    add_text_if_any(&builder, "path", blocker->path);
    add_text_if_any(&builder, "owner", blocker->owner);
    add_count_if_any(&builder, "ticket", blocker->ticket);
    add_text(&builder, "state", blocker->held ? "held" : "waiting");
    add_text_if_any(&builder, "note", blocker->note);
    add_number(&builder, "expires_in_ms", blocker->expires_in_ms);
    return builder_close(&builder);
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
static void add_judgement(struct builder *builder, const lk_result *result, bool lives) {
    if (is_judged(result->outcome)) {
        add_count(builder, "in_use", result->in_use);
    }
    if (is_judged(result->outcome) && result->outcome != LK_DEADLOCK) {
        add_count(builder, "position", result->position);
    }
    if (result->cycle_count > 0) {
        add(builder, "cycle", form_texts(result->cycle, result->cycle_count));
    }
    if (is_judged(result->outcome) && lives) {
        add(builder, "created", json_boolean(result->created));
    }
    if (result->blocker_count > 0) {
        add(builder, "blockers", form_blockers(result->blockers, result->blocker_count));
    }
}

json_t *lk_form_result(const lk_result *result) {
    struct builder builder = builder_open();
    bool lives = result->expires_in_ms >= 0;

    add_text(&builder, "status", lk_outcome_name(result->outcome));
    if (result->path_count > 0) {
        add(&builder, "paths", form_texts(result->paths, result->path_count));
    }
    add_text_if_any(&builder, "owner", result->owner);
    add_count_if_any(&builder, "ticket", result->ticket);
    add_count_if_any(&builder, "token", result->token);
    if (lives && !result->fixed && result->ttl_ms > 0) {
        add_number(&builder, "ttl_ms", result->ttl_ms);
    }
    if (lives) {
        add_number(&builder, "expires_in_ms", result->expires_in_ms);
    }
    add_judgement(&builder, result, lives);
    if (is_failure(result->outcome)) {
        add_text(&builder, "error", failure_text(result->outcome, result->error));
    }
    return builder_close(&builder);
}

json_t *lk_form_failure(lk_outcome outcome, const char *text) {
    struct builder builder = builder_open();
    add_text(&builder, "status", lk_outcome_name(outcome));
    add_text(&builder, "error", failure_text(outcome, text));
    return builder_close(&builder);
}

json_t *lk_form_ok(void) {
    struct builder builder = builder_open();
    add_text(&builder, "status", lk_outcome_name(LK_OK));
    return builder_close(&builder);
}

json_t *lk_form_entry(const lk_entry *entry, bool with_blockers) {
    struct builder builder = builder_open();
    add_text_if_any(&builder, "path", entry->path);
    add_count(&builder, "ticket", entry->ticket);
    add_count_if_any(&builder, "token", entry->token);
    add_text(&builder, "state", entry->held ? "held" : "waiting");
    add_text(&builder, "mode", entry->shared ? "shared" : "exclusive");
    add_count_if_any(&builder, "limit", entry->limit);
    if (entry->shared) {
        add_count(&builder, "units", entry->units);
    }
    add_text_if_any(&builder, "owner", entry->owner);
    add_text_if_any(&builder, "note", entry->note);
    add_number(&builder, "ttl_ms", entry->ttl_ms);
    add_number(&builder, "expires_in_ms", entry->expires_in_ms);
    add_number(&builder, "age_ms", entry->age_ms);
    if (with_blockers && !entry->held) {
        add(&builder, "blockers", form_blockers(entry->blockers, entry->blocker_count));
    }
    return builder_close(&builder);
}

json_t *lk_form_audit_entry(const lk_audit_entry *entry) {
    struct builder builder = builder_open();
    add_number(&builder, "at_ms", entry->at_unix_ms);
    add_text_if_any(&builder, "by", entry->by);
    add_text_if_any(&builder, "reason", entry->reason);
    add_text_if_any(&builder, "path", entry->path);
    add_text_if_any(&builder, "owner", entry->owner);
    add_count(&builder, "ticket", entry->ticket);
    add_count_if_any(&builder, "token", entry->token);
    add_text(&builder, "state", entry->held ? "held" : "waiting");
    add_text_if_any(&builder, "note", entry->note);
    return builder_close(&builder);
}

json_t *lk_form_broken(size_t count) {
    struct builder builder = builder_open();
    add_text(&builder, "status", lk_outcome_name(LK_OK));
    add_count(&builder, "broken", count);
    return builder_close(&builder);
}

char *lk_form_line(const json_t *object) {
    return json_dumps(object, JSON_COMPACT);
}
