/* SPDX-License-Identifier: Apache-2.0 */
/* The regular records, in the order of their fields. */
#include "form/form.h"

/* A field with the name of its member, or with another name. */
#define FIELD(type, member, of_kind, presence) FIELD_AS(#member, type, member, of_kind, presence)
#define FIELD_AS(as, type, member, of_kind, presence)                                              \
    .name = as, .kind = LK_FIELD_##of_kind, .when = LK_FIELD_##presence,                           \
    .at = offsetof(type, member)

/* A field with a count, and a field that is one of several names. */
#define LIST(as, type, member, count, of_kind, presence)                                           \
    FIELD_AS(as, type, member, of_kind, presence), .count_at = offsetof(type, count)
#define NAMED(as, type, member, of_kind, presence, all)                                            \
    FIELD_AS(as, type, member, of_kind, presence), .names = all

#define FORM(of, type, of_fields, ...)                                                             \
    static const type blank_##of = {__VA_ARGS__};                                                  \
    const struct lk_form lk_form_of_##of = {of_fields, sizeof(type), &blank_##of}

static const char *const held_or_waiting[] = {"held", "waiting"};

/* ---- requests -------------------------------------------------------------------------------- */

static const struct lk_field blocker_fields[] = {
    {FIELD(lk_blocker_info, path, TEXT, NEEDED)},
    {FIELD(lk_blocker_info, owner, TEXT, NEEDED)},
    {FIELD(lk_blocker_info, user, TEXT, IF_ANY)},
    {FIELD(lk_blocker_info, ticket, COUNT, IF_ANY)},
    {NAMED("state", lk_blocker_info, held, WORD, ALWAYS, held_or_waiting)},
    {FIELD(lk_blocker_info, note, TEXT, IF_ANY)},
    {FIELD(lk_blocker_info, expires_in_ms, NUMBER, ALWAYS)},
    {.name = NULL},
};
FORM(blocker, lk_blocker_info, blocker_fields, .path = NULL);

static const char *const shared_or_exclusive[] = {"shared", "exclusive"};

static bool is_shared(const void *record) {
    const lk_entry *entry = record;

    return entry->shared;
}

static const struct lk_field entry_fields[] = {
    {FIELD(lk_entry, path, TEXT, NEEDED)},
    {FIELD(lk_entry, ticket, COUNT, ALWAYS)},
    {FIELD(lk_entry, token, COUNT, IF_ANY)},
    {NAMED("state", lk_entry, held, WORD, ALWAYS, held_or_waiting)},
    {FIELD(lk_entry, revoked, FLAG, IF_ANY)},
    {NAMED("mode", lk_entry, shared, WORD, ALWAYS, shared_or_exclusive)},
    {FIELD(lk_entry, limit, SMALL, IF_ANY)},
    {FIELD(lk_entry, units, SMALL, IF_SHOWN), .is_shown = is_shared},
    {FIELD(lk_entry, owner, TEXT, NEEDED)},
    {FIELD(lk_entry, user, TEXT, IF_ANY)},
    {FIELD(lk_entry, note, TEXT, IF_ANY)},
    {FIELD(lk_entry, ttl_ms, NUMBER, ALWAYS)},
    {FIELD(lk_entry, expires_in_ms, NUMBER, ALWAYS)},
    {FIELD(lk_entry, age_ms, NUMBER, ALWAYS)},
    {.name = NULL},
};
FORM(entry, lk_entry, entry_fields, .path = NULL);

static bool is_waiting(const void *record) {
    const lk_entry *entry = record;

    return !entry->held;
}

static const struct lk_field explained_entry_fields[] = {
    {.name = "", .kind = LK_FIELD_INLINE, .of = &lk_form_of_entry},
    {FIELD(lk_entry, position, SIZE, IF_SHOWN), .is_shown = is_waiting},
    {LIST("blockers", lk_entry, blockers, blocker_count, RECORDS, IF_SHOWN), .is_shown = is_waiting,
     .of = &lk_form_of_blocker},
    {.name = NULL},
};
FORM(explained_entry, lk_entry, explained_entry_fields, .path = NULL);

static const struct lk_field audit_entry_fields[] = {
    {FIELD_AS("at_ms", lk_audit_entry, at_unix_ms, NUMBER, ALWAYS)},
    {FIELD(lk_audit_entry, by, TEXT, NEEDED)},
    {FIELD(lk_audit_entry, reason, TEXT, NEEDED)},
    {FIELD(lk_audit_entry, path, TEXT, NEEDED)},
    {FIELD(lk_audit_entry, owner, TEXT, NEEDED)},
    {FIELD(lk_audit_entry, user, TEXT, IF_ANY)},
    {FIELD(lk_audit_entry, ticket, COUNT, ALWAYS)},
    {FIELD(lk_audit_entry, token, COUNT, IF_ANY)},
    {NAMED("state", lk_audit_entry, held, WORD, ALWAYS, held_or_waiting)},
    {FIELD(lk_audit_entry, note, TEXT, IF_ANY)},
    {.name = NULL},
};
FORM(audit_entry, lk_audit_entry, audit_entry_fields, .by = NULL);

/* ---- results --------------------------------------------------------------------------------- */

static bool lives(const void *record) {
    const lk_result *result = record;

    return result->expires_in_ms >= 0;
}

static bool has_ttl(const void *record) {
    const lk_result *result = record;

    return lives(result) && !result->fixed && result->ttl_ms > 0;
}

/* The outcomes of an ask that was decided, which report the state of its paths. */
static bool is_decided(const void *record) {
    const lk_result *result = record;

    return result->outcome == LK_GRANTED || result->outcome == LK_WAITING
           || result->outcome == LK_BUSY || result->outcome == LK_TIMEOUT
           || result->outcome == LK_DEADLOCK;
}

static bool has_position(const void *record) {
    const lk_result *result = record;

    return is_decided(result) && result->outcome != LK_DEADLOCK;
}

static bool is_of_live_ask(const void *record) {
    return is_decided(record) && lives(record);
}

static bool has_value(const void *record) {
    const lk_result *result = record;

    return result->value != NULL;
}

static bool is_failure(const void *record) {
    const lk_result *result = record;

    return result->outcome != LK_OK && result->outcome != LK_GRANTED
           && result->outcome != LK_WAITING;
}

static const struct lk_field result_fields[] = {
    {LIST("paths", lk_result, paths, path_count, TEXTS, IF_ANY)},
    {FIELD(lk_result, owner, TEXT, IF_ANY)},
    {FIELD(lk_result, ticket, COUNT, IF_ANY)},
    {FIELD(lk_result, token, COUNT, IF_ANY)},
    {LIST("tokens", lk_result, tokens, token_count, NUMBERS, IF_ANY)}, /* R14 */
    {FIELD(lk_result, ttl_ms, NUMBER, IF_SHOWN), .is_shown = has_ttl},
    {FIELD(lk_result, expires_in_ms, NUMBER, IF_KNOWN)},
    {FIELD(lk_result, in_use, COUNT, IF_SHOWN), .is_shown = is_decided},
    {FIELD(lk_result, position, SIZE, IF_SHOWN), .is_shown = has_position},
    {LIST("cycle", lk_result, cycle, cycle_count, TEXTS, IF_ANY)},
    {FIELD(lk_result, created, FLAG, IF_SHOWN), .is_shown = is_of_live_ask},
    {LIST("blockers", lk_result, blockers, blocker_count, RECORDS, IF_ANY),
     .of = &lk_form_of_blocker},
    {LIST("value", lk_result, value, value_size, VALUE, IF_ANY)}, /* R15: of the first part */
    {FIELD(lk_result, in_doubt, FLAG, IF_SHOWN), .is_shown = has_value},
    {LIST("values", lk_result, values, value_count, RECORDS, IF_ANY),
     .of = &lk_form_of_part_value}, /* of each part, in the order of the paths */
    {FIELD(lk_result, error, TEXT, IF_SHOWN), .is_shown = is_failure},
    {.name = NULL},
};
FORM(result, lk_result, result_fields, .expires_in_ms = -1);

static const struct lk_field series_end_fields[] = {
    {FIELD_AS("ended_by", struct lk_series_end, outcome, OUTCOME, IF_ANY)},
    {FIELD_AS("error", struct lk_series_end, text, TEXT, IF_ANY)},
    {.name = NULL},
};
FORM(series_end, struct lk_series_end, series_end_fields, .outcome = LK_OK);

static const struct lk_field doubt_fields[] = {
    {FIELD(struct lk_doubt, path, TEXT, ALWAYS)},
    {FIELD(struct lk_doubt, size, SIZE, ALWAYS)},
    {.name = NULL},
};
FORM(doubt, struct lk_doubt, doubt_fields, .path = NULL);

/* An answer that is one value. */
#define SINGLE(as, is, type)                                                                       \
    static const struct lk_field as##_fields[] = {                                                 \
        {.name = #as, .kind = LK_FIELD_##is, .when = LK_FIELD_ALWAYS}, {.name = NULL}};            \
    FORM(as, type, as##_fields, 0)

SINGLE(broken, SIZE, size_t);
SINGLE(done, SIZE, size_t);
SINGLE(dropped, SIZE, size_t);
SINGLE(added, FLAG, bool);

/* ---- values and work (R15, R16) -------------------------------------------------------------- */

static const struct lk_field value_fields[] = {
    {LIST("value", lk_value, bytes, size, VALUE, ALWAYS)},
    {FIELD(lk_value, in_doubt, FLAG, ALWAYS)},
    {.name = NULL},
};
FORM(value, lk_value, value_fields, .bytes = NULL);

static const struct lk_field value_info_fields[] = {
    {FIELD(lk_value_info, path, TEXT, NEEDED)},
    {FIELD(lk_value_info, size, SIZE, ALWAYS)},
    {FIELD(lk_value_info, in_doubt, FLAG, ALWAYS)},
    {.name = NULL},
};
FORM(value_info, lk_value_info, value_info_fields, .path = NULL);

static bool is_there(const void *record) {
    const lk_part_value *value = record;

    return value->value != NULL;
}

static const struct lk_field part_value_fields[] = {
    {LIST("value", lk_part_value, value, value_size, VALUE, IF_ANY)},
    {FIELD(lk_part_value, in_doubt, FLAG, IF_SHOWN), .is_shown = is_there},
    {.name = NULL},
};
FORM(part_value, lk_part_value, part_value_fields, .value = NULL);

static const struct lk_field claim_fields[] = {
    {FIELD(lk_claim_info, queue, TEXT, ALWAYS)},
    {FIELD(lk_claim_info, id, TEXT, ALWAYS)},
    {FIELD(lk_claim_info, row_id, TEXT, IF_ANY)},
    {LIST("value", lk_claim_info, value, value_size, VALUE, IF_ANY)},
    {FIELD(lk_claim_info, attempt, SMALL, ALWAYS)},
    {FIELD_AS("stolen", lk_claim_info, is_stolen, FLAG, IF_ANY)},
    {FIELD(lk_claim_info, token, COUNT, ALWAYS)},
    {FIELD(lk_claim_info, owner, TEXT, ALWAYS)},
    {FIELD(lk_claim_info, expires_in_ms, NUMBER, ALWAYS)},
    {.name = NULL},
};
FORM(claim, lk_claim_info, claim_fields, .queue = NULL);

static const char *const item_states[] = {"ready",     "delayed", "claimed", "parked",
                                          "cancelled", "again",   "done",    NULL};

static bool has_found(const void *record) {
    return ((const lk_push_result *)record)->was != NULL;
}

static const struct lk_field pushed_fields[] = {
    {FIELD(lk_push_result, added, FLAG, ALWAYS)},
    {FIELD(lk_push_result, changed, FLAG, IF_SHOWN), .is_shown = has_found},
    {NAMED("was", lk_push_result, was, NAME, IF_ANY, item_states)},
    {.name = NULL},
};
FORM(pushed, lk_push_result, pushed_fields, .was = NULL);

static const struct lk_field item_fields[] = {
    {FIELD(lk_item_info, id, TEXT, NEEDED)},
    {NAMED("state", lk_item_info, state, NAME, NEEDED, item_states)},
    {FIELD(lk_item_info, attempts, SMALL, ALWAYS)},
    {FIELD(lk_item_info, owner, TEXT, IF_ANY)},
    {FIELD(lk_item_info, user, TEXT, IF_ANY)},
    {FIELD(lk_item_info, due_in_ms, NUMBER, IF_KNOWN)},
    {FIELD(lk_item_info, expires_in_ms, NUMBER, IF_KNOWN)},
    {LIST("value", lk_item_info, value, value_size, VALUE, IF_ANY)},
    {LIST("needs", lk_item_info, needs, need_count, TEXTS, IF_ANY)},
    {FIELD(lk_item_info, priority, SIGNED, IF_ANY)},
    {LIST("last_exit", lk_item_info, last_exit, has_last_exit, SIGNED, IF_ANY)},
    {LIST("last_error", lk_item_info, last_error, last_error_size, VALUE, IF_ANY)},
    {LIST("progress", lk_item_info, progress, progress_size, VALUE, IF_ANY)},
    {.name = NULL},
};
FORM(item, lk_item_info, item_fields, .due_in_ms = -1, .expires_in_ms = -1);

static const struct lk_field stats_fields[] = {
    {FIELD(lk_queue_stats, pushed, COUNT, ALWAYS)},
    {FIELD(lk_queue_stats, duplicates, COUNT, ALWAYS)},
    {FIELD(lk_queue_stats, claims, COUNT, ALWAYS)},
    {FIELD(lk_queue_stats, steals, COUNT, ALWAYS)},
    {FIELD(lk_queue_stats, done, COUNT, ALWAYS)},
    {FIELD(lk_queue_stats, retried, COUNT, ALWAYS)},
    {FIELD(lk_queue_stats, parked, COUNT, ALWAYS)},
    {FIELD(lk_queue_stats, ready_now, COUNT, ALWAYS)},
    {FIELD(lk_queue_stats, delayed_now, COUNT, ALWAYS)},
    {FIELD(lk_queue_stats, claimed_now, COUNT, ALWAYS)},
    {FIELD(lk_queue_stats, parked_now, COUNT, ALWAYS)},
    {FIELD(lk_queue_stats, done_now, COUNT, ALWAYS)},
    {FIELD(lk_queue_stats, oldest_ready_ms, NUMBER, IF_KNOWN)},
    {.name = NULL},
};
FORM(stats, lk_queue_stats, stats_fields, .oldest_ready_ms = -1);

static const struct lk_field queue_fields[] = {
    {FIELD(lk_queue_info, queue, TEXT, NEEDED)},
    {FIELD_AS("", lk_queue_info, counts, INLINE, ALWAYS), .of = &lk_form_of_stats},
    {.name = NULL},
};
FORM(queue, lk_queue_info, queue_fields, .counts = {.oldest_ready_ms = -1});

/* ---- events and bounds (R21, R22) ------------------------------------------------------------ */

static bool is_of_value(const void *record) {
    const lk_watch_event *event = record;

    return event->kind == LK_WATCH_VALUE_WRITTEN;
}

static const struct lk_field event_fields[] = {
    {FIELD_AS("event", lk_watch_event, kind, WATCH_KIND, ALWAYS)},
    {FIELD_AS("at_ms", lk_watch_event, at_unix_ms, NUMBER, ALWAYS)},
    {FIELD(lk_watch_event, sequence, COUNT, ALWAYS)},
    {FIELD(lk_watch_event, refusal, OUTCOME, IF_ANY)},
    {LIST("path", lk_watch_event, paths, part_count, FIRST, IF_ANY)},
    {LIST("paths", lk_watch_event, paths, part_count, TEXTS, IF_ANY)},
    {LIST("parts", lk_watch_event, parts, part_count, TEXTS, IF_ANY)},
    {FIELD(lk_watch_event, queue, TEXT, IF_ANY)},
    {FIELD(lk_watch_event, id, TEXT, IF_ANY)},
    {FIELD(lk_watch_event, attempt, SMALL, IF_ANY)},
    {FIELD(lk_watch_event, owner, TEXT, IF_ANY)},
    {FIELD(lk_watch_event, user, TEXT, IF_ANY)},
    {FIELD(lk_watch_event, note, TEXT, IF_ANY)},
    {FIELD(lk_watch_event, ticket, COUNT, IF_ANY)},
    {FIELD(lk_watch_event, token, COUNT, IF_ANY)},
    {FIELD(lk_watch_event, by, TEXT, IF_ANY)},
    {FIELD(lk_watch_event, reason, TEXT, IF_ANY)},
    {FIELD_AS("deleted", lk_watch_event, is_deletion, FLAG, IF_SHOWN), .is_shown = is_of_value},
    {.name = NULL},
};
FORM(event, lk_watch_event, event_fields, .kind = LK_WATCH_GAP, .refusal = LK_OK);

static const struct lk_field limits_fields[] = {
    {FIELD(lk_limits, live, COUNT, ALWAYS)},
    {FIELD(lk_limits, live_per_owner, COUNT, ALWAYS)},
    {FIELD(lk_limits, live_per_root, COUNT, ALWAYS)},
    {FIELD(lk_limits, waiters_per_path, COUNT, ALWAYS)},
    {FIELD(lk_limits, events, COUNT, ALWAYS)},
    {.name = NULL},
};
FORM(limits, lk_limits, limits_fields, .size = sizeof(lk_limits));
