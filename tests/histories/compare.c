/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store answered beside what a model answers, field by field; and listings that come in
 * pages, beside those of the model.
 */
#include "compare.h"

#include <stdio.h>

static bool is_same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool is_same_bytes(const void *a, size_t a_size, const void *b, size_t b_size) {
    return a_size == b_size && (a == NULL) == (b == NULL)
           && (a_size == 0 || memcmp(a, b, a_size) == 0);
}

/* Draws (R4) agree; those of a lazy store, which makes them later, in whether there is one. */
static bool is_same_draw(bool is_lazy, uint64_t a, uint64_t b) {
    return is_lazy ? (a == 0) == (b == 0) : a == b;
}

static const char *compare_blockers(bool is_lazy, const lk_blocker_info *a, size_t a_count,
                                    const lk_blocker_info *b, size_t b_count) {
    if (a_count != b_count) {
        return "the number of blockers";
    }
    for (size_t i = 0; i < a_count; i++) {
        if (!is_same_text(a[i].path, b[i].path) || !is_same_text(a[i].owner, b[i].owner)
            || !is_same_text(a[i].note, b[i].note)
            || !is_same_draw(is_lazy, a[i].ticket, b[i].ticket) || a[i].held != b[i].held
            || a[i].expires_in_ms != b[i].expires_in_ms) {
            return "a blocker";
        }
    }
    return NULL;
}

/* R15. */
static bool are_same_part_values(const lk_result *a, const lk_result *b) {
    bool are_same = a->value_count == b->value_count;

    for (size_t i = 0; are_same && i < a->value_count; i++) {
        are_same = is_same_bytes(a->values[i].value, a->values[i].value_size, b->values[i].value,
                                 b->values[i].value_size)
                   && a->values[i].in_doubt == b->values[i].in_doubt;
    }
    return are_same;
}

const char *compare_results(bool is_lazy, const lk_result *a, const lk_result *b) {
    if (a->outcome != b->outcome) {
        return "the outcome";
    }
    if (!is_same_text(a->error, b->error)) {
        return "the sentence";
    }
    if (!is_same_draw(is_lazy, a->ticket, b->ticket)
        || !is_same_draw(is_lazy, a->token, b->token)) {
        return "ticket or token";
    }
    if (a->expires_in_ms != b->expires_in_ms || a->fixed != b->fixed
        || (a->ttl_ms != b->ttl_ms && !a->fixed)) { /* of a fixed one a service tells none */
        return "the deadline";
    }
    if (a->in_use != b->in_use || a->position != b->position || a->created != b->created) {
        return "units in use, position or whether it is new";
    }
    if (!is_same_bytes(a->value, a->value_size, b->value, b->value_size)
        || a->in_doubt != b->in_doubt) {
        return "the value";
    }
    if (!are_same_part_values(a, b)) {
        return "the values of the parts";
    }
    /* Where an ask closes several cycles, any of them may be named. */
    if ((a->cycle_count == 0) != (b->cycle_count == 0)
        || (a->cycle_count > 0 && !is_same_text(a->cycle[0], b->cycle[0]))) {
        return "the cycle";
    }
    return compare_blockers(is_lazy, a->blockers, a->blocker_count, b->blockers, b->blocker_count);
}

static const char *compare_entry(bool is_lazy, const lk_entry *a, const lk_entry *b) {
    if (!is_same_text(a->path, b->path) || !is_same_text(a->owner, b->owner)
        || !is_same_text(a->note, b->note) || !is_same_draw(is_lazy, a->ticket, b->ticket)) {
        return "which owners are listed";
    }
    if (!is_same_draw(is_lazy, a->token, b->token) || a->held != b->held || a->shared != b->shared
        || a->revoked != b->revoked || a->limit != b->limit || a->units != b->units) {
        return "the state listed";
    }
    if (a->ttl_ms != b->ttl_ms || a->expires_in_ms != b->expires_in_ms) {
        return "the deadline listed";
    }
    if (a->position != b->position) {
        return "the position listed";
    }
    return compare_blockers(is_lazy, a->blockers, a->blocker_count, b->blockers, b->blocker_count);
}

const char *compare_listings(bool is_lazy, const lk_listing *a, const lk_listing *b) {
    const char *difference = a->count != b->count ? "the number of parts listed" : NULL;

    for (size_t i = 0; difference == NULL && i < a->count; i++) {
        difference = compare_entry(is_lazy, &a->entries[i], &b->entries[i]);
    }
    return difference;
}

/* ---- values and work ------------------------------------------------------------------------- */

const char *compare_values(const lk_value *a, const lk_value *b) {
    if (a == NULL || b == NULL) {
        return a == b ? NULL : "whether there is a value";
    }
    if (!is_same_bytes(a->bytes, a->size, b->bytes, b->size)) {
        return "the value";
    }
    return a->in_doubt == b->in_doubt ? NULL : "whether the value is in doubt";
}

const char *compare_claims(bool is_lazy, const lk_claim_info *a, const lk_claim_info *b) {
    if (a == NULL || b == NULL) {
        return a == b ? NULL : "whether something is claimed";
    }
    if (!is_same_text(a->queue, b->queue) || !is_same_text(a->id, b->id)
        || !is_same_text(a->owner, b->owner)) {
        return "what is claimed";
    }
    if (!is_same_bytes(a->value, a->value_size, b->value, b->value_size)) {
        return "the value of what is claimed";
    }
    if (a->attempt != b->attempt || a->is_stolen != b->is_stolen) {
        return "attempts, or whether it is stolen";
    }
    if (!is_same_draw(is_lazy, a->token, b->token)) {
        return "the claim's token";
    }
    return a->ttl_ms == b->ttl_ms && a->expires_in_ms == b->expires_in_ms ? NULL
                                                                          : "the claim's deadline";
}

static const char *compare_item(const lk_item_info *a, const lk_item_info *b) {
    if (!is_same_text(a->id, b->id) || !is_same_text(a->owner, b->owner)
        || !is_same_text(a->state, b->state)) {
        return "which items there are, or their states";
    }
    if (a->attempts != b->attempts || a->due_in_ms != b->due_in_ms
        || a->expires_in_ms != b->expires_in_ms) {
        return "an item's attempts, due or deadline";
    }
    if (!is_same_bytes(a->value, a->value_size, b->value, b->value_size)) {
        return "an item's value";
    }
    if (a->priority != b->priority) {
        return "an item's priority";
    }
    if (a->has_last_exit != b->has_last_exit || a->last_exit != b->last_exit
        || !is_same_bytes(a->last_error, a->last_error_size, b->last_error, b->last_error_size)) {
        return "an item's last failure";
    }
    if (!is_same_bytes(a->progress, a->progress_size, b->progress, b->progress_size)) {
        return "an item's progress";
    }
    if (a->need_count != b->need_count) {
        return "an item's needs";
    }
    for (size_t i = 0; i < a->need_count; i++) {
        if (!is_same_text(a->needs[i], b->needs[i])) {
            return "an item's needs";
        }
    }
    return NULL;
}

const char *compare_items(const lk_item_list *a, const lk_item_list *b) {
    const char *difference = a->count != b->count ? "the number of items" : NULL;

    for (size_t i = 0; difference == NULL && i < a->count; i++) {
        difference = compare_item(&a->items[i], &b->items[i]);
    }
    return difference;
}

const char *compare_stats(const lk_queue_stats *a, const lk_queue_stats *b) {
    if (a->pushed != b->pushed || a->duplicates != b->duplicates || a->claims != b->claims
        || a->steals != b->steals || a->done != b->done || a->retried != b->retried
        || a->parked != b->parked) {
        return "what was counted";
    }
    if ((a->oldest_ready_ms < 0) != (b->oldest_ready_ms < 0)) {
        return "whether an item is ready";
    }
    return a->ready_now == b->ready_now && a->delayed_now == b->delayed_now
                   && a->claimed_now == b->claimed_now && a->parked_now == b->parked_now
                   && a->done_now == b->done_now
               ? NULL
               : "how many items are in each state";
}

const char *compare_errors(const lk_error *a, const lk_error *b) {
    if (a->outcome != b->outcome) {
        return "the outcome";
    }
    return is_same_text(a->text, b->text) ? NULL : "the sentence";
}

static bool is_same_event(bool is_lazy, const lk_watch_event *a, const lk_watch_event *b) {
    bool is_same = a->kind == b->kind && a->refusal == b->refusal && a->sequence == b->sequence
                   && a->at_unix_ms == b->at_unix_ms && a->part_count == b->part_count
                   && is_same_text(a->owner, b->owner) && is_same_text(a->note, b->note)
                   && is_same_draw(is_lazy, a->ticket, b->ticket)
                   && is_same_draw(is_lazy, a->token, b->token) && is_same_text(a->queue, b->queue)
                   && is_same_text(a->id, b->id) && a->attempt == b->attempt
                   && a->is_deletion == b->is_deletion && is_same_text(a->by, b->by)
                   && is_same_text(a->reason, b->reason);

    for (size_t i = 0; is_same && i < a->part_count; i++) {
        is_same = is_same_text(a->paths[i], b->paths[i]) && is_same_text(a->parts[i], b->parts[i]);
    }
    return is_same;
}

const char *compare_events(bool is_lazy, const struct lk_event_page *a,
                           const struct lk_event_page *b) {
    if (a->count != b->count) {
        return "the number of events";
    }
    for (size_t i = 0; i < a->count; i++) {
        if (!is_same_event(is_lazy, &a->events[i], &b->events[i])) {
            return "an event";
        }
    }
    return NULL;
}

/* ---- pages ----------------------------------------------------------------------------------- */

enum { PATIENCE_US = 20000000, PAGE = 2 };

/* ---- parked items ---------------------------------------------------------------------------- */

/* Whether the page has the next of the parked items among `all`; *at: how many of all are seen. */
static bool is_next_page(const lk_item_list *page, const lk_item_list *all, size_t *at) {
    for (size_t i = 0; i < page->count; i++) {
        while (*at < all->count && strcmp(all->items[*at].state, "parked") != 0) {
            (*at)++;
        }
        if (*at == all->count || strcmp(page->items[i].id, all->items[(*at)++].id) != 0) {
            return false;
        }
    }
    return true;
}

static const char *parked_differ(const struct history *history, struct lk_engine *engine,
                                 const struct lk_path *queue) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct lk_parked_query query = {.queue = queue, .max = PAGE};
    lk_item_list *all = NULL;
    size_t at = 0;
    size_t seen = 0;
    size_t parked = 0;
    bool is_same = true;

    (void)lk_items_from_model(history->model, &history->times,
                              &(struct lk_item_query){.queue = queue}, &all);
    do {
        lk_item_list *page = NULL;
        lk_error error;

        if (engine->ops->batches->parked(engine, &query, &patience, &page, &query.behind, &error)
            != LK_OK) {
            lk_item_list_free(all);
            return "what is parked";
        }
        is_same = page->count <= PAGE && is_next_page(page, all, &at);
        seen += page->count;
        lk_item_list_free(page);
    } while (is_same && query.behind != 0);
    for (size_t i = 0; i < all->count; i++) {
        parked += strcmp(all->items[i].state, "parked") == 0;
    }
    lk_item_list_free(all);
    return is_same && seen == parked ? NULL : "which items are parked";
}

/* ---- queues ---------------------------------------------------------------------------------- */

static const char *compare_pages(const lk_queue_list *a, const lk_queue_list *b) {
    if (a->count != b->count) {
        return "the number of queues";
    }
    for (size_t i = 0; i < a->count; i++) {
        const char *difference = compare_stats(&a->queues[i].counts, &b->queues[i].counts);

        if (strcmp(a->queues[i].queue, b->queues[i].queue) != 0) {
            return "which queues there are";
        }
        if (difference != NULL) {
            return difference;
        }
    }
    return NULL;
}

/* At or below the prefix; NULL: all. */
static const char *queues_differ(const struct history *history, struct lk_engine *engine,
                                 const struct lk_path *prefix) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    char last[LK_PATH_BYTES_MAX + 1] = "";
    struct lk_queue_query query = {.prefix = prefix, .max = PAGE};
    const char *difference = NULL;
    bool has_more = true;

    while (difference == NULL && has_more) {
        lk_queue_list *page = NULL;
        lk_queue_list *expected = NULL;
        bool expects_more = false;
        lk_error error;

        query.behind = lk_slice_of(last);
        if (engine->ops->batches->queues(engine, &query, &patience, &page, &has_more, &error)
            != LK_OK) {
            return "what is said of the queues";
        }
        (void)lk_queues_from_model(history->model, prefix, history->times.now_us, query.behind,
                                   query.max, &expected, &expects_more);
        difference = compare_pages(page, expected);
        if (difference == NULL && expects_more && !has_more) {
            difference = "whether there are more queues";
        }
        has_more = has_more && page->count > 0; /* there may have been none behind the last one */
        if (page->count > 0) {
            (void)snprintf(last, sizeof last, "%s", page->queues[page->count - 1].queue);
        }
        lk_queue_list_free(page);
        lk_queue_list_free(expected);
    }
    return difference;
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char *compare_lists(const lk_value_list *a, const lk_value_list *b) {
    if (a->count != b->count) {
        return "the number of listed values";
    }
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->values[i].path, b->values[i].path) != 0) {
            return "which values are listed";
        }
        if (a->values[i].size != b->values[i].size) {
            return "the size of a listed value";
        }
        if (a->values[i].in_doubt != b->values[i].in_doubt) {
            return "the doubt of a listed value";
        }
    }
    return b->reached != NULL && a->reached == NULL ? "whether there are more values" : NULL;
}

/* At or below the prefix; NULL: all. */
static const char *values_differ(const struct history *history, struct lk_engine *engine,
                                 const struct lk_path *prefix) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct lk_value_query query = {.prefix = prefix, .max = PAGE};
    lk_value_list *former = NULL;
    const char *difference = NULL;

    do {
        lk_value_list *page = NULL;
        lk_value_list *expected = NULL;
        lk_error error;

        query.behind = lk_slice_of(former != NULL ? former->reached : NULL);
        (void)lk_values_from_model(history->model, prefix, query.behind, query.max, &expected);
        difference = engine->ops->values(engine, &query, &patience, &page, &error) == LK_OK
                         ? compare_lists(page, expected)
                         : "whether values are listed";
        lk_value_list_free(expected);
        lk_value_list_free(former);
        former = page;
    } while (difference == NULL && former->reached != NULL);
    lk_value_list_free(former);
    return difference;
}

const char *look_at_values(struct history *history, struct lk_engine *engine, const char *text) {
    const char *difference = values_differ(history, engine, NULL);
    struct lk_path path;

    (void)lk_path_parse(lk_slice_of(text), &path, NULL);
    if (difference == NULL) {
        difference = values_differ(history, engine, &path);
    }
    if (difference == NULL) {
        struct lk_path root;

        (void)lk_path_parse(lk_path_root(&path), &root, NULL);
        difference = values_differ(history, engine, &root);
    }
    return difference;
}

/* ---- all of a queue -------------------------------------------------------------------------- */

const char *look_at_pages(struct history *history, struct lk_engine *engine, const char *text) {
    struct lk_path queue;
    const char *difference;

    (void)lk_path_parse(lk_slice_of(text), &queue, NULL);
    difference = parked_differ(history, engine, &queue);
    if (difference == NULL) {
        difference = queues_differ(history, engine, NULL);
    }
    if (difference == NULL) {
        struct lk_path root;

        (void)lk_path_parse(lk_path_root(&queue), &root, NULL);
        difference = queues_differ(history, engine, &root);
    }
    return difference;
}
