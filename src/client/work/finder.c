/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Announcing the rows of a table (R17), round after round.
 *
 * A round may read much of the table. So the finder rests in proportion to the duration of the last
 * round, and then until the engine reports a change. If the engine cannot report changes, the rest
 * doubles from round to round, up to a second.
 */
#include "client/work/finder.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "client/checked.h"
#include "client/wait.h"
#include "engine/row_id.h"

enum {
    ROUND_MAX = 1024, /* rows in a round */
    REST_SHARE = 4,   /* a round of t is followed by a rest of so many t, when it found nothing */
    SQL_BYTES_MAX = 65536,
};
#define REST_MIN_US INT64_C(20000)
#define REST_MAX_US INT64_C(1000000)
#define POLL_US INT64_C(5000000) /* a round comes this often, without a change too */

/* ---- the table ------------------------------------------------------------------------------- */

static lk_outcome check_text(const char *name, const char *text, lk_error *error) {
    return text != NULL ? lk_checked_text(name, text, 1, SQL_BYTES_MAX, error) : LK_OK;
}

static lk_outcome check_texts(const lk_work_table *table, lk_error *error) {
    const struct {
        const char *name;
        const char *text;
    } texts[] = {{"R17: the table's name", table->name},
                 {"R17: the name of the id column", table->id},
                 {"R17: the condition", table->where},
                 {"R17: the order", table->order},
                 {"R17: the --done statement", table->done}};
    lk_outcome outcome = LK_OK;

    if (table->name == NULL) {
        return lk_error_set(error, LK_INVALID, "R17: a table must be named");
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && outcome == LK_OK; i++) {
        outcome = check_text(texts[i].name, texts[i].text, error);
    }
    return outcome;
}

/* The queue that is named, or the table's name as a path of one segment. */
static lk_outcome make_queue(const char *queue, const lk_work_table *table,
                             struct lk_table_text *ret_text, lk_error *error) {
    struct lk_row_id segment;
    lk_outcome outcome;

    if (queue != NULL) {
        return lk_path_parse(lk_slice_of(queue), &ret_text->source.queue, error);
    }
    if (!lk_row_id_encode(lk_slice_of(table->name), &segment)) {
        return lk_error_set(error, LK_INVALID,
                            "R17: the table's name is too long for a path: name a queue");
    }
    memcpy(ret_text->queue, segment.bytes, segment.size);
    outcome = lk_path_parse((struct lk_slice){ret_text->queue, segment.size},
                            &ret_text->source.queue, error);
    return outcome;
}

/* Whether the queue can have items at all: its path may be too deep, or too long. */
static lk_outcome check_queue(const struct lk_path *queue, lk_error *error) {
    struct lk_item_path item;

    return lk_item_path_make(queue, lk_slice_of("1"), &item, error);
}

lk_outcome lk_table_text_make(lk_store *store, const char *queue, const lk_work_table *table,
                              struct lk_table_text *ret_text, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    lk_work_table known;
    lk_outcome outcome = lk_store_check_can(store, LK_CAN_TABLE, error);

    if (outcome == LK_OK) {
        outcome = lk_checked_copy(&known, sizeof known, table, error);
    }
    if (outcome == LK_OK) {
        outcome = check_texts(&known, error);
    }
    if (outcome == LK_OK) {
        outcome = make_queue(queue, &known, ret_text, error);
    }
    if (outcome == LK_OK) {
        outcome = check_queue(&ret_text->source.queue, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    ret_text->source.table = lk_slice_of(known.name);
    ret_text->source.id_column = lk_slice_of(known.id != NULL ? known.id : "id");
    ret_text->source.where = lk_slice_of(known.where);
    ret_text->source.order = lk_slice_of(known.order);
    ret_text->source.done = lk_slice_of(known.done);
    return store->engine->ops->table->check(store->engine, &ret_text->source, &patience, error);
}

_Static_assert(LK_QUEUE_TEXT_MAX == LK_PATH_BYTES_MAX + 1, "room for any path");

lk_outcome lk_table_check(lk_store *store, const char *queue, const lk_work_table *table,
                          char ret_queue[LK_QUEUE_TEXT_MAX], lk_error *error) {
    struct lk_table_text text;
    lk_outcome outcome = lk_table_text_make(store, queue, table, &text, error);

    if (outcome == LK_OK && ret_queue != NULL) {
        memcpy(ret_queue, text.source.queue.bytes, text.source.queue.size);
        ret_queue[text.source.queue.size] = '\0';
    }
    return outcome == LK_OK ? lk_error_clear(error, LK_OK) : outcome;
}

/* ---- one round ------------------------------------------------------------------------------- */

lk_outcome lk_announce(lk_store *store, const char *queue, const lk_work_table *table,
                       lk_announced *ret_announced, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_announcement announcement;
    struct lk_table_text text;
    lk_outcome outcome = lk_table_text_make(store, queue, table, &text, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_error_clear(error, LK_OK);
    outcome = store->engine->ops->table->announce(store->engine, &text.source, ROUND_MAX, &patience,
                                                  &announcement, error);
    if (outcome == LK_OK && ret_announced != NULL) {
        *ret_announced = (lk_announced){
            .pushed = announcement.pushed,
            .duplicates = announcement.duplicates,
            .has_more = announcement.has_enough || announcement.found == ROUND_MAX,
            .skipped = announcement.skipped.count,
        };
    }
    return outcome;
}

/* ---- skipped rows ---------------------------------------------------------------------------- */

/* Whether it was told before, or too many were; remembers it. */
static bool is_told(struct lk_finder *finder, const struct lk_skipped_row *row) {
    uint64_t hash = lk_hash_bytes((uint64_t)row->size, (struct lk_slice){row->id, row->shown});

    for (size_t i = 0; i < finder->told_count; i++) {
        if (finder->told[i] == hash) {
            return true;
        }
    }
    if (finder->told_count == LK_FINDER_TOLD_MAX) {
        return true;
    }
    finder->told[finder->told_count++] = hash;
    return false;
}

static void tell_skipped(struct lk_finder *finder, const struct lk_skipped_rows *skipped) {
    for (size_t i = 0; i < skipped->count && i < LK_SKIPPED_ROWS_MAX; i++) {
        const struct lk_skipped_row *row = &skipped->first[i];
        char text[LK_SKIPPED_TEXT_MAX];

        if (!is_told(finder, row)) {
            lk_skipped_row_describe(row, text);
            finder->tell_skipped(finder->context, text);
        }
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* After a round that pushed nothing; *rest_us grows with each of them. */
static void rest(struct lk_finder *finder, const struct lk_announcement *announcement,
                 int64_t took_us, int64_t *rest_us) {
    struct lk_engine *engine = finder->store->engine;
    int64_t now_us = lk_clock_now_us();

    if (lk_waker_sleep(finder->waker, lk_max(took_us * REST_SHARE, REST_MIN_US))) {
        return;
    }
    if (engine->ops->table->await != NULL
        && engine->ops->table->await(engine, announcement->version, now_us + POLL_US, finder->waker)
               == LK_OK) {
        return;
    }
    *rest_us = lk_min(lk_max(*rest_us * 2, REST_MIN_US), REST_MAX_US);
    (void)lk_waker_sleep(finder->waker, *rest_us);
}

/* A round. The first one purges all that there is to purge; each of the others some of it. */
static lk_outcome announce(struct lk_finder *finder, bool is_first,
                           struct lk_announcement *ret_announcement, lk_error *error) {
    struct lk_engine *engine = finder->store->engine;
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(finder->patience_ms),
                                         .waker = finder->waker};
    lk_outcome outcome =
        is_first ? engine->ops->table->purge(engine, finder->source, &patience, error) : LK_OK;

    return outcome == LK_OK ? engine->ops->table->announce(engine, finder->source, ROUND_MAX,
                                                           &patience, ret_announcement, error)
                            : outcome;
}

lk_outcome lk_finder_run(struct lk_finder *finder, lk_error *error) {
    int64_t rest_us = 0;
    bool is_first = true;

    while (!lk_waker_is_thrown(finder->waker)) {
        struct lk_announcement round = {.found = 0};
        int64_t sent_us = lk_clock_now_us();

        lk_contact_begin(&finder->store->contact, sent_us);
        lk_outcome outcome = announce(finder, is_first, &round, error);
        lk_contact_end(&finder->store->contact, sent_us, error);
        if (outcome == LK_UNAVAILABLE) {
            if (!lk_outage_outlast(&finder->outage, sent_us, LK_NEVER, finder->patience_ms,
                                   finder->waker)) {
                return outcome;
            }
            continue;
        }
        if (outcome != LK_OK) {
            return outcome;
        }
        is_first = false;
        lk_outage_end(&finder->outage);
        tell_skipped(finder, &round.skipped);
        finder->tell(finder->context, &round);
        if (finder->drains && round.found == 0 && !round.has_enough) {
            return LK_BUSY;
        }
        if (round.pushed == 0) {
            rest(finder, &round, lk_clock_now_us() - sent_us, &rest_us);
        } else {
            rest_us = 0;
        }
    }
    return lk_error_clear(error, LK_CANCELLED);
}
