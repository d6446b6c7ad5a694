/* SPDX-License-Identifier: Apache-2.0 */
/* Queries and administration: list, show, break, audit (R12, R20); and the pages that they read. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/reply/reply.h"
#include "engine/service/call.h"
#include "engine/service/service.h"

/* ---- pages of long answers ------------------------------------------------------------------- */

/*
 * A page is `[cursor, [map, ...]]`; the cursor says where the next page begins, "0": it was the
 * last.
 */

static void read_page(struct lk_service_answer *answer, const struct lk_form *form,
                      struct lk_records *records, char **cursor) {
    struct lk_reader *reader = &answer->reader;
    struct lk_resp_value value;

    free(*cursor);
    *cursor = NULL;
    if (answer->head.kind != LK_RESP_ARRAY || answer->head.count != 2
        || !lk_resp_cursor_next(&reader->cursor, &value)) {
        reader->is_damaged = true;
        return;
    }
    *cursor = lk_reader_copy(reader, &value);
    if (lk_resp_cursor_next(&reader->cursor, &value) && lk_reader_is_ok(reader)) {
        lk_reader_read_maps(reader, &value, form, records);
    } else {
        reader->is_damaged = true;
    }
}

/*
 * Requests the page at *cursor (NULL: the first one), which becomes the cursor of the next page.
 * Not `is_paged`: everything in one piece, as older services answer. Such an answer is damaged if
 * it is too large for the service.
 */
static lk_outcome request(struct lk_service *service, const struct lk_paged *paged, bool is_paged,
                          const struct lk_path *path, const struct lk_patience *patience,
                          struct lk_records *records, char **cursor, lk_error *error) {
    struct lk_builder builder = {.count = 0};
    struct lk_service_answer answer;
    lk_outcome outcome;

    lk_builder_add_text(&builder, paged->command);
    paged->add_path(&builder, path);
    if (paged->keyword != NULL) {
        lk_builder_add_text(&builder, paged->keyword);
    }
    if (paged->word.size > 0) {
        lk_builder_add(&builder, paged->word);
    }
    if (is_paged) {
        lk_builder_add_number(&builder, "COUNT", paged->count);
    }
    if (*cursor != NULL) {
        lk_builder_add_pair(&builder, "CURSOR", lk_slice_of(*cursor));
    }
    outcome = lk_service_call(service, &builder, LK_SERVICE_AGAIN, patience, &answer, error);
    if (outcome == LK_OK && is_paged) {
        read_page(&answer, paged->form, records, cursor);
        outcome = lk_service_read_end(&answer.reader, error);
    } else if (outcome == LK_OK) {
        lk_reader_read_maps(&answer.reader, &answer.head, paged->form, records);
        outcome = lk_service_read_end(&answer.reader, error);
    }
    if (!is_paged && answer.reader.is_damaged) {
        outcome = lk_error_set(error, LK_UNSUPPORTED,
                               "the service is of an older version, which cannot give so long an "
                               "answer to %s: upgrade it",
                               paged->command);
    }
    lk_service_answer_done(&answer);
    return outcome;
}

lk_outcome lk_service_read_page(struct lk_service *service, const struct lk_paged *paged,
                                const struct lk_path *path, const struct lk_patience *patience,
                                struct lk_records *records, char **cursor, lk_error *error) {
    return request(service, paged, true, path, patience, records, cursor, error);
}

lk_outcome lk_service_read_pages(struct lk_service *service, const struct lk_paged *paged,
                                 const struct lk_path *path, const struct lk_patience *patience,
                                 struct lk_records *records, lk_error *error) {
    char *cursor = NULL;
    bool is_first = true;
    lk_outcome outcome;

    do {
        outcome = request(service, paged, true, path, patience, records, &cursor, error);
        if (outcome == LK_INVALID && is_first && paged->was_whole) {
            return request(service, paged, false, path, patience, records, &cursor, error);
        }
        is_first = false;
    } while (outcome == LK_OK && strcmp(cursor, "0") != 0);
    free(cursor);
    return outcome;
}

enum { PAGE_RECORDS = 1000 };

/* ---- listings -------------------------------------------------------------------------------- */

static bool is_same_user(const lk_entry *one, const lk_entry *other) {
    return one->user == NULL || other->user == NULL ? one->user == other->user
                                                    : strcmp(one->user, other->user) == 0;
}

/* The parts of one request are adjacent, with the same ticket and owner. */
static void number_requests(lk_listing *listing) {
    for (size_t i = 1; i < listing->count; i++) {
        const lk_entry *former = &listing->entries[i - 1];
        lk_entry *entry = &listing->entries[i];
        bool is_same = former->ticket == entry->ticket && strcmp(former->owner, entry->owner) == 0
                       && is_same_user(former, entry);

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
                                          .add_path = lk_builder_add_prefix,
                                          .form = &lk_form_of_explained_entry,
                                          .count = PAGE_RECORDS};

    return read_listing(engine, &paged, prefix, patience, ret_listing, error);
}

lk_outcome lk_service_show(struct lk_engine *engine, const struct lk_path *path,
                           const struct lk_patience *patience, lk_listing **ret_listing,
                           struct lk_error *error) {
    static const struct lk_paged paged = {.command = "SHOW",
                                          .add_path = lk_builder_add_path,
                                          .form = &lk_form_of_explained_entry,
                                          .count = PAGE_RECORDS,
                                          .was_whole = true};

    return read_listing(engine, &paged, path, patience, ret_listing, error);
}

/* ---- breaking, and its record ---------------------------------------------------------------- */

lk_outcome lk_service_break(struct lk_service *service, const struct lk_break *broken,
                            const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_builder builder = {.count = 0};
    struct lk_path queue; /* until the call is over */
    struct lk_slice id;
    int64_t count = 0;
    lk_outcome outcome;

    if (broken->cancels) {
        lk_builder_add_text(&builder, "CANCEL");
        lk_path_split(&broken->path, &queue, &id);
        lk_builder_add_path(&builder, &queue);
        lk_builder_add(&builder, id);
    } else {
        lk_builder_add_text(&builder, "BREAK");
        lk_builder_add_path(&builder, &broken->path);
    }
    lk_builder_add_pair(&builder, "REASON", broken->reason);
    lk_builder_add_pair(&builder, "BY", broken->by);
    if (broken->owner.size > 0) {
        lk_builder_add_pair(&builder, "OWNER", broken->owner);
    }
    if (broken->at_once) {
        lk_builder_add_text(&builder, "NOW");
    }
    outcome = lk_service_call_for_number(service, &builder, patience, &count, &decision->error);
    decision->broken = outcome == LK_OK && count > 0 ? (size_t)count : 0;
    return outcome;
}

lk_outcome lk_service_audit(struct lk_engine *engine, const struct lk_path *prefix,
                            const struct lk_patience *patience, lk_audit **ret_audit,
                            struct lk_error *error) {
    static const struct lk_paged paged = {.command = "AUDIT",
                                          .add_path = lk_builder_add_prefix,
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
