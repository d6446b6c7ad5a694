/* SPDX-License-Identifier: Apache-2.0 */
/* Values and work (R15, R16) as JSON. */
#include "form/builder.h"

static void add_status(struct lk_form_builder *builder, lk_outcome outcome) {
    lk_form_add_text(builder, "status", lk_outcome_name(outcome));
}

json_t *lk_form_value(const char *path, const lk_value *value) {
    struct lk_form_builder builder = lk_form_builder_open();
    add_status(&builder, LK_OK);
    lk_form_add_text(&builder, "path", path);
    lk_form_add_value(&builder, value->bytes, value->size);
    lk_form_add(&builder, "in_doubt", json_boolean(value->in_doubt));
    return lk_form_builder_close(&builder);
}

json_t *lk_form_pushed(bool added) {
    struct lk_form_builder builder = lk_form_builder_open();
    add_status(&builder, LK_OK);
    lk_form_add(&builder, "added", json_boolean(added));
    return lk_form_builder_close(&builder);
}

json_t *lk_form_claim(const lk_claim_info *claim) {
    struct lk_form_builder builder = lk_form_builder_open();
    add_status(&builder, LK_GRANTED);
    lk_form_add_text(&builder, "queue", claim->queue);
    lk_form_add_text(&builder, "id", claim->id);
    if (claim->value != NULL) {
        lk_form_add_value(&builder, claim->value, claim->value_size);
    }
    lk_form_add_count(&builder, "attempt", claim->attempt);
    lk_form_add_count(&builder, "token", claim->token);
    lk_form_add_text(&builder, "owner", claim->owner);
    lk_form_add_number(&builder, "expires_in_ms", claim->expires_in_ms);
    return lk_form_builder_close(&builder);
}

json_t *lk_form_item(const char *queue, const lk_item_info *item) {
    struct lk_form_builder builder = lk_form_builder_open();
    lk_form_add_text(&builder, "queue", queue);
    lk_form_add_text(&builder, "id", item->id);
    lk_form_add_text(&builder, "state", item->state);
    lk_form_add_count(&builder, "attempts", item->attempts);
    lk_form_add_text_if_any(&builder, "owner", item->owner);
    if (item->due_in_ms >= 0) {
        lk_form_add_number(&builder, "due_in_ms", item->due_in_ms);
    }
    if (item->value != NULL) {
        lk_form_add_value(&builder, item->value, item->value_size);
    }
    if (item->need_count > 0) {
        lk_form_add(&builder, "needs", lk_form_texts(item->needs, item->need_count));
    }
    return lk_form_builder_close(&builder);
}

json_t *lk_form_stats(const char *queue, const lk_queue_stats *stats) {
    struct lk_form_builder builder = lk_form_builder_open();
    add_status(&builder, LK_OK);
    lk_form_add_text(&builder, "queue", queue);
    lk_form_add_count(&builder, "pushed", stats->pushed);
    lk_form_add_count(&builder, "duplicates", stats->duplicates);
    lk_form_add_count(&builder, "claims", stats->claims);
    lk_form_add_count(&builder, "steals", stats->steals);
    lk_form_add_count(&builder, "done", stats->done);
    lk_form_add_count(&builder, "retried", stats->retried);
    lk_form_add_count(&builder, "parked", stats->parked);
    lk_form_add_count(&builder, "ready_now", stats->ready_now);
    lk_form_add_count(&builder, "delayed_now", stats->delayed_now);
    lk_form_add_count(&builder, "claimed_now", stats->claimed_now);
    lk_form_add_count(&builder, "parked_now", stats->parked_now);
    return lk_form_builder_close(&builder);
}
