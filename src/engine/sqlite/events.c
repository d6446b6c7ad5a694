/* SPDX-License-Identifier: Apache-2.0 */
/* Events as rows, written in the turn of the decision that they tell of. */
#include "engine/sqlite/events.h"

struct keeping {
    struct lk_sqlite_turn *turn;
    int count;
    int code;
};

static bool keep_one(void *context, const struct lk_happening *happening) {
    struct keeping *keeping = context;
    struct lk_sqlite_turn *turn = keeping->turn;
    char parts[LK_SQL_EVENT_PARTS_MAX];
    const struct lk_sql_event event = {
        .sequence = turn->meta.last_event + 1,
        .at_unix_us = turn->times.wall_us,
        .event = lk_slice_of(lk_watch_kind_name(happening->kind)),
        .refusal =
            lk_slice_of(happening->refusal != LK_OK ? lk_outcome_name(happening->refusal) : ""),
        .parts = {parts, lk_parts_write(happening->parts, happening->part_count, parts)},
        .owner = happening->owner,
        .note = happening->note,
        .ticket = happening->ticket,
        .token = happening->token,
        .attempt = happening->attempt,
        .is_of_item = happening->is_of_item,
        .is_deletion = happening->is_deletion,
    };

    keeping->code = lk_sql_event_add(&turn->store->sql, &event);
    if (keeping->code == SQLITE_OK) {
        turn->meta.last_event++;
        keeping->count++;
    }
    return keeping->code == SQLITE_OK;
}

/* Twice as many go as came, so that it ends however many there were. */
static int forget_old(struct lk_sqlite_turn *turn, int count) {
    uint64_t kept_max =
        turn->meta.events_max > 0 ? turn->meta.events_max : (uint64_t)LK_WATCHED_EVENTS_MAX;

    if (turn->meta.last_event <= kept_max) {
        return SQLITE_OK;
    }
    return lk_sql_events_forget(&turn->store->sql, turn->meta.last_event - kept_max, 2 * count);
}

int lk_sqlite_events_keep(struct lk_sqlite_turn *turn, const struct lk_model *model,
                          const struct lk_effects *effects, const struct lk_event *event) {
    struct keeping keeping = {.turn = turn, .code = SQLITE_OK};

    if (!lk_sqlite_events_are_kept(turn)) {
        return SQLITE_OK;
    }
    (void)lk_happenings_of_step(model, effects, event, keep_one, &keeping);
    if (keeping.code == SQLITE_OK && keeping.count > 0) {
        keeping.code = lk_sql_events_set_last(&turn->store->sql, turn->meta.last_event);
    }
    if (keeping.code == SQLITE_OK && keeping.count > 0) {
        keeping.code = forget_old(turn, keeping.count);
    }
    return keeping.code;
}

int lk_sqlite_events_begin(struct lk_sqlite_turn *turn) {
    if (lk_sqlite_events_are_kept(turn)) {
        return SQLITE_OK;
    }
    turn->meta.last_event++;
    return lk_sql_events_set_last(&turn->store->sql, turn->meta.last_event);
}

int lk_sqlite_events_upkeep(struct lk_sqlite_turn *turn) {
    bool is_recent = turn->meta.watched_until_us > turn->times.now_us - LK_SQLITE_EVENTS_LINGER_US;

    if (turn->meta.last_event == 0 || is_recent || lk_sqlite_events_are_kept(turn)) {
        return SQLITE_OK;
    }
    return lk_sql_events_forget(&turn->store->sql, turn->meta.last_event, LK_SQLITE_SWEEP_EVENTS);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool parse_outcome(struct lk_slice name, lk_outcome *ret_outcome) {
    for (int outcome = 0; outcome < LK_OUTCOME_COUNT; outcome++) {
        if (lk_slice_equal(name, lk_slice_of(lk_outcome_name((lk_outcome)outcome)))) {
            *ret_outcome = (lk_outcome)outcome;
            return true;
        }
    }
    return name.size == 0;
}

bool lk_sqlite_event_read(const struct lk_sql_event *row, struct lk_part parts[LK_PARTS_MAX],
                          struct lk_happening *ret_happening) {
    struct lk_happening happening = {
        .refusal = LK_OK,
        .parts = parts,
        .owner = row->owner,
        .note = row->note,
        .ticket = row->ticket,
        .token = row->token,
        .attempt = row->attempt,
        .is_of_item = row->is_of_item,
        .is_deletion = row->is_deletion,
    };

    if (!lk_watch_kind_parse(row->event, &happening.kind)
        || !parse_outcome(row->refusal, &happening.refusal)
        || !lk_parts_read(row->parts, parts, LK_PARTS_MAX, &happening.part_count)
        || happening.part_count == 0) {
        return false;
    }
    *ret_happening = happening;
    return true;
}
