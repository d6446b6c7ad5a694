/* SPDX-License-Identifier: Apache-2.0 */
/* Queries and administration: list, show, break, audit (R12, R20). */
#include <stdlib.h>

#include "base/error.h"
#include "engine/reply/reply.h"
#include "engine/service/pages.h"
#include "engine/service/service.h"

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
    int64_t count = 0;
    lk_outcome outcome;

    lk_builder_add_text(&builder, "BREAK");
    lk_builder_add_path(&builder, &broken->path);
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
