/* SPDX-License-Identifier: Apache-2.0 */
/* The runner's memory of one scenario; small tables, searched from the start. */
#include "witness.h"

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

void witness_free(struct witness *witness) {
    arena_free(&witness->arena);
    memset(witness, 0, sizeof *witness);
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

struct witness_record *witness_find(struct witness *witness, const char *owner,
                                    const char *const *parts, size_t part_count) {
    const char *key = key_make(&witness->arena, owner, parts, part_count);
    for (size_t i = 0; i < witness->record_count; i++) {
        if (strcmp(witness->records[i].key, key) == 0) {
            return &witness->records[i];
        }
    }
    if (witness->record_count == WITNESS_RECORDS_MAX) {
        fputs("conformance: too many requests in one scenario\n", stderr);
        abort();
    }
    struct witness_record *record = &witness->records[witness->record_count++];
    *record = (struct witness_record){.key = key, .deadline_ms = -1};
    return record;
}

static struct witness_record *record_of(struct witness *witness, const struct sight *sight) {
    return witness_find(witness, sight->owner, (const char *const *)sight->paths,
                        sight->path_count);
}

/* ---- draws ----------------------------------------------------------------------------------- */

static bool is_root_of(const char *root, const char *path) {
    size_t size = strcspn(path, "/");
    return strlen(root) == size && strncmp(root, path, size) == 0;
}

uint64_t witness_greatest(const struct witness *witness, char *const *paths, size_t path_count) {
    uint64_t greatest = 0;
    for (size_t i = 0; i < path_count; i++) {
        for (size_t j = 0; j < witness->draw_count; j++) {
            const struct witness_draw *draw = &witness->draws[j];
            if (is_root_of(draw->root, paths[i]) && draw->greatest > greatest) {
                greatest = draw->greatest;
            }
        }
    }
    return greatest;
}

static void draw_remember(struct witness *witness, const char *path, uint64_t drawn) {
    for (size_t i = 0; i < witness->draw_count; i++) {
        struct witness_draw *draw = &witness->draws[i];
        if (is_root_of(draw->root, path)) {
            draw->greatest = drawn > draw->greatest ? drawn : draw->greatest;
            return;
        }
    }
    if (witness->draw_count < WITNESS_RECORDS_MAX) {
        witness->draws[witness->draw_count++] = (struct witness_draw){
            .root = arena_copy(&witness->arena, path, strcspn(path, "/")), .greatest = drawn};
    }
}

void witness_remember(struct witness *witness, const struct sight *sight) {
    if (sight->owner == NULL || sight->path_count == 0 || sight->ticket == 0) {
        return;
    }
    struct witness_record *record = record_of(witness, sight);
    record->ticket = sight->ticket;
    record->token = sight->token;
    uint64_t drawn = sight->token > sight->ticket ? sight->token : sight->ticket;
    for (size_t i = 0; i < sight->path_count; i++) {
        draw_remember(witness, sight->paths[i], drawn);
    }
}

/* ---- laws ------------------------------------------------------------------------------------ */

static bool granted_laws(const struct sight *sight, struct complaint *complaint) {
    if (sight->token == 0 || sight->ticket == 0) {
        return complain(complaint, "R4: granted without a ticket or a token");
    }
    if (sight->token < sight->ticket) {
        return complain(complaint, "R4: the token %" PRIu64 " is smaller than the ticket %" PRIu64,
                        sight->token, sight->ticket);
    }
    if (sight->position != 0 || sight->blocker_count != 0) {
        return complain(complaint, "R20: granted, and yet something is in the way");
    }
    if (sight->expires_in_ms < 0
        || (!sight->fixed && (sight->ttl_ms <= 0 || sight->expires_in_ms > sight->ttl_ms))) {
        return complain(complaint,
                        "R11: granted with ttl %" PRId64 " ms, and expires in %" PRId64 " ms",
                        sight->ttl_ms, sight->expires_in_ms);
    }
    return true;
}

static bool waiting_laws(const struct sight *sight, struct complaint *complaint) {
    if (sight->ticket == 0 || sight->token != 0) {
        return complain(complaint, "R4: waiting needs a ticket and has no token");
    }
    if (sight->blockers_asked && (sight->position == 0 || sight->blocker_count == 0)) {
        return complain(complaint, "R20: waiting, and nothing is said to be in the way");
    }
    return true;
}

bool witness_laws(struct witness *witness, const struct sight *sight, struct complaint *complaint) {
    if (sight->ticket >= DRAW_MAX || sight->token >= DRAW_MAX) {
        return complain(complaint, "R4: a draw of 2^53 or more");
    }
    if (sight->outcome == LK_GRANTED && !granted_laws(sight, complaint)) {
        return false;
    }
    if (sight->outcome == LK_WAITING && !waiting_laws(sight, complaint)) {
        return false;
    }
    if (sight->outcome != LK_GRANTED && sight->outcome != LK_WAITING) {
        return true;
    }
    if (sight->owner == NULL || sight->path_count == 0) {
        return complain(complaint, "the answer does not name the owner and the paths");
    }
    uint64_t greatest = witness_greatest(witness, sight->paths, sight->path_count);
    if (sight->created && !sight->blocked && sight->ticket <= greatest) {
        return complain(complaint,
                        "R4: the ticket %" PRIu64 " is not above %" PRIu64 ", drawn before",
                        sight->ticket, greatest);
    }
    const struct witness_record *record = record_of(witness, sight);
    if (!sight->created && record->token != 0 && sight->token != 0
        && sight->token < record->token) {
        return complain(complaint, "R4: the token ran backwards");
    }
    return true;
}

/* ---- names ----------------------------------------------------------------------------------- */

const struct witness_name *witness_kept(const struct witness *witness, const char *name) {
    for (size_t i = witness->name_count; i > 0; i--) {
        if (strcmp(witness->names[i - 1].name, name) == 0) {
            return &witness->names[i - 1];
        }
    }
    return NULL;
}

void witness_keep(struct witness *witness, const char *name, const char *text, uint64_t token) {
    if (witness->name_count == WITNESS_RECORDS_MAX) {
        fputs("conformance: too many names in one scenario\n", stderr);
        abort();
    }
    witness->names[witness->name_count++] = (struct witness_name){
        .name = name,
        .text = text != NULL ? arena_copy(&witness->arena, text, strlen(text)) : NULL,
        .token = token};
}

/* ---- deadlines ------------------------------------------------------------------------------- */

void witness_promise(struct witness_record *record, int64_t now_ms, int64_t ttl_ms,
                     int64_t earliest_us) {
    record->deadline_ms = now_ms + ttl_ms;
    record->earliest_us = earliest_us;
    record->ttl_ms = ttl_ms;
}

void witness_forget_promise(struct witness_record *record) {
    record->deadline_ms = -1;
    record->fixed = false;
}

void witness_let_pass(struct witness *witness, int64_t now_us) {
    for (size_t i = 0; i < witness->record_count; i++) {
        struct witness_record *record = &witness->records[i];
        if (record->deadline_ms >= 0 && now_us >= record->earliest_us) {
            witness_forget_promise(record);
        }
    }
}

int64_t witness_first_promise(const struct witness *witness, int64_t now_ms) {
    int64_t first_us = INT64_MAX;
    for (size_t i = 0; i < witness->record_count; i++) {
        const struct witness_record *record = &witness->records[i];
        if (record->deadline_ms > now_ms && record->earliest_us < first_us) {
            first_us = record->earliest_us;
        }
    }
    return first_us;
}

bool witness_overrun(const struct witness *witness, int64_t now_ms, int64_t now_us) {
    return now_us >= witness_first_promise(witness, now_ms);
}

bool witness_in_doubt(const struct witness *witness, int64_t now_ms) {
    for (size_t i = 0; i < witness->record_count; i++) {
        const struct witness_record *record = &witness->records[i];
        if (record->deadline_ms >= 0 && llabs(record->deadline_ms - now_ms) < DOUBT_MS) {
            return true;
        }
    }
    return false;
}
