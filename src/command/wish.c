/* SPDX-License-Identifier: Apache-2.0 */
/* Wishes understood: text becomes paths and parts, and all of it a call. */
#include "command/wish.h"

#include "base/error.h"

static bool is_given(const struct lk_wish *wish, enum lk_keyword keyword) {
    return (wish->given >> keyword & 1) != 0;
}

/* What is shown, in places where a NUL would be its end. */
static lk_outcome check_texts(const struct lk_wish *wish, lk_error *error) {
    const struct {
        const char *name;
        struct lk_slice text;
    } texts[] = {
        {"R3: an owner", wish->owner},
        {"R19: a note", wish->note},
        {"R12: a reason", wish->reason},
        {"R12: the name of who breaks", wish->by},
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct lk_slice *text = &texts[i].text;
        if (text->size > 0 && memchr(text->bytes, '\0', text->size) != NULL) {
            return lk_error_set(error, LK_INVALID, "%s has no NULs", texts[i].name);
        }
    }
    return LK_OK;
}

static lk_outcome parse_parts(const struct lk_slice *texts, size_t count,
                              const struct lk_part_defaults *defaults, struct lk_part *ret_parts,
                              lk_error *error) {
    for (size_t i = 0; i < count; i++) {
        lk_outcome outcome = lk_part_parse(texts[i], defaults, &ret_parts[i], error);
        if (outcome != LK_OK) {
            return outcome;
        }
    }
    return LK_OK;
}

static lk_outcome understand_ask(const struct lk_wish *wish, struct lk_understood *understood,
                                 lk_error *error) {
    struct lk_call *call = &understood->call;

    if (is_given(wish, LK_WORD_TTL) && is_given(wish, LK_WORD_UNTIL)) {
        return lk_error_set(error, LK_INVALID, "R11: a ttl or an until, not both");
    }
    call->ask = (struct lk_ask){
        .owner = wish->owner,
        .parts = understood->parts,
        .part_count = wish->part_count,
        .style = wish->style == LK_WAIT && wish->wait_ms == 0 ? LK_TRY : wish->style,
        .ttl_ms = wish->ttl_ms,
        .until_us = wish->until_ms * 1000,
        .note_given = is_given(wish, LK_WORD_NOTE),
        .note = wish->note,
        .blockers_max = (size_t)wish->blockers,
        .wants_value = wish->wants_value,
    };
    call->wait_ms = wish->wait_ms;
    call->is_bound = wish->is_bound;
    call->ticket = (uint64_t)wish->ticket;
    return LK_OK;
}

static struct lk_target target_of(const struct lk_wish *wish,
                                  const struct lk_understood *understood) {
    return (struct lk_target){
        .owner = wish->owner,
        .parts = understood->parts,
        .part_count = wish->part_count,
        .token = (uint64_t)wish->token,
    };
}

static lk_outcome understand_break(const struct lk_wish *wish, const struct lk_path *path,
                                   struct lk_call *call, lk_error *error) {
    if (wish->reason.size == 0) {
        return lk_error_set(error, LK_INVALID, "R12: a break names its reason");
    }
    if (wish->reason.size > LK_REASON_BYTES_MAX) {
        return lk_error_set(error, LK_INVALID, "R12: a reason has at most %d bytes, not %zu",
                            LK_REASON_BYTES_MAX, wish->reason.size);
    }
    if (wish->by.size > LK_BREAKER_BYTES_MAX) {
        return lk_error_set(error, LK_INVALID,
                            "R12: the name of who breaks has at most %d bytes, not %zu",
                            LK_BREAKER_BYTES_MAX, wish->by.size);
    }
    call->broken = (struct lk_break){.path = *path, .owner = wish->owner, .at_once = wish->is_now};
    call->reason = wish->reason;
    call->by = wish->by;
    return LK_OK;
}

static void understand_take(const struct lk_wish *wish, const struct lk_path *path,
                            struct lk_call *call) {
    call->take = (struct lk_take){
        .queue = *path,
        .owner = wish->owner,
        .ttl_ms = wish->ttl_ms,
        .max_attempts = (uint32_t)wish->max_attempts,
        .ask_number = (uint64_t)wish->ask_number,
        .note_given = is_given(wish, LK_WORD_NOTE),
        .note = wish->note,
    };
    call->wait_ms = wish->style == LK_WAIT ? wish->wait_ms : 0;
    call->is_bound = wish->is_bound;
}

static uint64_t limit_of(int64_t said) {
    return said >= 0 ? (uint64_t)said : LK_LIMIT_AS_IS;
}

static void understand_limits(const struct lk_wish *wish, lk_limits *ret_limits) {
    *ret_limits = (lk_limits){
        .size = sizeof *ret_limits,
        .live = limit_of(wish->live),
        .live_per_owner = limit_of(wish->live_per_owner),
        .live_per_root = limit_of(wish->live_per_root),
        .waiters_per_path = limit_of(wish->waiters_per_path),
        .events = limit_of(wish->events),
    };
}

/* What is about one path, and perhaps an item there; or about the store. */
static lk_outcome understand_at(const struct lk_wish *wish, const struct lk_path *path,
                                struct lk_understood *understood, lk_error *error) {
    struct lk_call *call = &understood->call;

    switch (call->kind) {
    case LK_CALL_BREAK:
        return understand_break(wish, path, call, error);
    case LK_CALL_PUT:
        call->put = (struct lk_put){
            .path = *path,
            .owner = wish->owner,
            .token = (uint64_t)wish->token,
            .deletes = wish->command->operands != LK_OPERANDS_PATH_VALUE,
            .bytes = wish->value,
        };
        break;
    case LK_CALL_PUSH:
        call->push = (struct lk_push){
            .queue = *path,
            .id = wish->id,
            .value = wish->value,
            .delay_ms = wish->delay_ms,
            .needs = understood->needs,
            .need_count = wish->need_count,
        };
        return parse_parts(wish->needs, wish->need_count, NULL, understood->needs, error);
    case LK_CALL_TAKE:
        understand_take(wish, path, call);
        break;
    case LK_CALL_FINISH:
        call->finish = (struct lk_finish){
            .queue = *path,
            .id = wish->id,
            .owner = wish->owner,
            .token = (uint64_t)wish->token,
            .kind = (wish->command->keywords >> LK_WORD_DELAY & 1) != 0 ? LK_FINISH_RETRY
                                                                        : LK_FINISH_DONE,
            .delay_ms = wish->delay_ms,
        };
        break;
    case LK_CALL_UNPARK:
        call->unpark = (struct lk_unpark){.queue = *path, .id = wish->id};
        break;
    case LK_CALL_LIMITS:
        understand_limits(wish, &call->limits);
        break;
    case LK_CALL_EVENTS:
        call->after = (uint64_t)wish->after;
        call->count = (size_t)wish->count;
        call->wait_ms = wish->style == LK_WAIT ? wish->wait_ms : 0;
        call->has_path = wish->has_path;
        call->path = *path;
        break;
    default:
        call->has_path = wish->has_path;
        call->path = *path;
        break;
    }
    return LK_OK;
}

/* What is about the parts of a request. */
static lk_outcome understand_parts(const struct lk_wish *wish, struct lk_understood *understood,
                                   lk_error *error) {
    const struct lk_part_defaults defaults = {
        .shared = wish->is_shared,
        .limit = (uint32_t)wish->limit,
        .units = (uint32_t)wish->units,
    };
    struct lk_call *call = &understood->call;
    lk_outcome outcome =
        parse_parts(wish->parts, wish->part_count, &defaults, understood->parts, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    switch (call->kind) {
    case LK_CALL_RENEW:
        call->renew =
            (struct lk_renew){.target = target_of(wish, understood), .ttl_ms = wish->ttl_ms};
        return LK_OK;
    case LK_CALL_RELEASE:
        call->release = (struct lk_release){
            .target = target_of(wish, understood),
            .puts = is_given(wish, LK_WORD_PUT),
            .put = wish->put,
        };
        return LK_OK;
    default:
        return understand_ask(wish, understood, error);
    }
}

lk_outcome lk_wish_understand(const struct lk_wish *wish, struct lk_understood *understood,
                              lk_error *error) {
    struct lk_path path = {.size = 0};
    lk_outcome outcome = check_texts(wish, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    understood->call = (struct lk_call){.kind = wish->command->kind};
    if (wish->command->operands == LK_OPERANDS_PARTS) {
        return understand_parts(wish, understood, error);
    }
    if (wish->has_path) {
        outcome = lk_path_parse(wish->path, &path, error);
        if (outcome != LK_OK) {
            return outcome;
        }
    }
    return understand_at(wish, &path, understood, error);
}
