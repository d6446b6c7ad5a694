/* SPDX-License-Identifier: Apache-2.0 */
/* Looking and administering: list, show, break, audit, examine (R12, R20). */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/reply/reply.h"
#include "engine/service/pages.h"
#include "engine/service/service.h"

enum {
    PAGE_RECORDS = 1000,
    REPORT_BYTES_MAX = 4096,
};

/* ---- listings -------------------------------------------------------------------------------- */

/* Parts of one request stand together, under one ticket and owner. */
static void number_requests(lk_listing *listing) {
    for (size_t i = 1; i < listing->count; i++) {
        const lk_entry *former = &listing->entries[i - 1];
        lk_entry *entry = &listing->entries[i];
        bool is_same = former->ticket == entry->ticket && strcmp(former->owner, entry->owner) == 0;

        entry->request_index = former->request_index + (is_same ? 0 : 1);
    }
}

static lk_outcome read_listing(struct lk_engine *engine, const struct lk_paged *paged,
                               const struct lk_path *path, const struct lk_patience *patience,
                               lk_listing **ret_listing, lk_error *error) {
    lk_listing *listing = lk_listing_new();
    struct lk_records records = {.items = NULL};
    lk_outcome outcome;

    if (listing == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the listing");
    }
    outcome = lk_service_read_pages(lk_service_of(engine), paged, path, patience, &records, error);
    listing->entries = records.items;
    listing->count = records.count;
    if (outcome == LK_OK) {
        number_requests(listing);
        *ret_listing = listing;
    } else {
        lk_listing_free(listing);
    }
    return outcome;
}

lk_outcome lk_service_list(struct lk_engine *engine, const struct lk_path *prefix,
                           const struct lk_patience *patience, lk_listing **ret_listing,
                           struct lk_error *error) {
    static const struct lk_paged paged = {.command = "LIST",
                                          .add_path = lk_words_add_prefix,
                                          .form = &lk_form_of_explained_entry,
                                          .count = PAGE_RECORDS};

    return read_listing(engine, &paged, prefix, patience, ret_listing, error);
}

lk_outcome lk_service_show(struct lk_engine *engine, const struct lk_path *path,
                           const struct lk_patience *patience, lk_listing **ret_listing,
                           struct lk_error *error) {
    static const struct lk_paged paged = {.command = "SHOW",
                                          .add_path = lk_words_add_path,
                                          .form = &lk_form_of_explained_entry,
                                          .count = PAGE_RECORDS,
                                          .was_whole = true};

    return read_listing(engine, &paged, path, patience, ret_listing, error);
}

/* ---- breaking, and its record ---------------------------------------------------------------- */

lk_outcome lk_service_break(struct lk_service *service, const struct lk_break *broken,
                            const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_words words = {.count = 0};
    int64_t count = 0;
    lk_outcome outcome;

    lk_words_add_text(&words, "BREAK");
    lk_words_add_path(&words, &broken->path);
    lk_words_add_pair(&words, "REASON", broken->reason);
    lk_words_add_pair(&words, "BY", broken->by);
    if (broken->owner.size > 0) {
        lk_words_add_pair(&words, "OWNER", broken->owner);
    }
    if (broken->at_once) {
        lk_words_add_text(&words, "NOW");
    }
    outcome = lk_service_call_for_number(service, &words, patience, &count, &decision->error);
    decision->broken = outcome == LK_OK && count > 0 ? (size_t)count : 0;
    return outcome;
}

lk_outcome lk_service_audit(struct lk_engine *engine, const struct lk_path *prefix,
                            const struct lk_patience *patience, lk_audit **ret_audit,
                            struct lk_error *error) {
    static const struct lk_paged paged = {.command = "AUDIT",
                                          .add_path = lk_words_add_prefix,
                                          .form = &lk_form_of_audit_entry,
                                          .count = PAGE_RECORDS,
                                          .was_whole = true};
    lk_audit *audit = calloc(1, sizeof *audit);
    struct lk_records records = {.items = NULL};
    lk_outcome outcome;

    if (audit == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the audit");
    }
    outcome =
        lk_service_read_pages(lk_service_of(engine), &paged, prefix, patience, &records, error);
    audit->entries = records.items;
    audit->count = records.count;
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
