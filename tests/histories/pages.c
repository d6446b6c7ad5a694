/* SPDX-License-Identifier: Apache-2.0 */
/* Listings that come in pages, beside those of the model. */
#include <stdio.h>

#include "compare.h"

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

    (void)lk_items_from_model(history->model, &history->times, queue, &all);
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
        (void)lk_queues_from_model(history->model, prefix, query.behind, query.max, &expected,
                                   &expects_more);
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
