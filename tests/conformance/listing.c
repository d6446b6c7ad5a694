/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a store through lk_list(), lk_show() and lk_audit_read(). A listing has one entry for each
 * part; `expect` joins the parts of a request again.
 */
#include <inttypes.h>
#include <string.h>

#include "playback.h"

enum { PART_TEXT_MAX = 600, SEEN_PARTS_MAX = 16 };

static struct observation observation_of_entry(const lk_entry *entry) {
    return (struct observation){
        .outcome = entry->held ? LK_GRANTED : LK_WAITING,
        .owner = entry->owner,
        .ticket = entry->ticket,
        .token = entry->token,
        .ttl_ms = entry->ttl_ms,
        .expires_in_ms = entry->expires_in_ms,
        .age_ms = entry->age_ms,
        .position = entry->position,
        .revoked = entry->revoked,
        .note = entry->note,
        .blockers = entry->blockers,
        .blocker_count = entry->blocker_count,
    };
}

/* ---- one request ----------------------------------------------------------------------------- */

/* The parts of one request in a listing, from its entry at `first` on. */
struct seen {
    const lk_entry *entry;
    char *paths[SEEN_PARTS_MAX];
    char parts[SEEN_PARTS_MAX][PART_TEXT_MAX];
    size_t count;
};

static void seen_collect(const lk_listing *listing, size_t first, struct seen *ret_seen) {
    ret_seen->entry = &listing->entries[first];
    ret_seen->count = 0;
    for (size_t i = first; i < listing->count && ret_seen->count < SEEN_PARTS_MAX; i++) {
        const lk_entry *entry = &listing->entries[i];
        if (entry->request_index == ret_seen->entry->request_index) {
            ret_seen->paths[ret_seen->count] = entry->path;
            entry_part(entry, ret_seen->parts[ret_seen->count], PART_TEXT_MAX);
            ret_seen->count++;
        }
    }
}

static bool seen_has_part(const struct seen *seen, const char *part, bool modes) {
    for (size_t i = 0; i < seen->count; i++) {
        size_t path_size = strlen(seen->paths[i]);
        bool same_path =
            strcspn(part, "?") == path_size && strncmp(part, seen->paths[i], path_size) == 0;
        if (modes ? strcmp(part, seen->parts[i]) == 0 : same_path) {
            return true;
        }
    }
    return false;
}

static bool seen_is(const struct seen *seen, const struct step *step, bool modes) {
    for (size_t i = 0; i < step->part_count; i++) {
        if (!seen_has_part(seen, step->parts[i], modes)) {
            return false;
        }
    }
    return seen->count == step->part_count;
}

/* Finds the owner's request for the step's paths; modes are compared by the caller. */
static bool find_request(const struct listing_context *context, const struct step *step,
                         const lk_listing *listing, struct seen *ret_seen) {
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        bool is_first = i == 0 || entry->request_index != listing->entries[i - 1].request_index;
        if (!is_first || strcmp(entry->owner, context->owner) != 0) {
            continue;
        }
        seen_collect(listing, i, ret_seen);
        if (seen_is(ret_seen, step, false)) {
            return true;
        }
    }
    return false;
}

static bool show_first_part(const struct listing_context *context, const struct step *step,
                            lk_listing **ret_listing, struct complaint *complaint) {
    char path[WORD_BYTES_MAX + 1];
    lk_error error = {0};
    size_t size = strcspn(step->parts[0], "?");
    memcpy(path, step->parts[0], size);
    path[size] = '\0';
    if (lk_show(context->store, path, ret_listing, &error) != LK_OK) {
        return complain(complaint, "cannot read: %s: %s", lk_outcome_name(error.outcome),
                        error.text);
    }
    return true;
}

static bool compare_request(const struct listing_context *context, const struct step *step,
                            const struct seen *seen, struct complaint *complaint) {
    if (!seen_is(seen, step, true)) {
        return complain(complaint, "the request is there with other modes: %s", seen->parts[0]);
    }
    if (seen->entry->held != (step->kind == STEP_HOLDS)) {
        return complain(complaint, "it is %s", seen->entry->held ? "held" : "waiting");
    }
    struct observation observation = observation_of_entry(seen->entry);
    observation.paths = seen->paths;
    observation.path_count = seen->count;
    struct comparison comparison = {
        .observed = context->observed,
        .greatest_before =
            observed_greatest(context->observed, observation.paths, observation.path_count),
        .before = *observed_find(context->observed, context->owner, step->parts, step->part_count),
        .stretch = context->stretch,
    };
    observed_remember(context->observed, &observation);
    return compare(&comparison, &observation, step->checks, step->check_count, complaint);
}

static bool expect_request(const struct listing_context *context, const struct step *step,
                           struct complaint *complaint) {
    lk_listing *listing = NULL;
    struct seen seen;
    if (!show_first_part(context, step, &listing, complaint)) {
        return false;
    }
    bool found = find_request(context, step, listing, &seen);
    bool as_expected;
    if (step->kind == STEP_HAS_NOT) {
        as_expected = !found
                      || complain(complaint, "it has: %s, %s", seen.parts[0],
                                  seen.entry->held ? "held" : "waiting");
    } else {
        as_expected = found ? compare_request(context, step, &seen, complaint)
                            : complain(complaint, "there is no such request");
    }
    lk_listing_free(listing);
    return as_expected;
}

bool listing_is_there(const struct listing_context *context, const struct step *step) {
    lk_listing *listing = NULL;
    struct complaint ignored;
    struct seen seen;
    if (!show_first_part(context, step, &listing, &ignored)) {
        return false;
    }
    bool found = find_request(context, step, listing, &seen);
    lk_listing_free(listing);
    return found;
}

/* ---- listings -------------------------------------------------------------------------------- */

static bool compare_entry(const struct listing_context *context, const lk_entry *entry,
                          const struct entry_check *expected, struct complaint *complaint) {
    char part[PART_TEXT_MAX];
    const struct observed_name *kept = observed_kept(context->observed, expected->owner);
    const char *owner = kept != NULL && kept->text != NULL ? kept->text : expected->owner;
    if (strcmp(owner, entry->owner) != 0 || expected->held != entry->held
        || strcmp(expected->part, entry_part(entry, part, sizeof part)) != 0) {
        return complain(complaint, "expected %s %s %s, got %s %s %s", owner,
                        expected->held ? "holds" : "waits for", expected->part, entry->owner,
                        entry->held ? "holds" : "waits for", entry_part(entry, part, sizeof part));
    }
    struct observation observation = observation_of_entry(entry);
    const char *path = entry->path;
    struct comparison comparison = {
        .observed = context->observed,
        .greatest_before = observed_greatest(context->observed, &entry->path, 1),
        .before = *observed_find(context->observed, entry->owner, &path, 1),
        .stretch = context->stretch,
    };
    return compare(&comparison, &observation, expected->checks, expected->check_count, complaint);
}

static bool compare_listing(const struct listing_context *context, const struct step *step,
                            const lk_listing *listing, struct complaint *complaint) {
    if (listing->count != step->entry_count) {
        return complain(complaint, "expected %zu lines, got %zu", step->entry_count,
                        listing->count);
    }
    for (size_t i = 0; i < listing->count; i++) {
        struct complaint inner;
        if (!compare_entry(context, &listing->entries[i], &step->entries[i], &inner)) {
            return complain(complaint, "line %zu: %.280s", i + 1, inner.text);
        }
    }
    return true;
}

static bool compare_audit(const struct listing_context *context, const struct step *step,
                          const lk_audit *audit, struct complaint *complaint) {
    struct comparison comparison = {.observed = context->observed, .stretch = context->stretch};
    if (audit->count != step->entry_count) {
        return complain(complaint, "expected %zu lines, got %zu", step->entry_count, audit->count);
    }
    for (size_t i = 0; i < audit->count; i++) {
        const lk_audit_entry *entry = &audit->entries[i];
        const struct entry_check *expected = &step->entries[i];
        if (strcmp(expected->by, entry->by) != 0 || strcmp(expected->part, entry->path) != 0
            || strcmp(expected->owner, entry->owner) != 0 || expected->held != entry->held) {
            return complain(complaint, "line %zu: got %s broke %s %s by %s", i + 1, entry->by,
                            entry->path, entry->held ? "held" : "awaited", entry->owner);
        }
        struct observation observation = {.outcome = LK_OK,
                                          .owner = entry->owner,
                                          .ticket = entry->ticket,
                                          .token = entry->token,
                                          .note = entry->note,
                                          .reason = entry->reason};
        if (!compare(&comparison, &observation, expected->checks, expected->check_count,
                     complaint)) {
            return false;
        }
    }
    return true;
}

/* An outcome other than OK: only it, and what the error says, can be compared. */
static bool compare_outcome(const struct listing_context *context, const struct step *step,
                            lk_outcome outcome, const lk_error *error,
                            struct complaint *complaint) {
    struct comparison comparison = {.observed = context->observed, .stretch = context->stretch};
    struct observation observation = {.outcome = outcome, .error = error->text};
    if (outcome != step->outcome) {
        return complain(complaint, "expected %s, got %s: %s", lk_outcome_name(step->outcome),
                        lk_outcome_name(outcome), error->text);
    }
    return compare(&comparison, &observation, step->checks, step->check_count, complaint);
}

static bool listing_at_audit(const struct listing_context *context, const struct step *step,
                             const char *prefix, struct complaint *complaint) {
    lk_error error = {0};
    lk_audit *audit = NULL;
    lk_outcome outcome = lk_audit_read(context->store, prefix, &audit, &error);
    bool as_expected = compare_outcome(context, step, outcome, &error, complaint)
                       && (audit == NULL || compare_audit(context, step, audit, complaint));
    lk_audit_free(audit);
    return as_expected;
}

bool listing_play(const struct listing_context *context, const struct step *step,
                  struct complaint *complaint) {
    const char *path = step->part_count > 0 ? step->parts[0] : NULL;
    lk_listing *listing = NULL;
    lk_error error = {0};
    lk_outcome outcome;
    switch (step->kind) {
    case STEP_HOLDS:
    case STEP_WAITS:
    case STEP_HAS_NOT:
        return expect_request(context, step, complaint);
    case STEP_AUDIT:
        return listing_at_audit(context, step, path, complaint);
    case STEP_SHOW:
        outcome = lk_show(context->store, path, &listing, &error);
        break;
    default: /* list, expect nothing: no lines are expected */
        outcome = lk_list(context->store, path, &listing, &error);
        break;
    }
    bool as_expected = compare_outcome(context, step, outcome, &error, complaint)
                       && (listing == NULL || compare_listing(context, step, listing, complaint));
    lk_listing_free(listing);
    return as_expected;
}

void listing_report(lk_store *store, FILE *report) {
    lk_listing *listing = NULL;
    if (lk_list(store, NULL, &listing, NULL) != LK_OK) {
        return;
    }
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        char part[PART_TEXT_MAX];
        fprintf(report,
                "    live: %s %s %s, ticket %" PRIu64 ", token %" PRIu64 ", expires in %" PRId64
                " ms\n",
                entry->owner, entry->held ? "holds" : "waits for",
                entry_part(entry, part, sizeof part), entry->ticket, entry->token,
                entry->expires_in_ms);
    }
    lk_listing_free(listing);
}
