/* SPDX-License-Identifier: Apache-2.0 */
/* Records of requests, field by field. */
#include "form/form.h"

static void write_blocker(struct lk_form_writer *writer, const lk_blocker_info *blocker) {
    lk_form_open_map(writer, NULL);
    lk_form_add_text_if_any(writer, "path", blocker->path);
    lk_form_add_text_if_any(writer, "owner", blocker->owner);
    lk_form_add_count_if_any(writer, "ticket", blocker->ticket);
    lk_form_add_text(writer, "state", blocker->held ? "held" : "waiting");
    lk_form_add_text_if_any(writer, "note", blocker->note);
    lk_form_add_number(writer, "expires_in_ms", blocker->expires_in_ms);
    lk_form_close(writer);
}

static void write_blockers(struct lk_form_writer *writer, const lk_blocker_info *blockers,
                           size_t count) {
    lk_form_open_array(writer, "blockers");
    for (size_t i = 0; i < count; i++) {
        write_blocker(writer, &blockers[i]);
    }
    lk_form_close(writer);
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
static void add_judgement(struct lk_form_writer *writer, const lk_result *result, bool lives) {
    if (is_judged(result->outcome)) {
        lk_form_add_count(writer, "in_use", result->in_use);
    }
    if (is_judged(result->outcome) && result->outcome != LK_DEADLOCK) {
        lk_form_add_count(writer, "position", result->position);
    }
    if (result->cycle_count > 0) {
        lk_form_add_texts(writer, "cycle", result->cycle, result->cycle_count);
    }
    if (is_judged(result->outcome) && lives) {
        lk_form_add_boolean(writer, "created", result->created);
    }
    if (result->blocker_count > 0) {
        write_blockers(writer, result->blockers, result->blocker_count);
    }
}

/* R14: of a lease over several nodes. */
static void write_tokens(struct lk_form_writer *writer, const lk_result *result) {
    if (result->token_count == 0) {
        return;
    }
    lk_form_open_array(writer, "tokens");
    for (size_t i = 0; i < result->token_count; i++) {
        lk_form_add_count(writer, NULL, result->tokens[i]);
    }
    lk_form_close(writer);
}

void lk_form_write_result(struct lk_form_writer *writer, const lk_result *result) {
    bool lives = result->expires_in_ms >= 0;

    lk_form_open_map(writer, NULL);
    lk_form_add_text(writer, "status", lk_outcome_name(result->outcome));
    if (result->path_count > 0) {
        lk_form_add_texts(writer, "paths", result->paths, result->path_count);
    }
    lk_form_add_text_if_any(writer, "owner", result->owner);
    lk_form_add_count_if_any(writer, "ticket", result->ticket);
    lk_form_add_count_if_any(writer, "token", result->token);
    write_tokens(writer, result);
    if (lives && !result->fixed && result->ttl_ms > 0) {
        lk_form_add_number(writer, "ttl_ms", result->ttl_ms);
    }
    if (lives) {
        lk_form_add_number(writer, "expires_in_ms", result->expires_in_ms);
    }
    add_judgement(writer, result, lives);
    if (result->value != NULL) {
        lk_form_add_value(writer, result->value, result->value_size);
        lk_form_add_boolean(writer, "in_doubt", result->in_doubt);
    }
    if (is_failure(result->outcome)) {
        lk_form_add_text(writer, "error", failure_text(result->outcome, result->error));
    }
    lk_form_close(writer);
}

void lk_form_write_failure(struct lk_form_writer *writer, lk_outcome outcome, const char *text) {
    lk_form_open_map(writer, NULL);
    lk_form_add_text(writer, "status", lk_outcome_name(outcome));
    lk_form_add_text(writer, "error", failure_text(outcome, text));
    lk_form_close(writer);
}

void lk_form_write_ok(struct lk_form_writer *writer) {
    lk_form_open_map(writer, NULL);
    lk_form_add_text(writer, "status", lk_outcome_name(LK_OK));
    lk_form_close(writer);
}

void lk_form_write_entry(struct lk_form_writer *writer, const lk_entry *entry, bool with_blockers) {
    lk_form_open_map(writer, NULL);
    lk_form_add_text_if_any(writer, "path", entry->path);
    lk_form_add_count(writer, "ticket", entry->ticket);
    lk_form_add_count_if_any(writer, "token", entry->token);
    lk_form_add_text(writer, "state", entry->held ? "held" : "waiting");
    if (entry->revoked) {
        lk_form_add_boolean(writer, "revoked", true);
    }
    lk_form_add_text(writer, "mode", entry->shared ? "shared" : "exclusive");
    lk_form_add_count_if_any(writer, "limit", entry->limit);
    if (entry->shared) {
        lk_form_add_count(writer, "units", entry->units);
    }
    lk_form_add_text_if_any(writer, "owner", entry->owner);
    lk_form_add_text_if_any(writer, "note", entry->note);
    lk_form_add_number(writer, "ttl_ms", entry->ttl_ms);
    lk_form_add_number(writer, "expires_in_ms", entry->expires_in_ms);
    lk_form_add_number(writer, "age_ms", entry->age_ms);
    if (with_blockers && !entry->held) {
        lk_form_add_count(writer, "position", entry->position);
        write_blockers(writer, entry->blockers, entry->blocker_count);
    }
    lk_form_close(writer);
}

void lk_form_write_audit_entry(struct lk_form_writer *writer, const lk_audit_entry *entry) {
    lk_form_open_map(writer, NULL);
    lk_form_add_number(writer, "at_ms", entry->at_unix_ms);
    lk_form_add_text_if_any(writer, "by", entry->by);
    lk_form_add_text_if_any(writer, "reason", entry->reason);
    lk_form_add_text_if_any(writer, "path", entry->path);
    lk_form_add_text_if_any(writer, "owner", entry->owner);
    lk_form_add_count(writer, "ticket", entry->ticket);
    lk_form_add_count_if_any(writer, "token", entry->token);
    lk_form_add_text(writer, "state", entry->held ? "held" : "waiting");
    lk_form_add_text_if_any(writer, "note", entry->note);
    lk_form_close(writer);
}

void lk_form_write_broken(struct lk_form_writer *writer, size_t count) {
    lk_form_open_map(writer, NULL);
    lk_form_add_text(writer, "status", lk_outcome_name(LK_OK));
    lk_form_add_count(writer, "broken", count);
    lk_form_close(writer);
}
