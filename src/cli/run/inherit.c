/* SPDX-License-Identifier: Apache-2.0 */
/* The lease that the environment names: read from the store, and checked against the request. */
#include "cli/run/inherit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/run/open.h"
#include "model/rules.h"

/* The lease of the environment, and those around it. */
struct outer {
    const char *owner;
    uint64_t tokens[LK_PARTS_MAX]; /* of a batch over several nodes there are several (R14) */
    size_t count;
    const char *others; /* LK_OUTER: words TOKEN:PATH of the runs around that one; NULL: none */
};

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
    struct outer outer = {.owner = getenv("LK_OWNER"), .count = 1, .others = getenv("LK_OUTER")};
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

/* The next word of a list that is separated by spaces, which *list is moved behind. */
static struct lk_slice next_word(const char **list) {
    struct lk_slice word;

    *list += strspn(*list, " ");
    word = (struct lk_slice){*list, strcspn(*list, " ")};
    *list += word.size;
    return word;
}

/* Whether a run around that lease has the token. Tokens are unique: no owner is needed. */
static bool others_have_token(const struct outer *outer, uint64_t token) {
    const char *list = outer->others != NULL ? outer->others : "";

    for (struct lk_slice word = next_word(&list); word.size > 0; word = next_word(&list)) {
        if (strtoumax(word.bytes, NULL, 10) == token) {
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

static struct lk_part_defaults defaults_of(const lk_request *request) {
    return (struct lk_part_defaults){
        .shared = request->shared, .limit = request->limit, .units = request->units};
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
    return is_covered
               ? LK_GRANTED
               : lk_error_set(error, LK_BUSY, "the lease this runs under does not cover %s", text);
}

lk_outcome lk_run_inherit_check(const struct lk_run_options *options, lk_error *error) {
    const lk_request *request = &options->request;
    const struct lk_part_defaults defaults = defaults_of(request);
    struct outer outer;
    lk_store *store;

    if (!read_outer(&outer)) {
        return lk_error_set(error, LK_BUSY, "%s",
                            "this does not run under a lease: LK_OWNER and LK_TOKEN do not "
                            "name one");
    }
    lk_outcome outcome = lk_run_open(options->store_url, lk_run_wait_ms(request), &store, error);
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

/* ---- without --inherit ----------------------------------------------------------------------- */

/* Whether a path of a list is related to one of the request; of words TOKEN:PATH if has_tokens. */
static bool is_near(const char *list, bool has_tokens, const lk_request *request,
                    const struct lk_part_defaults *defaults) {
    struct lk_path held;
    struct lk_part asked;

    list = list != NULL ? list : "";
    for (struct lk_slice word = next_word(&list); word.size > 0; word = next_word(&list)) {
        const char *colon = has_tokens ? memchr(word.bytes, ':', word.size) : NULL;
        size_t lead = colon != NULL ? (size_t)(colon + 1 - word.bytes) : 0;
        const struct lk_slice path = {word.bytes + lead, word.size - lead};
        bool is_path = lk_path_parse(path, &held, NULL) == LK_OK;

        for (size_t i = 0; is_path && i < request->part_count; i++) {
            if (lk_part_parse(lk_slice_of(request->parts[i]), defaults, &asked, NULL) == LK_OK
                && lk_path_related(&held, &asked.path)) {
                return true;
            }
        }
    }
    return false;
}

struct nearness {
    bool is_in_the_way; /* the outer leases, alone or together, exclude the part asked for */
    bool is_same_path;  /* of the innermost one */
    uint64_t units;     /* that they hold at exactly its path (R7c) */
};

/* One of the outer leases. R7c: only the limit of the part asked for counts. */
static void add_outer(struct nearness *near, const struct lk_part *held,
                      const struct lk_part *asked) {
    if (lk_path_equal(&held->path, &asked->path) && held->mode == LK_SHARED) {
        near->units += held->units != 0 ? held->units : 1;
    }
    near->is_in_the_way =
        near->is_in_the_way
        || (lk_path_related(&held->path, &asked->path)
            && lk_modes_conflict(held->mode, asked->mode))
        || (asked->limit != 0 && near->units > 0 && near->units + asked->units > asked->limit);
}

static struct nearness nearness_of(const lk_listing *listing, const struct outer *outer,
                                   const struct lk_part *asked) {
    struct nearness found = {.units = 0};

    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        struct lk_part held = {.mode = entry->shared ? LK_SHARED : LK_EXCLUSIVE,
                               .limit = entry->limit,
                               .units = entry->units};

        bool is_own = has_token(outer, entry->token) && strcmp(entry->owner, outer->owner) == 0;

        if (entry->held && (is_own || others_have_token(outer, entry->token))
            && lk_path_parse(lk_slice_of(entry->path), &held.path, NULL) == LK_OK) {
            add_outer(&found, &held, asked);
            found.is_same_path =
                found.is_same_path || (is_own && lk_path_equal(&held.path, &asked->path));
        }
    }
    return found;
}

/* LK_OK: the part is not in the way of itself. */
static lk_outcome check_nested_part(lk_store *store, const struct outer *outer,
                                    const lk_request *request, size_t index, lk_error *error) {
    const struct lk_part_defaults defaults = defaults_of(request);
    bool is_own = request->owner != NULL && strcmp(request->owner, outer->owner) == 0;
    struct lk_part part;
    char path[LK_PATH_BYTES_MAX + 1];
    lk_listing *listing;

    if (lk_part_parse(lk_slice_of(request->parts[index]), &defaults, &part, NULL) != LK_OK) {
        return LK_OK; /* the request itself reports what is wrong */
    }
    memcpy(path, part.path.bytes, part.path.size);
    path[part.path.size] = '\0';
    if (lk_show(store, path, &listing, NULL) != LK_OK) {
        return LK_OK;
    }
    struct nearness near = nearness_of(listing, outer, &part);
    lk_listing_free(listing);
    if (is_own ? near.is_same_path : near.is_in_the_way && request->style == LK_WAIT) {
        return lk_error_set(error, LK_DEADLOCK,
                            "%.*s is held by a lease that this runs under, which ends only after "
                            "this: --inherit runs under the innermost one",
                            LK_ERROR_TEXT_MAX / 2, path);
    }
    return LK_OK;
}

static bool covers_all(lk_store *store, const struct outer *outer, const lk_request *request) {
    const struct lk_part_defaults defaults = defaults_of(request);
    bool is_covered = true;

    for (size_t i = 0; i < request->part_count && is_covered; i++) {
        lk_error ignored;
        is_covered = check_part(store, outer, request->parts[i], &defaults, &ignored) == LK_GRANTED;
    }
    return is_covered;
}

lk_outcome lk_run_nested_check(const struct lk_run_options *options, lk_error *error) {
    const lk_request *request = &options->request;
    const struct lk_part_defaults defaults = defaults_of(request);
    struct outer outer;
    lk_store *store;
    lk_outcome outcome = LK_OK;

    if (!read_outer(&outer)
        || (!is_near(getenv("LK_PATH"), false, request, &defaults)
            && !is_near(outer.others, true, request, &defaults))) {
        return LK_OK;
    }
    outcome = lk_run_open(options->store_url, lk_run_wait_ms(request), &store, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    if (request->owner != NULL && strcmp(request->owner, outer.owner) == 0
        && covers_all(store, &outer, request)) {
        outcome = LK_GRANTED;
    }
    for (size_t i = 0; i < request->part_count && outcome == LK_OK; i++) {
        outcome = check_nested_part(store, &outer, request, i, error);
    }
    lk_close(store);
    return outcome;
}
