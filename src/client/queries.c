/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and administration: list, show, break, audit, examine, backup, limits, queues. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "client/answer.h"
#include "client/checked.h"
#include "client/wait.h"
#include "engine/reply/reply.h"

enum {
    HEADING_BYTES_MAX = LK_ERROR_TEXT_MAX + 4096 + 512,
};

static struct lk_patience patience_by_default(void) {
    return (struct lk_patience){.until_us = lk_wait_patience_until(0)};
}

/* ---- listings -------------------------------------------------------------------------------- */

lk_outcome lk_list(lk_store *store, const char *prefix, lk_listing **ret_listing, lk_error *error) {
    const struct lk_patience patience = patience_by_default();
    const struct lk_path *used;
    struct lk_path path;
    lk_outcome outcome = lk_checked_prefix(store, 0, prefix, &path, &used, error);

    return outcome == LK_OK
               ? store->engine->ops->list(store->engine, used, &patience, ret_listing, error)
               : outcome;
}

lk_outcome lk_show(lk_store *store, const char *path, lk_listing **ret_listing, lk_error *error) {
    const struct lk_patience patience = patience_by_default();
    struct lk_path parsed;
    lk_outcome outcome = lk_checked_path(store, 0, path, &parsed, error);

    return outcome == LK_OK
               ? store->engine->ops->show(store->engine, &parsed, &patience, ret_listing, error)
               : outcome;
}

/* ---- breaking -------------------------------------------------------------------------------- */

/* Who breaks, and why. */
static lk_outcome check_record(const char *reason, const char *by, struct lk_break *ret_break,
                               lk_error *error) {
    lk_outcome outcome = lk_checked_text("R12: the reason", reason != NULL ? reason : "", 1,
                                         LK_REASON_BYTES_MAX, error);

    if (outcome == LK_OK) {
        outcome = lk_checked_text("R12: the user of a break", by != NULL ? by : "", 1,
                                  LK_BREAKER_BYTES_MAX, error);
    }
    ret_break->by = lk_slice_of(by);
    ret_break->reason = lk_slice_of(reason);
    return outcome;
}

static lk_outcome check_break(const lk_break_request *request, struct lk_break *ret_break,
                              lk_error *error) {
    lk_outcome outcome = lk_path_parse(lk_slice_of(request->path), &ret_break->path, error);

    if (outcome == LK_OK) {
        outcome = check_record(request->reason, request->by, ret_break, error);
    }
    if (outcome == LK_OK && request->owner != NULL) {
        outcome = lk_checked_owner(request->owner, error);
    }
    ret_break->owner = lk_slice_of(request->owner);
    ret_break->at_once = request->at_once;
    return outcome;
}

static lk_outcome decide_break(lk_store *store, const struct lk_command *command, size_t *ret_count,
                               lk_error *error) {
    const struct lk_patience patience = patience_by_default();
    struct lk_decision decision;
    lk_outcome outcome = store->engine->ops->decide(store->engine, command, &patience, &decision);

    if (outcome == LK_OK && ret_count != NULL) {
        *ret_count = decision.broken;
    }
    return lk_answer_end(&decision, error);
}

lk_outcome lk_break(lk_store *store, const lk_break_request *request, size_t *ret_count,
                    lk_error *error) {
    lk_break_request known;
    struct lk_command command = {.kind = LK_COMMAND_BREAK};
    lk_outcome outcome = lk_store_check_can(store, LK_CAN_BREAK, error);

    if (outcome == LK_OK) {
        outcome = lk_checked_copy(&known, sizeof known, request, error);
    }
    if (outcome == LK_OK) {
        outcome = check_break(&known, &command.broken, error);
    }
    return outcome == LK_OK ? decide_break(store, &command, ret_count, error) : outcome;
}

lk_outcome lk_cancel_item(lk_store *store, const lk_cancel_request *request, bool *ret_is_claimed,
                          lk_error *error) {
    lk_cancel_request known;
    struct lk_command command = {.kind = LK_COMMAND_BREAK};
    struct lk_item_path item;
    struct lk_path queue;
    size_t claims = 0;
    lk_outcome outcome = lk_checked_copy(&known, sizeof known, request, error);

    if (outcome == LK_OK) {
        outcome = lk_checked_path(store, LK_CAN_WORK, known.queue, &queue, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_store_check_can(store, LK_CAN_BREAK, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_item_path_make(&queue, lk_slice_of(known.id), &item, error);
    }
    if (outcome == LK_OK) {
        outcome = check_record(known.reason, known.by, &command.broken, error);
    }
    if (outcome == LK_OK) {
        command.broken.path = item.path;
        command.broken.at_once = known.at_once;
        command.broken.cancels = true;
        outcome = decide_break(store, &command, &claims, error);
    }
    if (outcome == LK_OK && ret_is_claimed != NULL) {
        *ret_is_claimed = claims > 0;
    }
    return outcome;
}

lk_outcome lk_audit_read(lk_store *store, const char *prefix, lk_audit **ret_audit,
                         lk_error *error) {
    const struct lk_patience patience = patience_by_default();
    const struct lk_path *used;
    struct lk_path path;
    lk_outcome outcome = lk_checked_prefix(store, LK_CAN_BREAK, prefix, &path, &used, error);

    return outcome == LK_OK
               ? store->engine->ops->audit(store->engine, used, &patience, ret_audit, error)
               : outcome;
}

/* ---- examining ------------------------------------------------------------------------------- */

static void add_capabilities(struct lk_text *text, unsigned capabilities) {
    static const struct {
        enum lk_capability bit;
        const char *name;
    } names[] = {
        {LK_CAN_QUEUE, "queue"},         {LK_CAN_ROOTS, "several-roots"},
        {LK_CAN_DEADLOCK, "deadlock"},   {LK_CAN_BREAK, "break"},
        {LK_CAN_EXCLUSIVE, "exclusive"}, {LK_CAN_VALUES, "values"},
        {LK_CAN_WORK, "work"},           {LK_CAN_TABLE, "table"},
        {LK_CAN_EVENTS, "events"},       {LK_CAN_LIMITS, "limits"},
        {LK_CAN_PERSIST, "persistent"},  {LK_CAN_RETRY, "retry"},
        {LK_BINDS_TO_PROCESS, "bound"},  {LK_CAN_BIND, "binds"},
        {LK_CAN_BATCHES, "batches"},     {LK_CAN_LIST_VALUES, "value-lists"},
    };

    lk_text_format(text, "capabilities:");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if ((capabilities & names[i].bit) != 0) {
            lk_text_format(text, " %s", names[i].name);
        }
    }
    lk_text_format(text, "\n");
}

/* Prepends to the report of the engine what is known of every store. */
static bool add_heading(const lk_store *store, lk_report *report) {
    const struct lk_engine_ops *ops = store->engine->ops;
    char bytes[HEADING_BYTES_MAX];
    struct lk_text text = lk_text_in(bytes, sizeof bytes);
    char *whole;

    lk_text_format(&text, "store: %s\nengine: %s: (%s)\nlibrary: %s\n", store->url, ops->scheme,
                   ops->title, LK_VERSION);
    add_capabilities(&text, lk_store_capabilities(store));
    whole = lk_text_make("%s%s", bytes, report->text);
    if (whole == NULL) {
        return false;
    }
    free(report->text);
    report->text = whole;
    return true;
}

lk_outcome lk_examine(lk_store *store, lk_report **ret_report, lk_error *error) {
    return lk_store_examine_within(store, LK_FOREVER, ret_report, error);
}

lk_outcome lk_store_examine_within(lk_store *store, int64_t wait_ms, lk_report **ret_report,
                                   lk_error *error) {
    const struct lk_patience patience = {.until_us =
                                             lk_wait_patience_until(lk_store_contact_ms(wait_ms))};
    int64_t sent_us = lk_clock_now_us();
    lk_report *report = NULL;
    lk_outcome outcome = lk_store_check(store, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_error_clear(error, LK_OK);
    outcome = store->engine->ops->examine(store->engine, &patience, &report, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    if (report->round_trip_us == 0) {
        report->round_trip_us = lk_clock_now_us() - sent_us; /* the examination was the trip */
    }
    if (!add_heading(store, report)) {
        lk_report_free(report);
        return lk_error_set(error, LK_INTERNAL, "no memory for the report");
    }
    *ret_report = report;
    return LK_OK;
}

/* ---- copies ---------------------------------------------------------------------------------- */

lk_outcome lk_backup(lk_store *store, const char *path, lk_error *error) {
    const struct lk_patience patience = patience_by_default();
    lk_outcome outcome = lk_store_check(store, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_error_clear(error, LK_OK);
    if (path == NULL || path[0] == '\0') {
        return lk_error_set(error, LK_INVALID, "a copy needs the name of a file");
    }
    if (store->engine->ops->backup == NULL) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "only a store in a SQLite file, or a service, is copied so; a "
                            "database server has tools of its own (pg_dump, mariadb-dump, "
                            "BGSAVE)");
    }
    return store->engine->ops->backup(store->engine, path, &patience, error);
}

/* ---- bounds (R22) ---------------------------------------------------------------------------- */

lk_outcome lk_limits_get(lk_store *store, lk_limits *ret_limits, lk_error *error) {
    const struct lk_patience patience = patience_by_default();
    lk_limits limits;
    lk_outcome outcome = lk_store_check_can(store, LK_CAN_LIMITS, error);

    if (outcome == LK_OK && ret_limits->size != sizeof *ret_limits) {
        outcome = lk_error_set(error, LK_INVALID, "the size of lk_limits is not set");
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    lk_error_clear(error, LK_OK);
    limits.size = sizeof limits;
    outcome = store->engine->ops->limits->get(store->engine, &patience, &limits, error);
    if (outcome == LK_OK) {
        *ret_limits = limits;
    }
    return outcome;
}

static bool is_limit(uint64_t limit, uint64_t max) {
    return limit == LK_LIMIT_AS_IS || limit <= max;
}

lk_outcome lk_limits_set(lk_store *store, const lk_limits *limits, lk_error *error) {
    const struct lk_patience patience = patience_by_default();
    lk_limits known;
    lk_outcome outcome = lk_store_check_can(store, LK_CAN_LIMITS, error);

    if (outcome == LK_OK) {
        outcome = lk_checked_copy(&known, sizeof known, limits, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    if (!is_limit(known.live, LK_LIMIT_MAX) || !is_limit(known.live_per_owner, LK_LIMIT_MAX)
        || !is_limit(known.live_per_root, LK_LIMIT_MAX)
        || !is_limit(known.waiters_per_path, LK_LIMIT_MAX)
        || !is_limit(known.events, LK_EVENTS_KEPT_MAX)) {
        return lk_error_set(error, LK_INVALID,
                            "R22: a bound is at most %d, and at most %d events are kept",
                            LK_LIMIT_MAX, LK_EVENTS_KEPT_MAX);
    }
    lk_error_clear(error, LK_OK);
    return store->engine->ops->limits->set(store->engine, &known, &patience, error);
}

/* ---- queues (R16) ---------------------------------------------------------------------------- */

/* They are read page by page. */

enum { PAGE_MAX = 1000 };

/* Moves the queues of `page` behind those of `list`. false: memory is exhausted. */
static bool append(lk_queue_list *list, lk_queue_list *page) {
    size_t count = list->count + page->count;
    lk_queue_info *queues = count > 0 ? realloc(list->queues, count * sizeof *queues) : NULL;

    if (queues == NULL) {
        return count == 0;
    }
    if (page->count > 0) {
        memcpy(queues + list->count, page->queues, page->count * sizeof *queues);
    }
    list->queues = queues;
    list->count = count;
    page->count = 0;
    return true;
}

/* Reads one page more. *ret_has_more: there is another one. */
static lk_outcome read_page(lk_store *store, const struct lk_path *prefix, lk_queue_list *list,
                            bool *ret_has_more, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    const struct lk_queue_query query = {
        .prefix = prefix,
        .behind = lk_slice_of(list->count > 0 ? list->queues[list->count - 1].queue : NULL),
        .max = PAGE_MAX,
    };
    lk_queue_list *page;
    lk_outcome outcome = store->engine->ops->batches->queues(store->engine, &query, &patience,
                                                             &page, ret_has_more, error);

    if (outcome == LK_OK) {
        *ret_has_more = *ret_has_more && page->count > 0;
        outcome = append(list, page) ? LK_OK
                                     : lk_error_set(error, LK_INTERNAL, "no memory for the queues");
        lk_queue_list_free(page);
    }
    return outcome;
}

lk_outcome lk_queues(lk_store *store, const char *prefix, lk_queue_list **ret_list,
                     lk_error *error) {
    struct lk_path path;
    const struct lk_path *used = NULL;
    bool has_more = true;
    lk_queue_list *list = NULL;
    lk_outcome outcome = lk_checked_prefix(store, LK_CAN_BATCHES, prefix, &path, &used, error);

    if (outcome == LK_OK) {
        list = lk_queue_list_new();
        outcome =
            list != NULL ? LK_OK : lk_error_set(error, LK_INTERNAL, "no memory for the queues");
    }
    while (outcome == LK_OK && has_more) {
        outcome = read_page(store, used, list, &has_more, error);
    }
    if (outcome == LK_OK) {
        *ret_list = list;
    } else {
        lk_queue_list_free(list);
    }
    return outcome;
}
