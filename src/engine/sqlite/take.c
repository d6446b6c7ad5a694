/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking an item out of a queue (R16), in one turn:
 *
 *     sweep what is overdue  -  make ready what is due  -  load candidates  -  step  -  write
 *
 * and the last three again, while nothing can be claimed and there are more candidates.
 *
 * A queue may have any number of ready items, of which mostly the first can be claimed. So they
 * are loaded by age in portions, each twice as large as the one before, and the model decides
 * after each. That is as good as loading all of them:
 *
 *   - What is overdue among the queue's claims is swept before, by a step of its own at the same
 *     moment, so that every item that it frees is in its place in the line.
 *   - The model claims the oldest of those it has that are free to be locked, and all that are
 *     older have been looked at. A take that finds none changes nothing but what is overdue.
 *   - What stands at or above the queue in the name of another owner is in the way of each item:
 *     then there is no need to look at more.
 *   - Where nobody else is at or around an item's own path, it is its needs that are not free, and
 *     nor are they for any other item with the very same needs: these are passed over unloaded.
 */
#include "base/error.h"
#include "engine/bytes.h"
#include "engine/reply.h"
#include "engine/sqlite/changes.h"
#include "engine/sqlite/decide.h"

enum {
    PORTION_FIRST = 2,
    TRIED_KEY_MAX = LK_PATH_BYTES_MAX + 1 + LK_SQL_NEEDS_TEXT_MAX,
};

/* What one take goes through. */
struct taking {
    struct lk_sqlite_turn *turn;
    struct lk_event event;
    struct lk_neighbourhood hood;
    const struct lk_effects *effects; /* of the last step */
    uint64_t sequence;                /* of the last item that was looked at */
    size_t room;                      /* for candidates in this portion */
    bool has_more;                    /* candidates behind it */
    struct lk_set tried;              /* "PATH NEEDS" of the candidates that need something */
    size_t tried_done;                /* of them, so many have been judged */
    struct lk_set refused;            /* needs, as text, that are not free */
};

static struct lk_slice queue_of(const struct taking *taking) {
    const struct lk_path *queue = &taking->event.take.queue;

    return (struct lk_slice){queue->bytes, queue->size};
}

/* ---- before ---------------------------------------------------------------------------------- */

/* What is overdue takes effect: of the queue's claims all, elsewhere some. */
static int sweep(struct taking *taking) {
    struct lk_sqlite_turn *turn = taking->turn;
    const struct lk_event tick = {.kind = LK_EVENT_TICK, .times = turn->times};
    struct lk_neighbourhood hood;
    int code = lk_neighbourhood_load_overdue(&hood, turn, &tick, &taking->event.take.queue,
                                             turn->store->options.overdue_max);

    if (code == SQLITE_OK && hood.requests.item_count > 0) {
        code = lk_changes_write(&hood, lk_model_step(hood.model, &tick), &turn->times);
    }
    lk_neighbourhood_done(&hood);
    return code;
}

static int prepare(struct taking *taking) {
    int code = sweep(taking);

    if (code == SQLITE_OK) {
        code = lk_sql_items_ripen(&taking->turn->store->sql, queue_of(taking),
                                  taking->turn->times.now_us);
    }
    return code;
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* Remembers what the candidate needs, and where it is, for when it has been refused. */
static int note_tried(struct taking *taking, const struct lk_sql_item *item) {
    const struct lk_path *path = &taking->hood.item;
    char key[TRIED_KEY_MAX];
    bool is_new;

    if (item->needs.size == 0) {
        return SQLITE_OK;
    }
    memcpy(key, path->bytes, path->size);
    key[path->size] = ' ';
    memcpy(key + path->size + 1, item->needs.bytes, item->needs.size);
    return lk_set_add(&taking->tried,
                      (struct lk_slice){key, (size_t)path->size + 1 + item->needs.size}, &is_new)
               ? SQLITE_OK
               : SQLITE_NOMEM;
}

static int add_candidate(void *context, const struct lk_sql_item *item) {
    struct taking *taking = context;
    int code;

    if (taking->room == 0) {
        taking->has_more = true;
        return SQLITE_DONE;
    }
    taking->sequence = item->record.sequence;
    if (lk_set_has(&taking->refused, item->needs)) {
        return SQLITE_OK;
    }
    taking->room--;
    code = lk_neighbourhood_add_candidate(&taking->hood, item);
    return code == SQLITE_OK ? note_tried(taking, item) : code;
}

static int load_portion(struct taking *taking, size_t size) {
    struct lk_sqlite *store = taking->turn->store;
    int code;

    taking->room = size;
    taking->has_more = false;
    code = lk_sql_items_each_ready(&store->sql, queue_of(taking), taking->sequence, &store->item,
                                   add_candidate, taking);
    return code == SQLITE_OK ? lk_neighbourhood_follow(&taking->hood) : code;
}

/* ---- what is in the way ---------------------------------------------------------------------- */

struct search {
    const struct lk_model *model;
    struct lk_record *record; /* room */
    struct lk_slice owner;
    const struct lk_path *within; /* parts at or above this path; NULL: any */
    bool is_found;
};

static bool look_for_other(void *context, lk_ref request) {
    struct search *search = context;

    lk_model_record(search->model, request, search->record);
    if (lk_slice_equal(search->record->owner, search->owner)) {
        return true;
    }
    for (size_t i = 0; i < search->record->part_count && !search->is_found; i++) {
        search->is_found = search->within == NULL
                           || lk_path_contains(&search->record->parts[i].path, search->within);
    }
    return !search->is_found;
}

/* Whether another owner's request is related to the path; `at_or_above`: and not below it. */
static bool has_other(struct taking *taking, const struct lk_path *path, bool at_or_above) {
    struct search search = {
        .model = taking->hood.model,
        .record = &taking->turn->store->request.record,
        .owner = taking->event.take.owner,
        .within = at_or_above ? path : NULL,
    };

    lk_model_each_related(search.model, path, look_for_other, &search);
    return search.is_found;
}

/* After a refusal: the needs of those candidates that nobody else is around. */
static int note_refused(struct taking *taking) {
    while (taking->tried_done < taking->tried.item_count) {
        struct lk_slice key = lk_set_at(&taking->tried, taking->tried_done++);
        const char *space = memchr(key.bytes, ' ', key.size);
        size_t size = (size_t)(space - key.bytes);
        struct lk_path path;
        bool is_new;
        if (lk_path_parse((struct lk_slice){key.bytes, size}, &path, NULL) == LK_OK
            && !has_other(taking, &path, false)
            && !lk_set_add(&taking->refused, (struct lk_slice){space + 1, key.size - size - 1},
                           &is_new)) {
            return SQLITE_NOMEM;
        }
    }
    return SQLITE_OK;
}

/* ---- deciding -------------------------------------------------------------------------------- */

/* One portion and one step. *ret_again: nothing was claimed, and there is more to look at. */
static int try_portion(struct taking *taking, size_t size, bool *ret_again) {
    struct lk_sqlite_turn *turn = taking->turn;
    int code = load_portion(taking, size);

    *ret_again = false;
    if (code != SQLITE_OK) {
        return code;
    }
    taking->effects = lk_model_step(taking->hood.model, &taking->event);
    code = lk_sqlite_write(turn, &taking->event, &taking->hood, taking->effects);
    if (code != SQLITE_OK || taking->effects->answer.outcome != LK_BUSY || !taking->has_more
        || has_other(taking, &taking->event.take.queue, true)) {
        return code;
    }
    *ret_again = true;
    return note_refused(taking);
}

static int decide(struct taking *taking) {
    bool again = true;
    int code;

    taking->event.times = taking->turn->times;
    code = prepare(taking);
    if (code == SQLITE_OK) {
        code = lk_neighbourhood_load(&taking->hood, taking->turn, &taking->event, NULL);
    }
    for (size_t size = PORTION_FIRST; code == SQLITE_OK && again; size *= 2) {
        code = try_portion(taking, size, &again);
    }
    return code;
}

/* ---- answering ------------------------------------------------------------------------------- */

static int copy_value(void *context, struct lk_slice bytes) {
    lk_claim_info *claim = context;

    claim->value = lk_bytes_copy_with_end(bytes);
    claim->value_size = bytes.size;
    return claim->value != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

/* What was claimed, with the item's value, which the model did not need. */
static int make_claim(const struct taking *taking, lk_claim_info **ret_claim, lk_error *error) {
    struct lk_sql *sql = &taking->turn->store->sql;
    lk_claim_info *claim = NULL;
    int code;

    if (lk_claim_from_effects(taking->hood.model, taking->effects, &taking->turn->times, &claim,
                              error)
        != LK_GRANTED) {
        return SQLITE_NOMEM;
    }
    code = lk_sql_item_value_load(sql, queue_of(taking), lk_slice_of(claim->id), copy_value, claim);
    if (code != SQLITE_OK && code != SQLITE_EMPTY) {
        lk_claim_free(claim);
        return code;
    }
    *ret_claim = claim;
    return SQLITE_OK;
}

/* When it is worth to come again, for lk_sqlite_await_work(). */
static int fill_stand(const struct taking *taking, struct lk_stand *stand) {
    struct lk_sql_queue_look look = {.has_ready = false};
    int64_t deadline_us = lk_model_next_deadline(taking->hood.model);
    int code = lk_sql_queue_look(&taking->turn->store->sql, queue_of(taking), &look);

    if (code == SQLITE_OK) {
        code = lk_sqlite_turn_version(taking->turn, &stand->version);
    }
    stand->id = 0;
    stand->in_the_way = look.has_ready;
    stand->due_us = look.next_due_us < deadline_us ? look.next_due_us : deadline_us;
    return code;
}

static void done(struct taking *taking) {
    lk_neighbourhood_done(&taking->hood);
    lk_set_done(&taking->tried);
    lk_set_done(&taking->refused);
}

lk_outcome lk_sqlite_take(struct lk_engine *engine, const struct lk_take *take,
                          const struct lk_patience *patience, lk_claim_info **ret_claim,
                          struct lk_stand *ret_stand, lk_error *error) {
    struct lk_sqlite_turn turn;
    struct taking taking = {.turn = &turn, .event = {.kind = LK_EVENT_TAKE, .take = *take}};
    lk_claim_info *claim = NULL;
    struct lk_stand stand = {.id = 0};
    lk_outcome decided = LK_OK;
    int code;
    lk_outcome outcome =
        lk_sqlite_turn_begin(lk_sqlite_of(engine), LK_SQLITE_WRITE, patience, &turn, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    code = decide(&taking);
    if (code == SQLITE_OK) {
        decided = taking.effects->answer.outcome;
        (void)lk_error_set(error, decided, "%s", taking.effects->answer.text);
        if (decided == LK_GRANTED) {
            code = make_claim(&taking, &claim, error);
        } else if (decided == LK_BUSY) {
            code = fill_stand(&taking, &stand);
        }
    }
    outcome = lk_sqlite_turn_end(&turn, code, error);
    done(&taking);
    if (outcome != LK_OK) {
        lk_claim_free(claim);
        return outcome;
    }
    if (decided == LK_GRANTED) {
        *ret_claim = claim;
    } else if (decided == LK_BUSY) {
        *ret_stand = stand;
    }
    return decided;
}
