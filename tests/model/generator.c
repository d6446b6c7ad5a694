/* SPDX-License-Identifier: Apache-2.0 */
/* The manners of a history, and its lines. */
#include "generator.h"

#include <stdarg.h>

/* ---- chance ---- */

/* splitmix64: every state is a good one. */
static uint64_t next_random(struct generator *generator) {
    uint64_t mixed = (generator->random += UINT64_C(0x9e3779b97f4a7c15));

    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

uint64_t generator_below(struct generator *generator, uint64_t below) {
    return next_random(generator) % below;
}

bool chance(struct generator *generator, unsigned percent) {
    return generator_below(generator, 100) < percent;
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

static void choose_quotas(struct generator *generator) {
    if (chance(generator, 20)) {
        generator->quotas = (struct lk_quotas){
            .live_max = chance(generator, 50) ? 3 + generator_below(generator, 10) : 0,
            .live_per_owner_max = chance(generator, 50) ? 1 + generator_below(generator, 4) : 0,
            .live_per_root_max = chance(generator, 50) ? 2 + generator_below(generator, 8) : 0,
            .waiters_per_path_max = chance(generator, 50) ? 1 + generator_below(generator, 3) : 0,
        };
    }
}

void generator_open(struct generator *generator, uint64_t number) {
    const struct universe *universe;

    *generator = (struct generator){.random = number * UINT64_C(0x2545f4914f6cdd1d)};
    universe = &universes[generator_below(generator, sizeof universes / sizeof *universes)];
    generator->path_count = universe->count;
    memcpy(generator->paths, universe->paths, universe->count * sizeof *universe->paths);
    generator->owner_count = 2 + generator_below(generator, chance(generator, 20) ? 14 : 5);
    generator->has_odd_clock = chance(generator, 20);
    generator->is_hasty = chance(generator, 50);
    generator->has_limits = chance(generator, 75);
    generator->has_modes = !generator->has_limits || chance(generator, 80);
    generator->ended_max = chance(generator, 30) ? 1 + (uint32_t)generator_below(generator, 3) : 0;
    choose_quotas(generator);
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

static void put_clocks(struct generator *generator, struct line *line) {
    static const int64_t steps[] = {1000, 1000, 1000, 2000, 50000, 50000, 100000, 1000000};
    int64_t now_us = steps[generator_below(generator, sizeof steps / sizeof *steps)];
    int64_t wall_us = now_us;

    if (generator->has_odd_clock) {
        now_us = chance(generator, 40) ? (int64_t)generator_below(generator, 3) : now_us;
        wall_us = chance(generator, 40)   ? (int64_t)generator_below(generator, 3)
                  : chance(generator, 30) ? -(int64_t)generator_below(generator, 10000000)
                                          : (int64_t)generator_below(generator, 5000000);
    }
    put(line, "+%" PRId64 "/%" PRId64 " ", now_us, wall_us);
}

static void put_mode(struct generator *generator, struct line *line) {
    uint64_t kind = generator_below(generator, 100);

    if (generator->has_limits && (kind < 45 || !generator->has_modes)) {
        uint64_t limit = 1 + generator_below(generator, chance(generator, 20) ? 9 : 3);
        put(line, "?limit=%" PRIu64, limit);
        if (chance(generator, 40)) {
            put(line, "&units=%" PRIu64, 1 + generator_below(generator, limit));
        }
    } else if (kind < 70) {
        put(line, "?shared");
    }
}

static void put_some_paths(struct generator *generator, struct line *line, bool with_modes) {
    size_t count =
        chance(generator, 65) ? 1 : 1 + generator_below(generator, chance(generator, 80) ? 3 : 6);
    size_t at = generator_below(generator, generator->path_count);

    for (size_t i = 0; i < count && i < generator->path_count; i++) {
        put(line, " %s", generator->paths[at]);
        if (with_modes) {
            put_mode(generator, line);
        }
        at = (at + 1 + (chance(generator, 2) ? generator->path_count - 1 : 0))
             % generator->path_count;
    }
}

static void put_paths_of(struct generator *generator, struct line *line,
                         const struct lk_reference_request *request, bool with_modes) {
    size_t first = chance(generator, 80) ? 0 : generator_below(generator, request->part_count);

    for (size_t i = 0; i < request->part_count; i++) {
        const struct lk_part *part = &request->parts[(first + i) % request->part_count];
        put(line, " %.*s", (int)part->path.size, part->path.bytes);
        if (!with_modes) {
            continue;
        }
        if (chance(generator, 35)) {
            put_mode(generator, line);
        } else if (part->limit != 0) {
            put(line, "?limit=%" PRIu32 "&units=%" PRIu32, part->limit, part->units);
        } else if (part->mode == LK_SHARED) {
            put(line, "?shared");
        }
    }
}

const struct lk_reference_request *
some_live(struct generator *generator, const struct lk_reference *reference, unsigned percent) {
    size_t count;
    const struct lk_reference_request *live = lk_reference_live(reference, &count);

    return count > 0 && chance(generator, percent) ? &live[generator_below(generator, count)]
                                                   : NULL;
}

void put_owner(struct generator *generator, struct line *line) {
    static const char *const long_name =
        "an-owner-whose-name-is-too-long-to-be-kept-beside-the-number-of-its-requests";
    uint64_t owner = generator_below(generator, generator->owner_count);

    if (owner == 1) {
        put(line, "%s", long_name);
    } else {
        put(line, "%c", (int)('A' + owner));
    }
}

/* ---- events ---- */

static void put_life(struct generator *generator, struct line *line) {
    static const unsigned ttls_ms[] = {50, 50, 100, 100, 200, 500, 1000, 5000, 49, 60000};

    if (chance(generator, generator->is_hasty ? 60 : 4)) {
        put(line, " ttl=%u", ttls_ms[generator_below(generator, sizeof ttls_ms / sizeof *ttls_ms)]);
    } else if (chance(generator, 8)) {
        put(line, " until=%u",
            ttls_ms[generator_below(generator, sizeof ttls_ms / sizeof *ttls_ms)]);
    }
}

static void put_ask(struct generator *generator, struct line *line,
                    const struct lk_reference *reference) {
    static const char *const styles[] = {"try", "queue", "queue", "wait"};
    const char *style = styles[generator_below(generator, sizeof styles / sizeof *styles)];
    const struct lk_reference_request *live = some_live(generator, reference, 45);

    if (live != NULL) {
        put(line, "%.*s %s", (int)live->owner.size, live->owner.bytes, style);
        put_paths_of(generator, line, live, true);
    } else {
        put_owner(generator, line);
        put(line, " %s", style);
        put_some_paths(generator, line, true);
    }
    put_life(generator, line);
    if (chance(generator, 8)) {
        put(line, " note=%.*s", (int)generator_below(generator, 30),
            "a-note-of-up-to-thirty-bytes-..");
    }
    put(line, " max=%" PRIu64, chance(generator, 20) ? generator_below(generator, 3) : 16);
}

static void remember(struct generator *generator, const struct lk_reference_request *request) {
    struct generator_target *target =
        &generator->targets[generator->target_count++ % GENERATOR_ENDED_MAX];
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

static void put_target(struct generator *generator, struct line *line, const char *verb,
                       const struct lk_reference *reference) {
    const struct lk_reference_request *live = some_live(generator, reference, 80);
    size_t known = generator->target_count < GENERATOR_ENDED_MAX ? generator->target_count
                                                                 : GENERATOR_ENDED_MAX;

    if (live != NULL) {
        put(line, "%.*s %s", (int)live->owner.size, live->owner.bytes, verb);
        put_paths_of(generator, line, live, false);
        if (chance(generator, 50) && !generator->has_odd_clock) {
            put(line, " token=%" PRIu64, live->token + (chance(generator, 10) ? 1 : 0));
            remember(generator, live);
        }
    } else if (known > 0 && chance(generator, 70)) {
        const struct generator_target *target =
            &generator->targets[generator_below(generator, known)];
        put(line, "%s %s%s token=%" PRIu64, target->owner, verb, target->paths, target->token);
    } else {
        put_owner(generator, line);
        put(line, " %s", verb);
        put_some_paths(generator, line, false);
    }
}

static void put_break(struct generator *generator, struct line *line) {
    put(line, "break %s", generator->paths[generator_below(generator, generator->path_count)]);
    if (chance(generator, 40)) {
        put(line, " owner=");
        put_owner(generator, line);
    }
    put(line, "%s", chance(generator, 40) ? " now" : "");
}

/* To the next deadline, just before it, or far beyond. */
static void put_pass(struct generator *generator, struct line *line,
                     const struct lk_reference *reference, struct lk_times times) {
    int64_t next_us = lk_reference_next_deadline(reference);

    if (next_us == LK_NEVER || chance(generator, 10)) {
        put(line, "pass %" PRIu64,
            generator_below(generator, chance(generator, 20) ? 400000 : 2000));
        return;
    }
    next_us -= times.now_us + (chance(generator, 30) ? 1 : 0);
    line->size = 0; /* without the clocks before it */
    put(line, "+%" PRId64 "/%" PRId64 " pass", next_us, next_us);
}

void generator_line(struct generator *generator, const struct lk_reference *reference,
                    struct lk_times times, char ret_line[HISTORY_LINE_MAX]) {
    struct line line = {.bytes = ret_line};
    uint64_t kind = generator_below(generator, 100);

    put_clocks(generator, &line);
    if (generator->has_work && put_work(generator, &line, reference, times)) {
        return;
    }
    if (kind < 58) {
        put_ask(generator, &line, reference);
        if (generator->has_work && chance(generator, 40)) {
            put(&line, " get=yes");
        }
    } else if (kind < 66) {
        put_target(generator, &line, "renew", reference);
        if (chance(generator, 30)) {
            put(&line, " ttl=100");
        }
    } else if (kind < 85) {
        put_target(generator, &line, "release", reference);
        for (unsigned n = 0; generator->has_work && chance(generator, n == 0 ? 40 : 20); n++) {
            if (chance(generator, 80)) {
                put(&line, " put=%" PRIu64, generator_below(generator, 1000));
            } else {
                put(&line, " put-nothing=");
            }
        }
    } else if (kind < 88) {
        put_target(generator, &line, "leave", reference);
        put(&line, "%s", generator->has_work && chance(generator, 60) ? " claim=yes" : "");
        put(&line, "%s", chance(generator, 50) ? " wait=yes" : "");
    } else if (kind < 92) {
        put_break(generator, &line);
    } else {
        put_pass(generator, &line, reference, times);
    }
}
