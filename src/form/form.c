/* SPDX-License-Identifier: Apache-2.0 */
/* Records as maps; those that are not declared as a table of fields are written here. */
#include "form/form.h"

#include "form/record.h"

/* ---- irregular records ----------------------------------------------------------------------- */

static void write_record(struct lk_form_writer *writer, const struct lk_form *form,
                         const void *record) {
    lk_form_open_map(writer, NULL);
    lk_form_add_fields(writer, form, record);
    lk_form_close(writer);
}

void lk_form_open_answer(struct lk_form_writer *writer, lk_outcome outcome) {
    lk_form_open_map(writer, NULL);
    lk_form_add_text(writer, "status", lk_outcome_name(outcome));
}

static const char *failure_text(lk_outcome outcome, const char *text) {
    return text != NULL && text[0] != '\0' ? text : lk_outcome_text(outcome);
}

/* The outcomes of a judged ask, which report the state of its paths. */
static bool is_decided(lk_outcome outcome) {
    return outcome == LK_GRANTED || outcome == LK_WAITING || outcome == LK_BUSY
           || outcome == LK_TIMEOUT || outcome == LK_DEADLOCK;
}

static bool is_failure(lk_outcome outcome) {
    return outcome != LK_OK && outcome != LK_GRANTED && outcome != LK_WAITING;
}

/* Fields of answers to an ask only: the state of its paths, and why. */
static void add_decision(struct lk_form_writer *writer, const lk_result *result, bool lives) {
    if (is_decided(result->outcome)) {
        lk_form_add_count(writer, "in_use", result->in_use);
    }
    if (is_decided(result->outcome) && result->outcome != LK_DEADLOCK) {
        lk_form_add_count(writer, "position", result->position);
    }
    if (result->cycle_count > 0) {
        lk_form_add_texts(writer, "cycle", result->cycle, result->cycle_count);
    }
    if (is_decided(result->outcome) && lives) {
        lk_form_add_boolean(writer, "created", result->created);
    }
    if (result->blocker_count > 0) {
        lk_form_open_array(writer, "blockers");
        for (size_t i = 0; i < result->blocker_count; i++) {
            write_record(writer, &lk_form_of_blocker, &result->blockers[i]);
        }
        lk_form_close(writer);
    }
}

/* R15: of each part, in the order of the paths. */
static void write_values(struct lk_form_writer *writer, const lk_result *result) {
    if (result->value_count == 0) {
        return;
    }
    lk_form_open_array(writer, "values");
    for (size_t i = 0; i < result->value_count; i++) {
        write_record(writer, &lk_form_of_part_value, &result->values[i]);
    }
    lk_form_close(writer);
}

/* R14: the tokens of a lease over several nodes. */
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

    lk_form_open_answer(writer, result->outcome);
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
    add_decision(writer, result, lives);
    if (result->value != NULL) {
        lk_form_add_value(writer, "value", result->value, result->value_size);
        lk_form_add_boolean(writer, "in_doubt", result->in_doubt);
    }
    write_values(writer, result);
    if (is_failure(result->outcome)) {
        lk_form_add_text(writer, "error", failure_text(result->outcome, result->error));
    }
    lk_form_close(writer);
}

void lk_form_write_failure(struct lk_form_writer *writer, lk_outcome outcome, const char *text) {
    lk_form_open_answer(writer, outcome);
    lk_form_add_text(writer, "error", failure_text(outcome, text));
    lk_form_close(writer);
}

void lk_form_write_ok(struct lk_form_writer *writer) {
    lk_form_open_answer(writer, LK_OK);
    lk_form_close(writer);
}

void lk_form_write_broken(struct lk_form_writer *writer, size_t count) {
    lk_form_open_answer(writer, LK_OK);
    lk_form_add_count(writer, "broken", count);
    lk_form_close(writer);
}

void lk_form_write_pushed(struct lk_form_writer *writer, bool added) {
    lk_form_open_answer(writer, LK_OK);
    lk_form_add_boolean(writer, "added", added);
    lk_form_close(writer);
}

/* ---- regular records ------------------------------------------------------------------------- */

void lk_form_write_entry(struct lk_form_writer *writer, const lk_entry *entry, bool with_blockers) {
    write_record(writer,
                 with_blockers && !entry->held ? &lk_form_of_explained_entry : &lk_form_of_entry,
                 entry);
}

void lk_form_write_audit_entry(struct lk_form_writer *writer, const lk_audit_entry *entry) {
    write_record(writer, &lk_form_of_audit_entry, entry);
}

void lk_form_write_event(struct lk_form_writer *writer, const lk_watch_event *event) {
    write_record(writer, &lk_form_of_event, event);
}

void lk_form_write_value_info(struct lk_form_writer *writer, const lk_value_info *value) {
    write_record(writer, &lk_form_of_value_info, value);
}

/* Writes the rest of an answer whose map is open. */
static void end_answer(struct lk_form_writer *writer, const struct lk_form *form,
                       const void *record) {
    lk_form_add_fields(writer, form, record);
    lk_form_close(writer);
}

void lk_form_write_value(struct lk_form_writer *writer, const char *path, const lk_value *value) {
    lk_form_open_answer(writer, LK_OK);
    lk_form_add_text(writer, "path", path);
    end_answer(writer, &lk_form_of_value, value);
}

void lk_form_write_claim(struct lk_form_writer *writer, const lk_claim_info *claim) {
    lk_form_open_answer(writer, LK_GRANTED);
    end_answer(writer, &lk_form_of_claim, claim);
}

void lk_form_add_claims(struct lk_form_writer *writer, const char *name,
                        const lk_claim_info *const *claims, size_t count) {
    lk_form_open_array(writer, name);
    for (size_t i = 0; i < count; i++) {
        write_record(writer, &lk_form_of_claim, claims[i]);
    }
    lk_form_close(writer);
}

void lk_form_write_queue(struct lk_form_writer *writer, const lk_queue_info *queue) {
    write_record(writer, &lk_form_of_queue, queue);
}

void lk_form_write_item(struct lk_form_writer *writer, const char *queue,
                        const lk_item_info *item) {
    lk_form_open_map(writer, NULL);
    lk_form_add_text(writer, "queue", queue);
    end_answer(writer, &lk_form_of_item, item);
}

void lk_form_write_stats(struct lk_form_writer *writer, const char *queue,
                         const lk_queue_stats *stats) {
    lk_form_open_answer(writer, LK_OK);
    lk_form_add_text(writer, "queue", queue);
    end_answer(writer, &lk_form_of_stats, stats);
}

void lk_form_write_limits(struct lk_form_writer *writer, const lk_limits *limits) {
    lk_form_open_answer(writer, LK_OK);
    end_answer(writer, &lk_form_of_limits, limits);
}
