/* SPDX-License-Identifier: Apache-2.0 */
/* The lease that the environment names: read from the store, and checked against the request. */
#include "cli/run/inherit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/rules.h"

/* The lease of the environment. */
struct outer {
    const char *owner;
    uint64_t tokens[LK_PARTS_MAX]; /* of a batch over several nodes there are several (R14) */
    size_t count;
};

static lk_outcome refuse(lk_error *error, const char *format, const char *what) {
    error->outcome = LK_BUSY;
    (void)snprintf(error->text, sizeof error->text, format, what);
    return LK_BUSY;
}

/* A number, and a space or the end behind it, which *text is moved to. */
static bool read_token(const char **text, uint64_t *ret_token) {
    char *end;

    errno = 0;
    *ret_token = strtoumax(*text, &end, 10);
    if ((*text)[0] < '1' || (*text)[0] > '9' || errno != 0 || (*end != '\0' && *end != ' ')) {
        return false;
    }
    *text = end;
    return true;
}

/* LK_TOKENS counts when it begins with LK_TOKEN: else it is of another lease. */
static bool read_outer(struct outer *ret_outer) {
    struct outer outer = {.owner = getenv("LK_OWNER"), .count = 1};
    const char *token = getenv("LK_TOKEN");
    const char *tokens = getenv("LK_TOKENS");
    uint64_t first;

    if (outer.owner == NULL || token == NULL || !read_token(&token, &outer.tokens[0])
        || *token != '\0') {
        return false;
    }
    if (tokens != NULL && read_token(&tokens, &first) && first == outer.tokens[0]) {
        while (*tokens == ' ' && outer.count < LK_PARTS_MAX) {
            tokens++;
            if (!read_token(&tokens, &outer.tokens[outer.count++])) {
                return false;
            }
        }
    }
    *ret_outer = outer;
    return true;
}

static bool has_token(const struct outer *outer, uint64_t token) {
    for (size_t i = 0; i < outer->count; i++) {
        if (outer->tokens[i] == token) {
            return true;
        }
    }
    return false;
}

/* R8; a revoked lease covers nothing new. */
static bool covers(const lk_entry *entry, const struct lk_part *asked) {
    struct lk_part held = {.mode = entry->shared ? LK_SHARED : LK_EXCLUSIVE,
                           .limit = entry->limit,
                           .units = entry->units};

    return entry->held && !entry->revoked
           && lk_path_parse(lk_slice_of(entry->path), &held.path, NULL) == LK_OK
           && lk_part_covers(&held, asked);
}

static bool listing_covers(const lk_listing *listing, const struct outer *outer,
                           const struct lk_part *asked) {
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        if (has_token(outer, entry->token) && strcmp(entry->owner, outer->owner) == 0
            && covers(entry, asked)) {
            return true;
        }
    }
    return false;
}

static lk_outcome check_part(lk_store *store, const struct outer *outer, const char *text,
                             const struct lk_part_defaults *defaults, lk_error *error) {
    struct lk_part part;
    char path[LK_PATH_BYTES_MAX + 1];
    lk_listing *listing;

    lk_outcome outcome = lk_part_parse(lk_slice_of(text), defaults, &part, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    memcpy(path, part.path.bytes, part.path.size);
    path[part.path.size] = '\0';
    outcome = lk_show(store, path, &listing, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    bool is_covered = listing_covers(listing, outer, &part);
    lk_listing_free(listing);
    return is_covered ? LK_GRANTED
                      : refuse(error, "the lease this runs under does not cover %s", text);
}

lk_outcome lk_run_inherit_check(const struct lk_run_options *options, lk_error *error) {
    const lk_request *request = &options->request;
    const struct lk_part_defaults defaults = {
        .shared = request->shared, .limit = request->limit, .units = request->units};
    struct outer outer;
    lk_store *store;

    if (!read_outer(&outer)) {
        return refuse(error, "%s",
                      "this does not run under a lease: LK_OWNER and LK_TOKEN do not "
                      "name one");
    }
    lk_outcome outcome = lk_open(options->store_url, &store, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = LK_GRANTED;
    for (size_t i = 0; i < request->part_count && outcome == LK_GRANTED; i++) {
        outcome = check_part(store, &outer, request->parts[i], &defaults, error);
    }
    lk_close(store);
    return outcome;
}
