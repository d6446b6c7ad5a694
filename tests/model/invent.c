/* SPDX-License-Identifier: Apache-2.0 */
/* The manners of a history, and its lines. */
#include <stdarg.h>

#include "inventing.h"

/* ---- chance ---- */

/* splitmix64: every state is a good one. */
static uint64_t next_random(struct invent *invent) {
    uint64_t mixed = (invent->random += UINT64_C(0x9e3779b97f4a7c15));

    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

uint64_t invent_below(struct invent *invent, uint64_t below) {
    return next_random(invent) % below;
}

bool chance(struct invent *invent, unsigned percent) {
    return invent_below(invent, 100) < percent;
}

/* ---- the whole ---- */

static const char *const one_tree[] = {
    "r", "r/a", "r/a/b", "r/a/b/c", "r/b", "r/b/c", "r/longer-than-twelve-bytes", "r/ab"};
static const char *const forest[] = {"r", "r/a", "r/a/b", "s", "s/a", "s/b", "t", "u/v/w"};
static const char *const deep[] = {
    "d",
    "d/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16",
    "d/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/31/32",
    "d/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/31/33",
    "d/2/3/4/5/6/7/8",
    "d/2/x",
};
static const char *const pools[] = {"p", "q", "p/x"};
static const char *const pool_in_tree[] = {"r", "r/p", "r/q", "r/p/x"};
static const char *const wide[] = {"w",   "w/0", "w/1", "w/2", "w/3", "w/4",
                                   "w/5", "w/6", "w/7", "w/8", "w/9", "w/9/1"};

static const struct universe {
    const char *const *paths;
    size_t count;
} universes[] = {
    {one_tree, sizeof one_tree / sizeof *one_tree},
    {forest, sizeof forest / sizeof *forest},
    {deep, sizeof deep / sizeof *deep},
    {pools, sizeof pools / sizeof *pools},
    {wide, sizeof wide / sizeof *wide},
    {pool_in_tree, sizeof pool_in_tree / sizeof *pool_in_tree},
};

static void choose_quotas(struct invent *invent) {
    if (chance(invent, 20)) {
        invent->quotas = (struct lk_quotas){
            .live_max = chance(invent, 50) ? 3 + invent_below(invent, 10) : 0,
            .live_per_owner_max = chance(invent, 50) ? 1 + invent_below(invent, 4) : 0,
            .live_per_root_max = chance(invent, 50) ? 2 + invent_below(invent, 8) : 0,
            .waiters_per_path_max = chance(invent, 50) ? 1 + invent_below(invent, 3) : 0,
        };
    }
}

void invent_open(struct invent *invent, uint64_t number) {
    const struct universe *universe;

    *invent = (struct invent){.random = number * UINT64_C(0x2545f4914f6cdd1d)};
    universe = &universes[invent_below(invent, sizeof universes / sizeof *universes)];
    invent->path_count = universe->count;
    memcpy(invent->paths, universe->paths, universe->count * sizeof *universe->paths);
    invent->owner_count = 2 + invent_below(invent, chance(invent, 20) ? 14 : 5);
    invent->has_odd_clock = chance(invent, 20);
    invent->is_hasty = chance(invent, 50);
    invent->has_limits = chance(invent, 75);
    invent->has_modes = !invent->has_limits || chance(invent, 80);
    invent->ended_max = chance(invent, 30) ? 1 + (uint32_t)invent_below(invent, 3) : 0;
    choose_quotas(invent);
}

/* ---- lines ---- */

void put(struct line *line, const char *format, ...) {
    va_list arguments;
    int written;

    va_start(arguments, format);
    written = vsnprintf(line->bytes + line->size, HISTORY_LINE_MAX - line->size, format, arguments);
    va_end(arguments);
    line->size += written > 0 ? (size_t)written : 0;
    if (line->size >= HISTORY_LINE_MAX) {
        line->size = HISTORY_LINE_MAX - 1;
    }
}

static void put_clocks(struct invent *invent, struct line *line) {
    static const int64_t steps[] = {1000, 1000, 1000, 2000, 50000, 50000, 100000, 1000000};
    int64_t now_us = steps[invent_below(invent, sizeof steps / sizeof *steps)];
    int64_t wall_us = now_us;

    if (invent->has_odd_clock) {
        now_us = chance(invent, 40) ? (int64_t)invent_below(invent, 3) : now_us;
        wall_us = chance(invent, 40)   ? (int64_t)invent_below(invent, 3)
                  : chance(invent, 30) ? -(int64_t)invent_below(invent, 10000000)
                                       : (int64_t)invent_below(invent, 5000000);
    }
    put(line, "+%" PRId64 "/%" PRId64 " ", now_us, wall_us);
}

static void put_mode(struct invent *invent, struct line *line) {
    uint64_t kind = invent_below(invent, 100);

    if (invent->has_limits && (kind < 45 || !invent->has_modes)) {
        uint64_t limit = 1 + invent_below(invent, chance(invent, 20) ? 9 : 3);
        put(line, "?limit=%" PRIu64, limit);
        if (chance(invent, 40)) {
            put(line, "&units=%" PRIu64, 1 + invent_below(invent, limit));
        }
    } else if (kind < 70) {
        put(line, "?shared");
    }
}

static void put_some_paths(struct invent *invent, struct line *line, bool with_modes) {
    size_t count = chance(invent, 65) ? 1 : 1 + invent_below(invent, chance(invent, 80) ? 3 : 6);
    size_t at = invent_below(invent, invent->path_count);

    for (size_t i = 0; i < count && i < invent->path_count; i++) {
        put(line, " %s", invent->paths[at]);
        if (with_modes) {
            put_mode(invent, line);
        }
        at = (at + 1 + (chance(invent, 2) ? invent->path_count - 1 : 0)) % invent->path_count;
    }
}

static void put_paths_of(struct invent *invent, struct line *line,
                         const struct lk_reference_request *request, bool with_modes) {
    size_t first = chance(invent, 80) ? 0 : invent_below(invent, request->part_count);

    for (size_t i = 0; i < request->part_count; i++) {
        const struct lk_part *part = &request->parts[(first + i) % request->part_count];
        put(line, " %.*s", (int)part->path.size, part->path.bytes);
        if (!with_modes) {
            continue;
        }
        if (chance(invent, 35)) {
            put_mode(invent, line);
        } else if (part->limit != 0) {
            put(line, "?limit=%" PRIu32 "&units=%" PRIu32, part->limit, part->units);
        } else if (part->mode == LK_SHARED) {
            put(line, "?shared");
        }
    }
}

const struct lk_reference_request *
some_live(struct invent *invent, const struct lk_reference *reference, unsigned percent) {
    size_t count;
    const struct lk_reference_request *live = lk_reference_live(reference, &count);

    return count > 0 && chance(invent, percent) ? &live[invent_below(invent, count)] : NULL;
}

void put_owner(struct invent *invent, struct line *line) {
    static const char *const long_name =
        "an-owner-whose-name-is-too-long-to-be-kept-beside-the-number-of-its-requests";
    uint64_t owner = invent_below(invent, invent->owner_count);

    if (owner == 1) {
        put(line, "%s", long_name);
    } else {
        put(line, "%c", (int)('A' + owner));
    }
}

/* ---- events ---- */

static void put_life(struct invent *invent, struct line *line) {
    static const unsigned ttls_ms[] = {50, 50, 100, 100, 200, 500, 1000, 5000, 49, 60000};

    if (chance(invent, invent->is_hasty ? 60 : 4)) {
        put(line, " ttl=%u", ttls_ms[invent_below(invent, sizeof ttls_ms / sizeof *ttls_ms)]);
    } else if (chance(invent, 8)) {
        put(line, " until=%u", ttls_ms[invent_below(invent, sizeof ttls_ms / sizeof *ttls_ms)]);
    }
}

static void put_ask(struct invent *invent, struct line *line,
                    const struct lk_reference *reference) {
    static const char *const styles[] = {"try", "queue", "queue", "wait"};
    const char *style = styles[invent_below(invent, sizeof styles / sizeof *styles)];
    const struct lk_reference_request *live = some_live(invent, reference, 45);

    if (live != NULL) {
        put(line, "%.*s %s", (int)live->owner.size, live->owner.bytes, style);
        put_paths_of(invent, line, live, true);
    } else {
        put_owner(invent, line);
        put(line, " %s", style);
        put_some_paths(invent, line, true);
    }
    put_life(invent, line);
    if (chance(invent, 8)) {
        put(line, " note=%.*s", (int)invent_below(invent, 30), "a-note-of-up-to-thirty-bytes-..");
    }
    put(line, " max=%" PRIu64, chance(invent, 20) ? invent_below(invent, 3) : 16);
}

static void remember(struct invent *invent, const struct lk_reference_request *request) {
    struct invent_target *target = &invent->targets[invent->target_count++ % INVENT_ENDED_MAX];
    size_t size = 0;

    target->token = request->token;
    snprintf(target->owner, sizeof target->owner, "%.*s", (int)request->owner.size,
             request->owner.bytes);
    target->paths[0] = '\0';
    for (size_t i = 0; i < request->part_count && size < sizeof target->paths; i++) {
        const struct lk_path *path = &request->parts[i].path;
        size += (size_t)snprintf(target->paths + size, sizeof target->paths - size, " %.*s",
                                 (int)path->size, path->bytes);
    }
}

static void put_target(struct invent *invent, struct line *line, const char *verb,
                       const struct lk_reference *reference) {
    const struct lk_reference_request *live = some_live(invent, reference, 80);
    size_t known =
        invent->target_count < INVENT_ENDED_MAX ? invent->target_count : INVENT_ENDED_MAX;

    if (live != NULL) {
        put(line, "%.*s %s", (int)live->owner.size, live->owner.bytes, verb);
        put_paths_of(invent, line, live, false);
        if (chance(invent, 50) && !invent->has_odd_clock) {
            put(line, " token=%" PRIu64, live->token + (chance(invent, 10) ? 1 : 0));
            remember(invent, live);
        }
    } else if (known > 0 && chance(invent, 70)) {
        const struct invent_target *target = &invent->targets[invent_below(invent, known)];
        put(line, "%s %s%s token=%" PRIu64, target->owner, verb, target->paths, target->token);
    } else {
        put_owner(invent, line);
        put(line, " %s", verb);
        put_some_paths(invent, line, false);
    }
}

static void put_break(struct invent *invent, struct line *line) {
    put(line, "break %s", invent->paths[invent_below(invent, invent->path_count)]);
    if (chance(invent, 40)) {
        put(line, " owner=");
        put_owner(invent, line);
    }
    put(line, "%s", chance(invent, 40) ? " now" : "");
}

/* To the next deadline, just before it, or far beyond. */
static void put_pass(struct invent *invent, struct line *line, const struct lk_reference *reference,
                     struct lk_times times) {
    int64_t next_us = lk_reference_next_deadline(reference);

    if (next_us == LK_NEVER || chance(invent, 10)) {
        put(line, "pass %" PRIu64, invent_below(invent, chance(invent, 20) ? 400000 : 2000));
        return;
    }
    next_us -= times.now_us + (chance(invent, 30) ? 1 : 0);
    line->size = 0; /* without the clocks that stand there */
    put(line, "+%" PRId64 "/%" PRId64 " pass", next_us, next_us);
}

void invent_line(struct invent *invent, const struct lk_reference *reference, struct lk_times times,
                 char ret_line[HISTORY_LINE_MAX]) {
    struct line line = {.bytes = ret_line};
    uint64_t kind = invent_below(invent, 100);

    put_clocks(invent, &line);
    if (invent->has_work && put_work(invent, &line, reference, times)) {
        return;
    }
    if (kind < 58) {
        put_ask(invent, &line, reference);
        if (invent->has_work && chance(invent, 40)) {
            put(&line, " get=yes");
        }
    } else if (kind < 66) {
        put_target(invent, &line, "renew", reference);
        if (chance(invent, 30)) {
            put(&line, " ttl=100");
        }
    } else if (kind < 85) {
        put_target(invent, &line, "release", reference);
        if (invent->has_work && chance(invent, 40)) {
            put(&line, " put=%" PRIu64, invent_below(invent, 1000));
        }
    } else if (kind < 88) {
        put_target(invent, &line, "leave", reference);
        put(&line, "%s", invent->has_work && chance(invent, 60) ? " claim=yes" : "");
        put(&line, "%s", chance(invent, 50) ? " wait=yes" : "");
    } else if (kind < 92) {
        put_break(invent, &line);
    } else {
        put_pass(invent, &line, reference, times);
    }
}
