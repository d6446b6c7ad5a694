/* SPDX-License-Identifier: Apache-2.0 */
/* Records of values and work (R15, R16), field by field. */
#include "form/form.h"

static void add_status(struct lk_form_writer *writer, lk_outcome outcome) {
    lk_form_add_text(writer, "status", lk_outcome_name(outcome));
}

void lk_form_write_value(struct lk_form_writer *writer, const char *path, const lk_value *value) {
    lk_form_open_map(writer, NULL);
    add_status(writer, LK_OK);
    lk_form_add_text(writer, "path", path);
    lk_form_add_value(writer, value->bytes, value->size);
    lk_form_add_boolean(writer, "in_doubt", value->in_doubt);
    lk_form_close(writer);
}

void lk_form_write_pushed(struct lk_form_writer *writer, bool added) {
    lk_form_open_map(writer, NULL);
    add_status(writer, LK_OK);
    lk_form_add_boolean(writer, "added", added);
    lk_form_close(writer);
}

void lk_form_write_claim(struct lk_form_writer *writer, const lk_claim_info *claim) {
    lk_form_open_map(writer, NULL);
    add_status(writer, LK_GRANTED);
    lk_form_add_text(writer, "queue", claim->queue);
    lk_form_add_text(writer, "id", claim->id);
    if (claim->value != NULL) {
        lk_form_add_value(writer, claim->value, claim->value_size);
    }
    lk_form_add_count(writer, "attempt", claim->attempt);
    if (claim->is_stolen) {
        lk_form_add_boolean(writer, "stolen", true);
    }
    lk_form_add_count(writer, "token", claim->token);
    lk_form_add_text(writer, "owner", claim->owner);
    lk_form_add_number(writer, "expires_in_ms", claim->expires_in_ms);
    lk_form_close(writer);
}

void lk_form_write_item(struct lk_form_writer *writer, const char *queue,
                        const lk_item_info *item) {
    lk_form_open_map(writer, NULL);
    lk_form_add_text(writer, "queue", queue);
    lk_form_add_text(writer, "id", item->id);
    lk_form_add_text(writer, "state", item->state);
    lk_form_add_count(writer, "attempts", item->attempts);
    lk_form_add_text_if_any(writer, "owner", item->owner);
    if (item->due_in_ms >= 0) {
        lk_form_add_number(writer, "due_in_ms", item->due_in_ms);
    }
    if (item->expires_in_ms >= 0) {
        lk_form_add_number(writer, "expires_in_ms", item->expires_in_ms);
    }
    if (item->value != NULL) {
        lk_form_add_value(writer, item->value, item->value_size);
    }
    if (item->need_count > 0) {
        lk_form_add_texts(writer, "needs", item->needs, item->need_count);
    }
    lk_form_close(writer);
}

void lk_form_write_stats(struct lk_form_writer *writer, const char *queue,
                         const lk_queue_stats *stats) {
    lk_form_open_map(writer, NULL);
    add_status(writer, LK_OK);
    lk_form_add_text(writer, "queue", queue);
    lk_form_add_count(writer, "pushed", stats->pushed);
    lk_form_add_count(writer, "duplicates", stats->duplicates);
    lk_form_add_count(writer, "claims", stats->claims);
    lk_form_add_count(writer, "steals", stats->steals);
    lk_form_add_count(writer, "done", stats->done);
    lk_form_add_count(writer, "retried", stats->retried);
    lk_form_add_count(writer, "parked", stats->parked);
    lk_form_add_count(writer, "ready_now", stats->ready_now);
    lk_form_add_count(writer, "delayed_now", stats->delayed_now);
    lk_form_add_count(writer, "claimed_now", stats->claimed_now);
    lk_form_add_count(writer, "parked_now", stats->parked_now);
    lk_form_close(writer);
}
