/* SPDX-License-Identifier: Apache-2.0 */
/* Observations of one scenario, in small tables that are searched linearly. */
#include "observed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DOUBT_MS = 40, /* a pause that ends this near to a deadline is a mistake in the scenario */
    KEY_BYTES_MAX = 4096,
    KEY_PATHS_MAX = 32,
};

#define DRAW_MAX (UINT64_C(1) << 53) /* R4 */

void observed_free(struct observed *observed) {
    arena_free(&observed->arena);
    memset(observed, 0, sizeof *observed);
}

/* ---- records --------------------------------------------------------------------------------- */

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The path of a part, without mode and the slashes that R1 drops. */
static const char *path_of(struct arena *arena, const char *part) {
    size_t size = strcspn(part, "?");
    if (size > 0 && part[0] == '/') {
        part++;
        size--;
    }
    if (size > 0 && part[size - 1] == '/') {
        size--;
    }
    return arena_copy(arena, part, size);
}

/* R3: an owner and a set of paths, in one text. */
static const char *key_make(struct arena *arena, const char *owner, const char *const *parts,
                            size_t part_count) {
    const char *paths[KEY_PATHS_MAX];
    char key[KEY_BYTES_MAX];
    size_t count = part_count < KEY_PATHS_MAX ? part_count : KEY_PATHS_MAX;
    for (size_t i = 0; i < count; i++) {
        paths[i] = path_of(arena, parts[i]);
    }
    qsort(paths, count, sizeof paths[0], compare_texts);
    size_t size = (size_t)snprintf(key, sizeof key, "%s", owner);
    for (size_t i = 0; i < count && size < sizeof key; i++) {
        size += (size_t)snprintf(key + size, sizeof key - size, " %s", paths[i]);
    }
    return arena_copy(arena, key, size < sizeof key ? size : sizeof key - 1);
}

struct observed_record *observed_find(struct observed *observed, const char *owner,
                                      const char *const *parts, size_t part_count) {
    const char *key = key_make(&observed->arena, owner, parts, part_count);
    for (size_t i = 0; i < observed->record_count; i++) {
        if (strcmp(observed->records[i].key, key) == 0) {
            return &observed->records[i];
        }
    }
    if (observed->record_count == OBSERVED_MAX) {
        fputs("conformance: too many requests in one scenario\n", stderr);
        abort();
    }
    struct observed_record *record = &observed->records[observed->record_count++];
    *record = (struct observed_record){.key = key, .deadline_ms = -1};
    return record;
}

static struct observed_record *record_of(struct observed *observed,
                                         const struct observation *observation) {
    return observed_find(observed, observation->owner, (const char *const *)observation->paths,
                         observation->path_count);
}

/* ---- draws ----------------------------------------------------------------------------------- */

static bool is_root_of(const char *root, const char *path) {
    size_t size = strcspn(path, "/");
    return strlen(root) == size && strncmp(root, path, size) == 0;
}

uint64_t observed_greatest(const struct observed *observed, char *const *paths, size_t path_count) {
    uint64_t greatest = 0;
    for (size_t i = 0; i < path_count; i++) {
        for (size_t j = 0; j < observed->draw_count; j++) {
            const struct observed_draw *draw = &observed->draws[j];
            if (is_root_of(draw->root, paths[i]) && draw->greatest > greatest) {
                greatest = draw->greatest;
            }
        }
    }
    return greatest;
}

static void draw_remember(struct observed *observed, const char *path, uint64_t drawn) {
    for (size_t i = 0; i < observed->draw_count; i++) {
        struct observed_draw *draw = &observed->draws[i];
        if (is_root_of(draw->root, path)) {
            draw->greatest = drawn > draw->greatest ? drawn : draw->greatest;
            return;
        }
    }
    if (observed->draw_count < OBSERVED_MAX) {
        observed->draws[observed->draw_count++] = (struct observed_draw){
            .root = arena_copy(&observed->arena, path, strcspn(path, "/")), .greatest = drawn};
    }
}

void observed_remember(struct observed *observed, const struct observation *observation) {
    if (observation->owner == NULL || observation->path_count == 0 || observation->ticket == 0) {
        return;
    }
    struct observed_record *record = record_of(observed, observation);
    record->ticket = observation->ticket;
    record->token = observation->token;
    uint64_t drawn =
        observation->token > observation->ticket ? observation->token : observation->ticket;
    for (size_t i = 0; i < observation->path_count; i++) {
        draw_remember(observed, observation->paths[i], drawn);
    }
}

/* ---- laws ------------------------------------------------------------------------------------ */

static bool granted_laws(const struct observation *observation, struct complaint *complaint) {
    if (observation->token == 0 || observation->ticket == 0) {
        return complain(complaint, "R4: granted without a ticket or a token");
    }
    if (observation->token < observation->ticket) {
        return complain(complaint, "R4: the token %" PRIu64 " is smaller than the ticket %" PRIu64,
                        observation->token, observation->ticket);
    }
    if (observation->position != 0 || observation->blocker_count != 0) {
        return complain(complaint, "R20: granted, and yet something is in the way");
    }
    if (observation->expires_in_ms < 0
        || (!observation->fixed
            && (observation->ttl_ms <= 0 || observation->expires_in_ms > observation->ttl_ms))) {
        return complain(complaint,
                        "R11: granted with ttl %" PRId64 " ms, and expires in %" PRId64 " ms",
                        observation->ttl_ms, observation->expires_in_ms);
    }
    return true;
}

static bool waiting_laws(const struct observation *observation, struct complaint *complaint) {
    if (observation->ticket == 0 || observation->token != 0) {
        return complain(complaint, "R4: waiting needs a ticket and has no token");
    }
    if (observation->blockers_asked
        && (observation->position == 0 || observation->blocker_count == 0)) {
        return complain(complaint, "R20: waiting, and nothing is said to be in the way");
    }
    return true;
}

bool observed_check_rules(struct observed *observed, const struct observation *observation,
                          struct complaint *complaint) {
    if (observation->ticket >= DRAW_MAX || observation->token >= DRAW_MAX) {
        return complain(complaint, "R4: a draw of 2^53 or more");
    }
    if (observation->outcome == LK_GRANTED && !granted_laws(observation, complaint)) {
        return false;
    }
    if (observation->outcome == LK_WAITING && !waiting_laws(observation, complaint)) {
        return false;
    }
    if (observation->outcome != LK_GRANTED && observation->outcome != LK_WAITING) {
        return true;
    }
    if (observation->owner == NULL || observation->path_count == 0) {
        return complain(complaint, "the answer does not name the owner and the paths");
    }
    uint64_t greatest = observed_greatest(observed, observation->paths, observation->path_count);
    if (observation->created && !observation->blocked && observation->ticket <= greatest) {
        return complain(complaint,
                        "R4: the ticket %" PRIu64 " is not above %" PRIu64 ", drawn before",
                        observation->ticket, greatest);
    }
    const struct observed_record *record = record_of(observed, observation);
    if (!observation->created && record->token != 0 && observation->token != 0
        && observation->token < record->token) {
        return complain(complaint, "R4: the token ran backwards");
    }
    return true;
}

/* ---- names ----------------------------------------------------------------------------------- */

const struct observed_name *observed_kept(const struct observed *observed, const char *name) {
    for (size_t i = observed->name_count; i > 0; i--) {
        if (strcmp(observed->names[i - 1].name, name) == 0) {
            return &observed->names[i - 1];
        }
    }
    return NULL;
}

void observed_keep(struct observed *observed, const char *name, const char *text, uint64_t token) {
    if (observed->name_count == OBSERVED_MAX) {
        fputs("conformance: too many names in one scenario\n", stderr);
        abort();
    }
    observed->names[observed->name_count++] = (struct observed_name){
        .name = name,
        .text = text != NULL ? arena_copy(&observed->arena, text, strlen(text)) : NULL,
        .token = token};
}

/* ---- deadlines ------------------------------------------------------------------------------- */

void observed_promise(struct observed_record *record, int64_t now_ms, int64_t ttl_ms,
                      int64_t earliest_us) {
    record->deadline_ms = now_ms + ttl_ms;
    record->earliest_us = earliest_us;
    record->ttl_ms = ttl_ms;
}

void observed_forget_promise(struct observed_record *record) {
    record->deadline_ms = -1;
    record->fixed = false;
}

void observed_let_pass(struct observed *observed, int64_t now_us) {
    for (size_t i = 0; i < observed->record_count; i++) {
        struct observed_record *record = &observed->records[i];
        if (record->deadline_ms >= 0 && now_us >= record->earliest_us) {
            observed_forget_promise(record);
        }
    }
}

int64_t observed_first_promise(const struct observed *observed, int64_t now_ms) {
    int64_t first_us = INT64_MAX;
    for (size_t i = 0; i < observed->record_count; i++) {
        const struct observed_record *record = &observed->records[i];
        if (record->deadline_ms > now_ms && record->earliest_us < first_us) {
            first_us = record->earliest_us;
        }
    }
    return first_us;
}

bool observed_overrun(const struct observed *observed, int64_t now_ms, int64_t now_us) {
    return now_us >= observed_first_promise(observed, now_ms);
}

bool observed_in_doubt(const struct observed *observed, int64_t now_ms) {
    for (size_t i = 0; i < observed->record_count; i++) {
        const struct observed_record *record = &observed->records[i];
        if (record->deadline_ms >= 0 && llabs(record->deadline_ms - now_ms) < DOUBT_MS) {
            return true;
        }
    }
    return false;
}
