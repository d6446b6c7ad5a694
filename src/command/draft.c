/* SPDX-License-Identifier: Apache-2.0 */
/* Parses drafts: text becomes paths and parts, and the whole draft a call. */
#include "command/draft.h"

#include "base/error.h"
#include "model/sentences.h"
#include "model/utf8.h"
#include "wire/resp.h"

static bool is_given(const struct lk_draft *draft, enum lk_keyword keyword) {
    return (draft->given >> keyword & 1) != 0;
}

/* The offset of the first byte that is not UTF-8; the text's size: there is none. */
static size_t find_damage(struct lk_slice text) {
    uint32_t character;
    size_t at = 0;
    size_t size = 0;

    while (at < text.size
           && (size = lk_utf8_decode(text.bytes + at, text.size - at, &character)) != 0) {
        at += size;
    }
    return at;
}

/*
 * Checks texts that are shown: they must be UTF-8, because JSON cannot have other bytes, and
 * without a NUL where one would end the text.
 */
static lk_outcome check_texts(const struct lk_draft *draft, lk_error *error) {
    const struct {
        const char *name;
        struct lk_slice text;
    } texts[] = {
        {"R3: an owner", draft->owner},
        {"R19: a note", draft->note},
        {"R12: a reason", draft->reason},
        {"R12: the user of a break", draft->by},
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct lk_slice *text = &texts[i].text;
        if (text->size > 0 && memchr(text->bytes, '\0', text->size) != NULL) {
            return lk_error_set(error, LK_INVALID, "%s must not contain NULs", texts[i].name);
        }
        size_t damage = find_damage(*text);
        if (damage < text->size) {
            return lk_error_set(error, LK_INVALID, "%s must be UTF-8, and is not at byte %zu",
                                texts[i].name, damage + 1);
        }
    }
    return LK_OK;
}

lk_outcome lk_draft_add_id(struct lk_draft *draft, struct lk_slice id, lk_error *error) {
    size_t max = draft->command->operands == LK_OPERANDS_QUEUE_IDS ? LK_IDS_MAX : 1;

    if (draft->id_count == max) {
        return lk_error_set(error, LK_INVALID, "%s takes the ids of at most %zu items",
                            draft->command->name, max);
    }
    draft->ids[draft->id_count++] = id;
    return LK_OK;
}

/* Milliseconds that the call blocks; only a wait blocks. */
static int64_t wait_of(const struct lk_draft *draft) {
    return draft->style == LK_WAIT ? draft->wait_ms : 0;
}

/* ---- parsing --------------------------------------------------------------------------------- */

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

static lk_outcome parse_needs(struct lk_draft *draft, lk_error *error) {
    lk_outcome outcome = LK_OK;

    for (size_t i = 0; outcome == LK_OK && i < draft->need_count; i++) {
        outcome = lk_need_parse(draft->need_texts[i], &draft->needs[i], error);
    }
    return outcome;
}

/* Parses the parts that are asked for, and those that an item needs. */
static lk_outcome parse_all_parts(struct lk_draft *draft, lk_error *error) {
    const struct lk_part_defaults defaults = {
        .shared = draft->is_shared,
        .limit = (uint32_t)draft->limit,
        .units = (uint32_t)draft->units,
    };
    lk_outcome outcome =
        parse_parts(draft->part_texts, draft->part_count, &defaults, draft->parts, error);

    return outcome == LK_OK ? parse_needs(draft, error) : outcome;
}

/* TICKET, or TICKET.ID. */
static bool parse_cursor(struct lk_slice text, struct lk_standing *ret_standing) {
    const char *dot = memchr(text.bytes, '.', text.size);
    size_t size = dot != NULL ? (size_t)(dot - text.bytes) : text.size;
    struct lk_slice rest = {.bytes = dot != NULL ? dot + 1 : "0",
                            .size = dot != NULL ? text.size - size - 1 : 1};
    int64_t ticket;
    int64_t id;

    if (!lk_resp_number_parse((struct lk_slice){text.bytes, size}, &ticket)
        || !lk_resp_number_parse(rest, &id) || ticket < 0 || id < 0) {
        return false;
    }
    *ret_standing = (struct lk_standing){.ticket = (uint64_t)ticket, .id = (uint64_t)id};
    return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

static lk_outcome parse_ask(const struct lk_draft *draft, struct lk_ask *ask, lk_error *error) {
    if (is_given(draft, LK_WORD_TTL) && is_given(draft, LK_WORD_UNTIL)) {
        return lk_error_set(error, LK_INVALID, "R11: give either a ttl or an until, not both");
    }
    *ask = (struct lk_ask){
        .owner = draft->owner,
        .parts = draft->parts,
        .part_count = draft->part_count,
        .style = draft->style == LK_WAIT && draft->wait_ms == 0 ? LK_TRY : draft->style,
        .ttl_ms = draft->ttl_ms,
        .until_us = draft->until_ms * 1000,
        .note_given = is_given(draft, LK_WORD_NOTE),
        .note = draft->note,
        .blockers_max = (size_t)draft->blockers,
        .wants_value = draft->wants_value,
    };
    return LK_OK;
}

static struct lk_target target_of(const struct lk_draft *draft) {
    return (struct lk_target){
        .owner = draft->owner,
        .parts = draft->parts,
        .part_count = draft->part_count,
        .token = (uint64_t)draft->token,
    };
}

static lk_outcome parse_break(const struct lk_draft *draft, const struct lk_path *path,
                              struct lk_break *broken, lk_error *error) {
    if (draft->reason.size == 0) {
        return lk_error_set(error, LK_INVALID, "R12: a break or cancel needs a reason");
    }
    if (draft->reason.size > LK_REASON_BYTES_MAX) {
        return lk_error_set(error, LK_INVALID, "R12: a reason has at most %d bytes, not %zu",
                            LK_REASON_BYTES_MAX, draft->reason.size);
    }
    if (draft->by.size > LK_BREAKER_BYTES_MAX) {
        return lk_error_set(error, LK_INVALID,
                            "R12: the user of a break has at most %d bytes, not %zu",
                            LK_BREAKER_BYTES_MAX, draft->by.size);
    }
    if (draft->owner.size > LK_OWNER_BYTES_MAX) {
        return lk_error_set(error, LK_INVALID, "R3: an owner has at most %d bytes, not %zu",
                            LK_OWNER_BYTES_MAX, draft->owner.size);
    }
    *broken = (struct lk_break){
        .path = *path,
        .owner = draft->owner,
        .at_once = draft->is_now,
        .by = draft->by,
        .reason = draft->reason,
    };
    return LK_OK;
}

/* R16: a break of the claim of an item. */
static lk_outcome parse_cancel(struct lk_draft *draft, const struct lk_path *queue,
                               struct lk_break *broken, lk_error *error) {
    lk_outcome outcome = lk_item_path_make(queue, draft->ids[0], &draft->item, error);

    if (outcome == LK_OK) {
        outcome = parse_break(draft, &draft->item.path, broken, error);
    }
    if (outcome == LK_OK) {
        broken->cancels = true;
    }
    return outcome;
}

static struct lk_put put_of(const struct lk_draft *draft, const struct lk_path *path) {
    return (struct lk_put){
        .path = *path,
        .owner = draft->owner,
        .token = (uint64_t)draft->token,
        .deletes = draft->command->operands != LK_OPERANDS_PATH_VALUE,
        .bytes = draft->value,
    };
}

static struct lk_push push_of(const struct lk_draft *draft, const struct lk_path *queue) {
    return (struct lk_push){
        .kind = draft->is_again   ? LK_PUSH_AGAIN
                : draft->replaces ? LK_PUSH_REPLACE
                                  : LK_PUSH_NEW,
        .queue = *queue,
        .id = draft->ids[0],
        .value = draft->value,
        .delay_ms = draft->delay_ms,
        .priority = (int32_t)draft->priority,
        .needs = draft->needs,
        .need_count = draft->need_count,
        .keep_ms = draft->keep_ms,
    };
}

static struct lk_take take_of(const struct lk_draft *draft, const struct lk_path *queue) {
    return (struct lk_take){
        .queue = *queue,
        .owner = draft->owner,
        .ttl_ms = draft->ttl_ms,
        .max_attempts = (uint32_t)draft->max_attempts,
        .ask_number = lk_take_number((uint64_t)draft->ask_number, 0),
        .note_given = is_given(draft, LK_WORD_NOTE),
        .note = draft->note,
    };
}

/* What a command says of a claimed item is told by the words that only it has. */
static enum lk_finish_kind finish_kind_of(const struct lk_command_spec *command) {
    if ((command->keywords >> LK_WORD_DELAY & 1) != 0) {
        return LK_FINISH_RETRY;
    }
    return (command->keywords >> LK_WORD_TEXT & 1) != 0 ? LK_FINISH_PROGRESS : LK_FINISH_DONE;
}

static struct lk_finish finish_of(const struct lk_draft *draft, const struct lk_path *queue) {
    return (struct lk_finish){
        .queue = *queue,
        .id = draft->ids[0],
        .owner = draft->owner,
        .token = (uint64_t)draft->token,
        .kind = finish_kind_of(draft->command),
        .delay_ms = draft->delay_ms,
        .is_uncounted = draft->is_uncounted,
        .parks = draft->parks,
        .failure = {.has_exit = is_given(draft, LK_WORD_EXIT),
                    .exit_code = (int32_t)draft->exit_code,
                    .text = draft->error_text},
        .result = draft->result,
        .keep_ms = draft->keep_ms,
        .progress = draft->progress,
    };
}

/* R15: the n-th value is that of the n-th path. */
static lk_outcome parse_release(struct lk_draft *draft, struct lk_release *release,
                                lk_error *error) {
    if (draft->put_count > draft->part_count) {
        return lk_error_set(error, LK_INVALID,
                            "R15: %zu values for %zu paths: a release puts one at most to each of "
                            "its paths, in their order",
                            draft->put_count, draft->part_count);
    }
    for (size_t i = 0; i < draft->put_count; i++) {
        draft->release_puts[i] = (struct lk_release_put){.part = i, .bytes = draft->puts[i]};
    }
    *release = (struct lk_release){
        .target = target_of(draft), .puts = draft->release_puts, .put_count = draft->put_count};
    return LK_OK;
}

/* R12: the token is enough, unless an owner is named. */
static bool is_by_token(const struct lk_draft *draft) {
    return draft->token != 0 && !is_given(draft, LK_WORD_OWNER)
           && (lk_command_decides(draft->command, LK_COMMAND_RENEW)
               || lk_command_decides(draft->command, LK_COMMAND_RELEASE));
}

/* `path`: the path or queue of a command that has one. */
static lk_outcome parse_command(struct lk_draft *draft, const struct lk_path *path,
                                struct lk_command *command, lk_error *error) {
    switch (command->kind) {
    case LK_COMMAND_ASK:
        return parse_ask(draft, &command->ask, error);
    case LK_COMMAND_RENEW:
        command->renew = (struct lk_renew){.target = target_of(draft), .ttl_ms = draft->ttl_ms};
        break;
    case LK_COMMAND_RELEASE:
        return parse_release(draft, &command->release, error);
    case LK_COMMAND_BREAK:
        return draft->command->operands == LK_OPERANDS_PATH
                   ? parse_break(draft, path, &command->broken, error)
                   : parse_cancel(draft, path, &command->broken, error);
    case LK_COMMAND_PUT:
        command->put = put_of(draft, path);
        break;
    case LK_COMMAND_PUSH:
        command->push = push_of(draft, path);
        if (draft->is_again && draft->replaces) {
            return lk_error_set(error, LK_INVALID, LK_TEXT_AGAIN_OR_REPLACE);
        }
        break;
    case LK_COMMAND_TAKE:
        command->take = take_of(draft, path);
        break;
    case LK_COMMAND_FINISH:
        command->finish = finish_of(draft, path);
        if (draft->id_count > 1 && is_given(draft, LK_WORD_RESULT)) {
            return lk_error_set(error, LK_INVALID, "R16: a result is that of one item");
        }
        break;
    case LK_COMMAND_UNPARK:
        command->unpark = (struct lk_unpark){.queue = *path, .id = draft->ids[0]};
        break;
    case LK_COMMAND_DROP:
        command->drop =
            (struct lk_drop){.queue = *path, .id = draft->ids[0], .only_parked = draft->is_parked};
        break;
    case LK_COMMAND_TICK:
    case LK_COMMAND_LEAVE: /* only made by the core */
        break;
    }
    return LK_OK;
}

/* ---- calls that are no command --------------------------------------------------------------- */

static uint64_t limit_of(int64_t said) {
    return said >= 0 ? (uint64_t)said : LK_LIMIT_AS_IS;
}

static lk_limits limits_of(const struct lk_draft *draft) {
    return (lk_limits){
        .size = sizeof(lk_limits),
        .live = limit_of(draft->live),
        .live_per_owner = limit_of(draft->live_per_owner),
        .live_per_root = limit_of(draft->live_per_root),
        .waiters_per_path = limit_of(draft->waiters_per_path),
        .events = limit_of(draft->events),
    };
}

/* The cursor of what is in the order of paths: the last path before, with a slash in front. */
static lk_outcome parse_path_cursor(struct lk_slice cursor, struct lk_selection *selection,
                                    struct lk_selection *ret_selection, lk_error *error) {
    if (cursor.size > 0 && cursor.bytes[0] == '/') {
        selection->behind_path =
            (struct lk_slice){.bytes = cursor.bytes + 1, .size = cursor.size - 1};
    } else if (cursor.size > 0 && !lk_slice_equal(cursor, lk_slice_of("0"))) {
        return lk_error_set(error, LK_INVALID, "invalid cursor");
    }
    *ret_selection = *selection;
    return LK_OK;
}

static lk_outcome parse_selection(const struct lk_draft *draft, const struct lk_path *path,
                                  struct lk_selection *ret_selection, lk_error *error) {
    struct lk_selection selection = {
        .has_path = draft->has_path,
        .path = *path,
        .is_paged = is_given(draft, LK_WORD_COUNT) || is_given(draft, LK_WORD_CURSOR),
        .count = (size_t)draft->count,
        .after = (uint64_t)draft->after,
        .is_parked = draft->is_parked,
        .only_id = draft->only_id,
    };

    if (draft->command->kind == LK_CALL_QUEUES || draft->command->kind == LK_CALL_VALUES
        || draft->command->kind == LK_CALL_DOUBTS) {
        return parse_path_cursor(draft->cursor, &selection, ret_selection, error);
    }
    if (is_given(draft, LK_WORD_ID)) {
        struct lk_item_path item;
        lk_outcome outcome = lk_item_path_make(path, draft->only_id, &item, error);
        if (outcome != LK_OK) {
            return outcome;
        }
    }
    if (draft->is_parked && is_given(draft, LK_WORD_ID)) {
        return lk_error_set(error, LK_INVALID, "ITEMS lists the parked items or one, not both");
    }
    if (draft->cursor.size > 0 && !parse_cursor(draft->cursor, &selection.behind)) {
        return lk_error_set(error, LK_INVALID, "invalid cursor");
    }
    *ret_selection = selection;
    return LK_OK;
}

lk_outcome lk_draft_parse(struct lk_draft *draft, struct lk_call *ret_call, lk_error *error) {
    struct lk_path path = {.size = 0};
    lk_outcome outcome = check_texts(draft, error);

    if (outcome == LK_OK && draft->has_path) {
        outcome = lk_path_parse(draft->path, &path, error);
    }
    if (outcome == LK_OK) {
        outcome = parse_all_parts(draft, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    *ret_call = (struct lk_call){
        .kind = draft->command->kind,
        .right = draft->command->right,
        .wait_ms = wait_of(draft),
        .is_bound = draft->is_bound,
        .ticket = (uint64_t)draft->ticket,
        .is_by_token = is_by_token(draft),
        .claims = (size_t)draft->claims,
        .ids = draft->ids,
        .id_count = draft->id_count > 1 ? draft->id_count : 0,
    };
    switch (ret_call->kind) {
    case LK_CALL_COMMAND:
        ret_call->command.kind = draft->command->decides;
        return parse_command(draft, &path, &ret_call->command, error);
    case LK_CALL_LIMITS:
        ret_call->limits = limits_of(draft);
        return LK_OK;
    case LK_CALL_GET:
    case LK_CALL_LIST:
    case LK_CALL_SHOW:
    case LK_CALL_ITEMS:
    case LK_CALL_STATS:
    case LK_CALL_QUEUES:
    case LK_CALL_VALUES:
    case LK_CALL_DOUBTS:
    case LK_CALL_AUDIT:
    case LK_CALL_INFO:
    case LK_CALL_EVENTS:
    case LK_CALL_REVOKED:
        break;
    }
    return parse_selection(draft, &path, &ret_call->selection, error);
}
