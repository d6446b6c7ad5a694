/* SPDX-License-Identifier: Apache-2.0 */
/* Looking and administering: list, show, break, audit, examine (R12, R20). */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/reply.h"
#include "engine/service/pages.h"
#include "engine/service/service.h"

enum {
    REQUESTS_AT_A_TIME = 1000,
    REPORT_BYTES_MAX = 4096,
};

/* ---- listings -------------------------------------------------------------------------------- */

static void read_blockers(struct lk_reader *reader, const struct lk_resp_value *value,
                          void *record) {
    static const lk_blocker_info blank = {.path = NULL};
    lk_entry *entry = record;
    struct lk_records records = {.items = entry->blockers, .count = entry->blocker_count};

    lk_reader_read_maps(reader, value, lk_service_blocker_fields, &blank, sizeof blank, &records);
    entry->blockers = records.items;
    entry->blocker_count = records.count;
}

static const struct lk_field entry_fields[] = {
    {.name = "path", .kind = LK_FIELD_TEXT, .at = offsetof(lk_entry, path)},
    {.name = "ticket", .kind = LK_FIELD_COUNT, .at = offsetof(lk_entry, ticket)},
    {.name = "token", .kind = LK_FIELD_COUNT, .at = offsetof(lk_entry, token)},
    {.name = "state", .kind = LK_FIELD_WORD, .at = offsetof(lk_entry, held), .word = "held"},
    {.name = "mode", .kind = LK_FIELD_WORD, .at = offsetof(lk_entry, shared), .word = "shared"},
    {.name = "revoked", .kind = LK_FIELD_FLAG, .at = offsetof(lk_entry, revoked)},
    {.name = "limit", .kind = LK_FIELD_SMALL, .at = offsetof(lk_entry, limit)},
    {.name = "units", .kind = LK_FIELD_SMALL, .at = offsetof(lk_entry, units)},
    {.name = "owner", .kind = LK_FIELD_TEXT, .at = offsetof(lk_entry, owner)},
    {.name = "note", .kind = LK_FIELD_TEXT, .at = offsetof(lk_entry, note)},
    {.name = "ttl_ms", .kind = LK_FIELD_NUMBER, .at = offsetof(lk_entry, ttl_ms)},
    {.name = "expires_in_ms", .kind = LK_FIELD_NUMBER, .at = offsetof(lk_entry, expires_in_ms)},
    {.name = "age_ms", .kind = LK_FIELD_NUMBER, .at = offsetof(lk_entry, age_ms)},
    {.name = "position", .kind = LK_FIELD_SIZE, .at = offsetof(lk_entry, position)},
    {.name = "blockers", .kind = LK_FIELD_OTHER, .read = read_blockers},
    {.name = NULL},
};

static void read_entries(struct lk_reader *reader, const struct lk_resp_value *array, void *list) {
    static const lk_entry blank = {.path = NULL};
    lk_listing *listing = list;
    struct lk_records records = {.items = listing->entries, .count = listing->count};

    lk_reader_read_maps(reader, array, entry_fields, &blank, sizeof blank, &records);
    listing->entries = records.items;
    listing->count = records.count;
}

/* An entry without its path or owner would crash who believes in them. */
static bool has_texts(const lk_listing *listing) {
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        if (entry->path == NULL || entry->owner == NULL) {
            return false;
        }
        for (size_t k = 0; k < entry->blocker_count; k++) {
            if (entry->blockers[k].path == NULL || entry->blockers[k].owner == NULL) {
                return false;
            }
        }
    }
    return true;
}

/* Parts of one request stand together, under one ticket and owner. */
static void number_requests(lk_listing *listing) {
    for (size_t i = 1; i < listing->count; i++) {
        const lk_entry *former = &listing->entries[i - 1];
        lk_entry *entry = &listing->entries[i];
        bool is_same = former->ticket == entry->ticket && strcmp(former->owner, entry->owner) == 0;

        entry->request_index = former->request_index + (is_same ? 0 : 1);
    }
}

static lk_outcome end_listing(lk_outcome outcome, lk_listing *listing, lk_listing **ret_listing,
                              lk_error *error) {
    if (outcome == LK_OK && !has_texts(listing)) {
        outcome = lk_error_set(error, LK_INTERNAL, "the service listed nobody, or nowhere");
    }
    if (outcome != LK_OK) {
        lk_listing_free(listing);
        return outcome;
    }
    number_requests(listing);
    *ret_listing = listing;
    return LK_OK;
}

lk_outcome lk_service_list(struct lk_engine *engine, const struct lk_path *prefix,
                           const struct lk_patience *patience, lk_listing **ret_listing,
                           struct lk_error *error) {
    static const struct lk_paged paged = {.command = "LIST",
                                          .add_path = lk_words_add_prefix,
                                          .count = REQUESTS_AT_A_TIME,
                                          .read = read_entries};
    lk_listing *listing = lk_listing_new();
    lk_outcome outcome;

    if (listing == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the listing");
    }
    outcome =
        lk_service_read_pages(lk_service_of(engine), &paged, prefix, patience, listing, error);
    return end_listing(outcome, listing, ret_listing, error);
}

lk_outcome lk_service_show(struct lk_engine *engine, const struct lk_path *path,
                           const struct lk_patience *patience, lk_listing **ret_listing,
                           struct lk_error *error) {
    struct lk_words words = {.count = 0};
    struct lk_service_answer answer;
    lk_listing *listing = lk_listing_new();
    lk_outcome outcome;

    if (listing == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the listing");
    }
    lk_words_add_text(&words, "SHOW");
    lk_words_add_path(&words, path);
    outcome =
        lk_service_call(lk_service_of(engine), &words, LK_SERVICE_AGAIN, patience, &answer, error);
    if (outcome == LK_OK) {
        read_entries(&answer.reader, &answer.head, listing);
        outcome = lk_service_read_end(&answer.reader, error);
    }
    lk_service_answer_done(&answer);
    lk_words_done(&words);
    return end_listing(outcome, listing, ret_listing, error);
}

/* ---- breaking, and its record ---------------------------------------------------------------- */

lk_outcome lk_service_break(struct lk_engine *engine, const struct lk_break *broken,
                            struct lk_slice by, struct lk_slice reason,
                            const struct lk_patience *patience, size_t *ret_count,
                            struct lk_error *error) {
    struct lk_words words = {.count = 0};
    struct lk_service_answer answer;
    lk_outcome outcome;

    lk_words_add_text(&words, "BREAK");
    lk_words_add_path(&words, &broken->path);
    lk_words_add_pair(&words, "REASON", reason);
    lk_words_add_pair(&words, "BY", by);
    if (broken->owner.size > 0) {
        lk_words_add_pair(&words, "OWNER", broken->owner);
    }
    if (broken->at_once) {
        lk_words_add_text(&words, "NOW");
    }
    outcome =
        lk_service_call(lk_service_of(engine), &words, LK_SERVICE_ONCE, patience, &answer, error);
    if (outcome == LK_OK) {
        int64_t count = lk_reader_number(&answer.reader, &answer.head);
        outcome = lk_service_read_end(&answer.reader, error);
        if (outcome == LK_OK) {
            *ret_count = count > 0 ? (size_t)count : 0;
        }
    }
    lk_service_answer_done(&answer);
    lk_words_done(&words);
    return outcome;
}

static const struct lk_field audit_fields[] = {
    {.name = "at_ms", .kind = LK_FIELD_NUMBER, .at = offsetof(lk_audit_entry, at_unix_ms)},
    {.name = "by", .kind = LK_FIELD_TEXT, .at = offsetof(lk_audit_entry, by)},
    {.name = "reason", .kind = LK_FIELD_TEXT, .at = offsetof(lk_audit_entry, reason)},
    {.name = "path", .kind = LK_FIELD_TEXT, .at = offsetof(lk_audit_entry, path)},
    {.name = "owner", .kind = LK_FIELD_TEXT, .at = offsetof(lk_audit_entry, owner)},
    {.name = "note", .kind = LK_FIELD_TEXT, .at = offsetof(lk_audit_entry, note)},
    {.name = "ticket", .kind = LK_FIELD_COUNT, .at = offsetof(lk_audit_entry, ticket)},
    {.name = "token", .kind = LK_FIELD_COUNT, .at = offsetof(lk_audit_entry, token)},
    {.name = "state", .kind = LK_FIELD_WORD, .at = offsetof(lk_audit_entry, held), .word = "held"},
    {.name = NULL},
};

static void read_audit(struct lk_service_answer *answer, lk_audit *audit) {
    static const lk_audit_entry blank = {.by = NULL};
    struct lk_records records = {.items = NULL};

    lk_reader_read_maps(&answer->reader, &answer->head, audit_fields, &blank, sizeof blank,
                        &records);
    audit->entries = records.items;
    audit->count = records.count;
    for (size_t i = 0; i < audit->count; i++) {
        const lk_audit_entry *entry = &audit->entries[i];
        if (entry->by == NULL || entry->reason == NULL || entry->path == NULL
            || entry->owner == NULL) {
            answer->reader.is_damaged = true;
        }
    }
}

lk_outcome lk_service_audit(struct lk_engine *engine, const struct lk_path *prefix,
                            const struct lk_patience *patience, lk_audit **ret_audit,
                            struct lk_error *error) {
    struct lk_words words = {.count = 0};
    struct lk_service_answer answer;
    lk_audit *audit = calloc(1, sizeof *audit);
    lk_outcome outcome;

    if (audit == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the audit");
    }
    lk_words_add_text(&words, "AUDIT");
    lk_words_add_prefix(&words, prefix);
    outcome =
        lk_service_call(lk_service_of(engine), &words, LK_SERVICE_AGAIN, patience, &answer, error);
    if (outcome == LK_OK) {
        read_audit(&answer, audit);
        outcome = lk_service_read_end(&answer.reader, error);
    }
    lk_service_answer_done(&answer);
    lk_words_done(&words);
    if (outcome == LK_OK) {
        *ret_audit = audit;
    } else {
        lk_audit_free(audit);
    }
    return outcome;
}

/* ---- examining ------------------------------------------------------------------------------- */

/* What is said for clients of Redis, and what clocks are compared by, tells people nothing. */
static bool is_for_people(struct lk_slice name) {
    static const char *const others[] = {"redis_version", "redis_mode", "role", "time_us"};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (lk_slice_equal(name, lk_slice_of(others[i]))) {
            return false;
        }
    }
    return true;
}

/* Lines of `name:value`, between headings and empty lines, become `name: value`. */
static void write_report(struct lk_slice info, struct lk_text *report) {
    while (info.size > 0) {
        const char *end = memchr(info.bytes, '\n', info.size);
        size_t size = end != NULL ? (size_t)(end - info.bytes) : info.size;
        size_t line = size > 0 && info.bytes[size - 1] == '\r' ? size - 1 : size;
        const char *colon = line > 0 ? memchr(info.bytes, ':', line) : NULL;

        int name_size = colon != NULL ? (int)(colon - info.bytes) : 0;

        if (name_size > 0 && info.bytes[0] != '#'
            && is_for_people((struct lk_slice){info.bytes, (size_t)name_size})) {
            lk_text_format(report, "%.*s: %.*s\n", name_size, info.bytes, (int)line - name_size - 1,
                           colon + 1);
        }
        info.bytes += size + (end != NULL);
        info.size -= size + (end != NULL);
    }
}

/* `\ntime_us:N`: the service's wall clock; 0: it does not say. */
static int64_t find_time_us(struct lk_slice info) {
    static const char name[] = "\ntime_us:";
    const char *at = memmem(info.bytes, info.size, name, strlen(name));

    return at != NULL ? strtoll(at + strlen(name), NULL, 10) : 0; /* a line end ends it */
}

lk_outcome lk_service_examine(struct lk_engine *engine, const struct lk_patience *patience,
                              lk_report **ret_report, struct lk_error *error) {
    char bytes[REPORT_BYTES_MAX];
    struct lk_text text = lk_text_in(bytes, sizeof bytes);
    struct lk_words words = {.count = 0};
    struct lk_service_answer answer;
    lk_report *report;
    int64_t begun_us = lk_clock_wall_us();
    int64_t round_trip_us;
    int64_t clock_offset_us = 0;
    lk_outcome outcome;

    lk_words_add_text(&words, "INFO");
    outcome =
        lk_service_call(lk_service_of(engine), &words, LK_SERVICE_AGAIN, patience, &answer, error);
    round_trip_us = lk_clock_wall_us() - begun_us;
    if (outcome == LK_OK && answer.head.kind == LK_RESP_BULK) {
        int64_t time_us = find_time_us(answer.head.text);

        write_report(answer.head.text, &text);
        clock_offset_us = time_us != 0 ? time_us - begun_us - round_trip_us / 2 : 0;
    }
    lk_service_answer_done(&answer);
    lk_words_done(&words);
    if (outcome != LK_OK) {
        return outcome;
    }
    report = lk_report_make(bytes, "");
    if (report == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the report");
    }
    report->round_trip_us = round_trip_us;
    report->clock_offset_us = clock_offset_us;
    *ret_report = report;
    return LK_OK;
}
