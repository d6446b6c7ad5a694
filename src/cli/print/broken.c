/* SPDX-License-Identifier: Apache-2.0 */
/* A break that waits for a deadline looks like one that did nothing, unless it is said (R12). */
#include "cli/print/broken.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "cli/print/human.h"

enum { WHEN_BYTES = 40, A_DAY_S = 86400 };

/* The local time; with the date if it is not within a day from now. */
static void write_when(int64_t at_unix_ms, char ret_text[WHEN_BYTES]) {
    time_t at_s = (time_t)(at_unix_ms / 1000);
    time_t away_s = at_s - time(NULL);
    struct tm local;

    ret_text[0] = '\0';
    if (localtime_r(&at_s, &local) != NULL) {
        (void)strftime(ret_text, WHEN_BYTES,
                       away_s < A_DAY_S && away_s > -A_DAY_S ? "%H:%M" : "%Y-%m-%d %H:%M", &local);
    }
}

/* ---- after a break --------------------------------------------------------------------------- */

/* A path of a store, and one that was typed: trailing slashes do not count (R1). */
static bool is_at(const char *known, const char *typed) {
    size_t size = strlen(known);

    return strncmp(known, typed, size) == 0 && strspn(typed + size, "/") == strlen(typed + size);
}

/* An owner of another user is named with it, as USER//OWNER. */
static bool is_of(const lk_entry *entry, const char *owner) {
    size_t user = entry->user != NULL ? strlen(entry->user) : 0;

    return strcmp(entry->owner, owner) == 0
           || (user > 0 && strncmp(owner, entry->user, user) == 0
               && strncmp(owner + user, "//", 2) == 0
               && strcmp(owner + user + 2, entry->owner) == 0);
}

/* Of the leases at just this path that are revoked: how many, and the last deadline of them. */
static size_t count_revoked(const lk_listing *listing, const lk_break_request *request,
                            int64_t *ret_left_ms) {
    size_t count = 0;

    *ret_left_ms = 0;
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        if (entry->revoked && is_at(entry->path, request->path)
            && (request->owner == NULL || is_of(entry, request->owner))) {
            *ret_left_ms =
                entry->expires_in_ms > *ret_left_ms ? entry->expires_in_ms : *ret_left_ms;
            count++;
        }
    }
    return count;
}

/* The same of the store; none if they were ended at once, or the store does not say. */
static size_t find_revoked(lk_store *store, const lk_break_request *request, int64_t *ret_left_ms) {
    lk_listing *listing = NULL;
    size_t count;

    *ret_left_ms = 0;
    if (request->at_once || lk_list(store, request->path, &listing, NULL) != LK_OK) {
        return 0;
    }
    count = count_revoked(listing, request, ret_left_ms);
    lk_listing_free(listing);
    return count;
}

enum { END_BYTES = WHEN_BYTES + LK_HUMAN_DURATION_SIZE + sizeof " ()" };

/* As a time of day, and how long it is until then. */
static void write_end(int64_t left_ms, char text[END_BYTES]) {
    char left[LK_HUMAN_DURATION_SIZE];
    char until[WHEN_BYTES];

    lk_human_duration(left_ms, left);
    write_when((int64_t)time(NULL) * 1000 + left_ms, until);
    (void)snprintf(text, END_BYTES, "%s (%s)", until, left);
}

bool lk_broken_say(FILE *out, lk_store *store, const lk_break_request *request, size_t count) {
    char end[END_BYTES];
    int64_t left_ms;
    size_t revoked = find_revoked(store, request, &left_ms);
    bool is_known = count == 0; /* they were revoked before */

    revoked = revoked < count || is_known ? revoked : count;
    if (revoked == 0) {
        (void)fprintf(out, "broken %zu\n", count);
        return count > 0;
    }
    if (revoked < count) {
        (void)fprintf(out, "withdrawn %zu\n", count - revoked);
    }
    write_end(left_ms, end);
    (void)fprintf(out,
                  "revoked %s%zu: held until %s unless %s; --now ends %s at once, if the holder is "
                  "dead\n",
                  is_known ? "already " : "", revoked, end,
                  revoked == 1 ? "its holder releases it" : "the holders release them",
                  revoked == 1 ? "it" : "them");
    return true;
}

void lk_cancelled_say(FILE *out, lk_store *store, const lk_cancel_request *request,
                      bool is_claimed) {
    char *path = lk_text_make("%s/%s", request->queue, request->id);
    const lk_break_request at = {.path = path, .at_once = request->at_once};
    char end[END_BYTES];
    int64_t left_ms = 0;

    (void)fprintf(out, "cancelled %s/%s", request->queue, request->id);
    if (is_claimed && path != NULL && find_revoked(store, &at, &left_ms) > 0) {
        write_end(left_ms, end);
        (void)fprintf(out,
                      ": its worker has it until %s unless it ends before; --now ends the claim at "
                      "once, if the worker is dead",
                      end);
    } else if (is_claimed) {
        (void)fprintf(out, ": its claim has ended");
    }
    (void)fprintf(out, "\n");
    free(path);
}

/* ---- on record ------------------------------------------------------------------------------- */

/* The last record at one path. NULL: there is none; else with its list, to be freed. */
static const lk_audit_entry *find(lk_store *store, const char *path, const char *owner,
                                  uint64_t token, uint64_t ticket, lk_audit **ret_audit) {
    const lk_audit_entry *found = NULL;

    if (lk_audit_read(store, path, ret_audit, NULL) != LK_OK) {
        return NULL;
    }
    for (size_t i = 0; i < (*ret_audit)->count; i++) {
        const lk_audit_entry *entry = &(*ret_audit)->entries[i];
        if (entry->held && (token == 0 || entry->token == token)
            && (ticket == 0 || entry->ticket == ticket)
            && (owner == NULL || strcmp(entry->owner, owner) == 0)) {
            found = entry;
        }
    }
    if (found == NULL) {
        lk_audit_free(*ret_audit);
    }
    return found;
}

char *lk_broken_by(lk_store *store, const lk_result *request) {
    const lk_audit_entry *entry = NULL;
    lk_audit *audit = NULL;
    char when[WHEN_BYTES];
    char *text;

    for (size_t i = 0; i < request->path_count && entry == NULL; i++) {
        entry = find(store, request->paths[i], request->owner, request->token, 0, &audit);
    }
    if (entry == NULL) {
        return NULL;
    }
    write_when(entry->at_unix_ms, when);
    text = lk_text_make("broken by %s at %s: %s", entry->by, when, entry->reason);
    lk_audit_free(audit);
    return text;
}

char *lk_broken_claim_by(lk_store *store, const lk_claim_info *claim) {
    char *path = lk_text_make("%s/%s", claim->queue, claim->id);
    const lk_audit_entry *entry = NULL;
    lk_audit *audit = NULL;
    char when[WHEN_BYTES];
    char *text;

    if (path != NULL) {
        entry = find(store, path, claim->owner, claim->token, 0, &audit);
    }
    free(path);
    if (entry == NULL) {
        return NULL;
    }
    write_when(entry->at_unix_ms, when);
    text = lk_text_make("revoked by %s at %s: %s", entry->by, when, entry->reason);
    lk_audit_free(audit);
    return text;
}

bool lk_broken_is_revoked(lk_store *store, const lk_blocker_info *blocker) {
    lk_audit *audit = NULL;

    if (!blocker->held || find(store, blocker->path, NULL, 0, blocker->ticket, &audit) == NULL) {
        return false;
    }
    lk_audit_free(audit);
    return true;
}
