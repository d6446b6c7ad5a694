/* SPDX-License-Identifier: Apache-2.0 */
/* Lines about values and items. */
#include "generator.h"

static const char *const places[] = {"q", "q/1", "q/2", "q/3", "q/an-id-of-more-than-twelve-bytes",
                                     "p", "p/x", "s/t", "s",   "s/t/1"};
static const char *const queues[] = {"q", "q", "q", "s/t", "u"};
static const char *const ids[] = {"1",  "2", "3", "4", "5", "an-id-of-more-than-twelve-bytes",
                                  "a/b"};
static const char *const needs[] = {
    "p?limit=1", "p?limit=2", "p", "p?shared",          "p/x",      "o",         "q/2", "s/t",
    "p?strict",  "p?strict",  "o", "o?limit=3&units=2", "o?strict", "q/2?strict"};
static const char *const priorities[] = {"-32768", "-1", "0",     "1",     "1",
                                         "2",      "3",  "32767", "32768", "-32769"};
static const char *const delays[] = {"0", "1", "50", "50", "100", "1000"};

#define SOME(generator, list) (list)[generator_below(generator, sizeof(list) / sizeof *(list))]

void generator_open_work(struct generator *generator, uint64_t number) {
    generator_open(generator, number);
    generator->has_work = true;
    generator->path_count = sizeof places / sizeof *places;
    memcpy(generator->paths, places, sizeof places);
}

static void put_keep(struct generator *generator, struct line *line) {
    if (chance(generator, 25)) {
        put(line, " keep=%s", SOME(generator, delays));
    }
}

static void put_push(struct generator *generator, struct line *line) {
    static const char *const all_needs =
        " needs=n/1,n/2,n/3,n/4,n/5,n/6,n/7,n/8,n/9,n/10,n/11,n/12,n/13,n/14,n/15";

    put(line, "push %s %s", SOME(generator, queues), SOME(generator, ids));
    if (chance(generator, 60)) {
        put(line, " value=%" PRIu64, generator_below(generator, 1000));
    }
    if (chance(generator, 25)) {
        put(line, " delay=%s", SOME(generator, delays));
    }
    if (chance(generator, 30)) {
        put(line, " priority=%s", SOME(generator, priorities));
    }
    if (chance(generator, 40)) {
        put(line, chance(generator, 70) ? " again" : " replaces");
    }
    put_keep(generator, line);
    if (chance(generator, 2)) {
        put(line, "%s%s", all_needs, chance(generator, 30) ? ",n/16" : "");
    } else if (chance(generator, 30)) {
        put(line, " needs=%s", SOME(generator, needs));
        if (chance(generator, 30)) {
            put(line, ",%s", SOME(generator, needs)); /* the same again: no set of parts (R2) */
        }
    }
}

/*
 * The claim that the step before has made; NULL: it made none. No draw is greater than its token:
 * what a root of the model that is forgotten has drawn is not known exactly.
 */
static const struct lk_reference_request *claim_just_made(const struct generator *generator,
                                                          const struct lk_reference *reference,
                                                          struct lk_times times) {
    size_t count;
    const struct lk_reference_request *live = lk_reference_live(reference, &count);

    for (size_t i = 0; i < count && !generator->has_odd_clock; i++) {
        if (live[i].is_claim && live[i].token == (uint64_t)times.wall_us) {
            return &live[i];
        }
    }
    return NULL;
}

/* Another claim of the same decision. */
static void put_further_claim(struct generator *generator, struct line *line,
                              const struct lk_reference_request *first) {
    const struct lk_path *item = &first->parts[0].path;
    uint16_t size = item->ends[item->depth - 2];

    put(line, "%.*s claim %.*s share=%" PRIu64, (int)first->owner.size, first->owner.bytes,
        (int)size, item->bytes, chance(generator, 95) ? first->token : 1);
}

static void put_claim(struct generator *generator, struct line *line,
                      const struct lk_reference *reference, struct lk_times times) {
    static const char *const ttls[] = {"50", "50", "100", "200", "1000", "49"};
    const struct lk_reference_request *first = claim_just_made(generator, reference, times);

    if (first != NULL && chance(generator, 70)) {
        put_further_claim(generator, line, first);
    } else {
        put_owner(generator, line);
        put(line, " claim %s", SOME(generator, queues));
    }
    if (chance(generator, generator->is_hasty ? 60 : 10)) {
        put(line, " ttl=%s", SOME(generator, ttls));
    }
    if (chance(generator, 30)) {
        put(line, " attempts=%" PRIu64, 1 + generator_below(generator, 3));
    }
    if (chance(generator, 30)) {
        put(line, " ask=%" PRIu64, 1 + generator_below(generator, 3));
    }
    if (chance(generator, 8)) {
        put(line, " note=claimed");
    }
}

static const struct lk_reference_item *some_item(struct generator *generator,
                                                 const struct lk_reference *reference) {
    size_t count;
    const struct lk_reference_item *items = lk_reference_items(reference, &count);

    return count > 0 ? &items[generator_below(generator, count)] : NULL;
}

static const struct lk_reference_request *request_of(const struct lk_reference *reference,
                                                     uint64_t arrival) {
    size_t count;
    const struct lk_reference_request *live = lk_reference_live(reference, &count);

    while (count > 0 && live->arrival != arrival) {
        live++;
        count--;
    }
    return count > 0 ? live : NULL;
}

static void put_item(struct line *line, const struct lk_reference_item *item) {
    put(line, "%.*s %.*s", (int)item->queue.size, item->queue.bytes, (int)item->id.size,
        item->id.bytes);
}

static void remember(struct generator *generator, const struct lk_reference_item *item,
                     const struct lk_reference_request *claim) {
    struct generator_target *target =
        &generator->finished[generator->finished_count++ % GENERATOR_ENDED_MAX];
    struct line paths = {.bytes = target->paths};

    target->token = claim->token;
    snprintf(target->owner, sizeof target->owner, "%.*s", (int)claim->owner.size,
             claim->owner.bytes);
    put_item(&paths, item);
}

static void put_token(struct generator *generator, struct line *line, uint64_t token) {
    if (!generator->has_odd_clock) {
        put(line, " token=%" PRIu64, token + (chance(generator, 10) ? 1 : 0));
    }
}

static void put_retry(struct generator *generator, struct line *line) {
    if (chance(generator, 40)) {
        put(line, " delay=%s", SOME(generator, delays));
    }
    if (chance(generator, 30)) {
        put(line, " exit=%d", (int)generator_below(generator, 256) - 128);
    }
    if (chance(generator, 30)) {
        put(line, " error=%.*s", (int)generator_below(generator, 12), "it-did-fail-");
    }
    put(line, "%s", chance(generator, 20) ? " uncounted" : "");
    put(line, "%s", chance(generator, 15) ? " parks" : "");
}

static void put_done(struct generator *generator, struct line *line) {
    if (chance(generator, 40)) {
        put(line, " result=%.*s", (int)generator_below(generator, 12), "well-done-ok");
    }
    put_keep(generator, line);
}

static const char *some_finish(struct generator *generator) {
    uint64_t kind = generator_below(generator, 100);

    return kind < 45 ? "done" : kind < 88 ? "retry" : "progress";
}

/* Of a claim that is there, of one that was, or of nothing. */
static void put_finish(struct generator *generator, struct line *line,
                       const struct lk_reference *reference) {
    const char *verb = some_finish(generator);
    const struct lk_reference_item *item = some_item(generator, reference);
    const struct lk_reference_request *claim =
        item != NULL ? request_of(reference, item->claim) : NULL;
    size_t known = generator->finished_count < GENERATOR_ENDED_MAX ? generator->finished_count
                                                                   : GENERATOR_ENDED_MAX;

    if (claim != NULL && chance(generator, 85)) {
        put(line, "%.*s %s ", (int)claim->owner.size, claim->owner.bytes, verb);
        put_item(line, item);
        if (chance(generator, 60)
            && !generator->has_odd_clock) { /* its tokens are not the model's */
            put_token(generator, line, claim->token);
            remember(generator, item, claim);
        }
    } else if (known > 0 && chance(generator, 60)) {
        const struct generator_target *target =
            &generator->finished[generator_below(generator, known)];
        put(line, "%s %s %s token=%" PRIu64, target->owner, verb, target->paths, target->token);
    } else {
        put_owner(generator, line);
        put(line, " %s %s %s", verb, SOME(generator, queues), SOME(generator, ids));
    }
    if (verb[0] == 'r') {
        put_retry(generator, line);
    } else if (verb[0] == 'd') {
        put_done(generator, line);
    } else {
        put(line, " text=%.*s", (int)generator_below(generator, 12), "half-way-now");
    }
}

static void put_unpark(struct generator *generator, struct line *line,
                       const struct lk_reference *reference) {
    size_t count;
    const struct lk_reference_item *items = lk_reference_items(reference, &count);

    put(line, "unpark ");
    for (size_t i = 0; i < count; i++) {
        if (items[i].state == LK_ITEM_PARKED && chance(generator, 70)) {
            put_item(line, &items[i]);
            return;
        }
    }
    put(line, "%s %s", SOME(generator, queues), SOME(generator, ids));
}

static void put_cancel(struct generator *generator, struct line *line,
                       const struct lk_reference *reference) {
    const struct lk_reference_item *item = some_item(generator, reference);

    if (item != NULL && chance(generator, 80)) {
        put(line, "break %.*s cancel", (int)item->path.size, item->path.bytes);
    } else {
        put(line, "break %s/%s cancel", SOME(generator, queues), SOME(generator, ids));
    }
    put(line, "%s", chance(generator, 40) ? " now" : "");
}

/* Of something that is there, or of nothing. */
static void put_drop(struct generator *generator, struct line *line,
                     const struct lk_reference *reference) {
    const struct lk_reference_item *item = some_item(generator, reference);

    put(line, "drop ");
    if (item != NULL && chance(generator, 80)) {
        put_item(line, item);
    } else {
        put(line, "%s %s", SOME(generator, queues), SOME(generator, ids));
    }
    put(line, "%s", chance(generator, 50) ? " parked" : "");
}

/* A put or a delete: of no owner, of any owner, of one that holds a lease, with or without
 * token. */
static void put_value(struct generator *generator, struct line *line,
                      const struct lk_reference *reference, bool deletes) {
    const struct lk_reference_request *live = some_live(generator, reference, 50);
    const char *path = SOME(generator, places);

    if (live != NULL) {
        const struct lk_path *held = &live->parts[0].path;
        put(line, "%.*s %s %.*s%s", (int)live->owner.size, live->owner.bytes,
            deletes ? "del" : "put", (int)held->size, held->bytes,
            chance(generator, 20) ? "/x" : "");
        if (chance(generator, 60)) {
            put_token(generator, line, live->token);
        }
    } else {
        if (chance(generator, 50)) {
            put_owner(generator, line);
            put(line, " ");
        }
        put(line, "%s %s", deletes ? "del" : "put", path);
    }
    if (!deletes) {
        put(line, " value=%.*s", (int)generator_below(generator, 12), "0123456789ab");
    }
}

/* To the moment when an item is due, or just before it. */
static bool put_pass_until_due(struct generator *generator, struct line *line,
                               const struct lk_reference *reference, struct lk_times times) {
    size_t count;
    const struct lk_reference_item *items = lk_reference_items(reference, &count);

    for (size_t i = 0; i < count; i++) {
        if ((items[i].state == LK_ITEM_DELAYED || items[i].state == LK_ITEM_DONE)
            && items[i].due_us > times.now_us) {
            int64_t left_us = items[i].due_us - times.now_us - (chance(generator, 30) ? 1 : 0);
            line->size = 0; /* without the clocks before it */
            put(line, "+%" PRId64 "/%" PRId64 " pass", left_us, left_us);
            return true;
        }
    }
    return false;
}

bool put_work(struct generator *generator, struct line *line, const struct lk_reference *reference,
              struct lk_times times) {
    uint64_t kind = generator_below(generator, 100);

    if (kind < 15) {
        put_push(generator, line);
    } else if (kind < 34) {
        put_claim(generator, line, reference, times);
    } else if (kind < 45) {
        put_finish(generator, line, reference);
    } else if (kind < 48) {
        put_unpark(generator, line, reference);
    } else if (kind < 56) {
        put_value(generator, line, reference, kind == 55);
    } else if (kind < 57) {
        put_drop(generator, line, reference);
    } else if (kind < 58) {
        put_cancel(generator, line, reference);
    } else {
        return kind < 62 && put_pass_until_due(generator, line, reference, times);
    }
    return true;
}
