/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the model costs (src/model), single thread, beside the bars it was designed to.
 *
 *     bench-model [LIVE...]    live requests to measure at: 100 10000 1000000 10000000 if unnamed
 *
 * Time is the model's own: one microsecond a step. Asks are parsed before the clock runs, as a
 * store's front parses them before the model sees them. Other work on the machine only adds to a
 * figure: loops are measured in processor time, and the middle of some runs is told.
 */
#include "model/model.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum {
    POOL_SIZE = 1 << 16, /* asks prepared ahead */
    TEXT_MAX = 48,
    RUNS = 5,
    PAIRS_PER_RUN = 200000,
    PAIRS_SMOKE = 2000,
    LIVE_SIZES_MAX = 8,
    QUEUE_LONG = 100000,
    QUEUE_SMOKE = 1000,
    QUEUE_SHORT = 10,
    HAND_OFFS = 2000,
    EXPLANATIONS = 21,
    CHAIN_LENGTH = 1000,
    TTL_LONG_MS = 24 * 60 * 60 * 1000,
    PER_ROOT = 64, /* live requests under one root */
};

#define WALL_START INT64_C(1700000000000000)
#define SEED UINT64_C(20240229)

struct bench {
    struct lk_model *model;
    int64_t now_us;
    uint64_t random;
};

/* An ask that is ready to be made. */
struct prepared {
    char owner[TEXT_MAX];
    char text[TEXT_MAX];
    struct lk_part part;
};

static void model_begin(struct bench *bench) {
    struct lk_model_config config = {0};
    *bench = (struct bench){.model = lk_model_new(&config), .now_us = 1, .random = SEED};
    if (bench->model == NULL) {
        bench_give_up("out of memory");
    }
}

static void model_end(struct bench *bench) {
    lk_model_free(bench->model);
    malloc_trim(0);
}

static struct lk_times times_next(struct bench *bench) {
    bench->now_us++;
    return (struct lk_times){.now_us = bench->now_us, .wall_us = WALL_START + bench->now_us};
}

static void prepare(struct prepared *ret, const char *owner, const char *part) {
    snprintf(ret->owner, sizeof ret->owner, "%s", owner);
    snprintf(ret->text, sizeof ret->text, "%s", part);
    if (lk_part_parse(lk_slice_of(ret->text), NULL, &ret->part, NULL) != LK_OK) {
        bench_give_up("%s does not parse", part);
    }
}

static const struct lk_answer *ask(struct bench *bench, const struct prepared *prepared,
                                   lk_style style, int64_t ttl_ms, size_t blockers_max) {
    struct lk_command command = {.kind = LK_COMMAND_ASK, .times = times_next(bench)};
    command.ask = (struct lk_ask){.owner = lk_slice_of(prepared->owner),
                                  .parts = &prepared->part,
                                  .part_count = 1,
                                  .style = style,
                                  .ttl_ms = ttl_ms,
                                  .blockers_max = blockers_max};
    return &lk_model_step(bench->model, &command)->answer;
}

static const struct lk_effects *release(struct bench *bench, const struct prepared *prepared) {
    struct lk_command command = {.kind = LK_COMMAND_RELEASE, .times = times_next(bench)};
    command.release.target = (struct lk_target){
        .owner = lk_slice_of(prepared->owner), .parts = &prepared->part, .part_count = 1};
    return lk_model_step(bench->model, &command);
}

static void must(lk_outcome got, lk_outcome expected, const char *what) {
    if (got != expected) {
        bench_give_up("%s: %s instead of %s", what, lk_outcome_name(got),
                      lk_outcome_name(expected));
    }
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static size_t pairs_per_run(void) {
    return bench_count(PAIRS_PER_RUN, PAIRS_SMOKE);
}

static size_t queue_long(void) {
    return bench_amount(QUEUE_LONG, QUEUE_SMOKE);
}

/* ---- uncontended pairs among many live requests ---------------------------------------------- */

/* A random path of depth 3, among as many roots as `live` requests are under. */
static void random_path(struct bench *bench, uint64_t live, uint64_t leaf,
                        char ret_text[TEXT_MAX]) {
    uint64_t number = bench_random(&bench->random);
    snprintf(ret_text, TEXT_MAX, "r%llx/s%llx/%llx",
             (unsigned long long)(number % (live / PER_ROOT + 1)),
             (unsigned long long)(number >> 40) % 16, (unsigned long long)leaf);
}

static void fill(struct bench *bench, uint64_t live) {
    for (uint64_t i = 0; i < live; i++) {
        struct prepared prepared;
        char owner[TEXT_MAX];
        char path[TEXT_MAX];
        snprintf(owner, sizeof owner, "o%llx", (unsigned long long)i);
        random_path(bench, live, i, path);
        prepare(&prepared, owner, path);
        int64_t ttl_ms = TTL_LONG_MS + (int64_t)(bench_random(&bench->random) % TTL_LONG_MS);
        must(ask(bench, &prepared, LK_TRY, ttl_ms, 0)->outcome, LK_GRANTED, "filling");
    }
}

static double pairs_time_ns(struct bench *bench, const struct prepared *pool) {
    double runs[RUNS];
    for (size_t run = 0; run < RUNS; run++) {
        int64_t started_ns = bench_processor_ns();
        for (size_t i = 0; i < pairs_per_run(); i++) {
            const struct prepared *prepared = &pool[i % POOL_SIZE];
            must(ask(bench, prepared, LK_TRY, 0, 0)->outcome, LK_GRANTED, "acquire");
            must(release(bench, prepared)->answer.outcome, LK_OK, "release");
        }
        runs[run] = (double)(bench_processor_ns() - started_ns) / (double)pairs_per_run();
    }
    return bench_median(runs, RUNS);
}

/* Returns ns per pair; prints memory beside its bar where there is enough of it to tell. */
static double measure_pairs(uint64_t live, struct prepared *pool) {
    struct bench bench;
    char what[96];
    malloc_trim(0);
    uint64_t resident_before = bench_resident_bytes();
    model_begin(&bench);
    fill(&bench, live);
    uint64_t resident = bench_resident_bytes() - resident_before;
    struct lk_model_stats stats;
    lk_model_stats(bench.model, &stats);
    for (size_t i = 0; i < POOL_SIZE; i++) {
        char owner[TEXT_MAX];
        char path[TEXT_MAX];
        snprintf(owner, sizeof owner, "p%zx", i);
        random_path(&bench, live, live + i, path);
        prepare(&pool[i], owner, path);
    }
    double pair_ns = pairs_time_ns(&bench, pool);
    snprintf(what, sizeof what, "acquire + release, depth 3, %llu live", (unsigned long long)live);
    if (live <= 100) {
        bench_at_most_print(what, pair_ns, 1000, "ns");
    } else {
        bench_figure_print(what, pair_ns, "ns"); /* its bar is the ratio */
    }
    if (live >= 10000) {
        snprintf(what, sizeof what, "memory by the model's count, %llu live",
                 (unsigned long long)live);
        bench_at_most_print(what, (double)stats.bytes / (double)live, 250, "B/request");
        snprintf(what, sizeof what, "resident memory, %llu live", (unsigned long long)live);
        bench_at_most_print(what, (double)resident / (double)live, 250, "B/request");
    }
    model_end(&bench);
    return pair_ns;
}

static void bench_pairs(const uint64_t *sizes, size_t size_count) {
    struct prepared *pool = calloc(POOL_SIZE, sizeof *pool);
    double least_ns = 0;
    double most_ns = 0;
    if (pool == NULL) {
        bench_give_up("out of memory");
    }
    bench_title_print("Uncontended, one thread");
    for (size_t i = 0; i < size_count; i++) {
        bench_progress("%llu live requests", (unsigned long long)sizes[i]);
        double pair_ns = measure_pairs(sizes[i], pool);
        least_ns = i == 0 ? pair_ns : least_ns;
        most_ns = pair_ns;
    }
    char what[96];
    snprintf(what, sizeof what, "ratio, %llu live to %llu live",
             (unsigned long long)sizes[size_count - 1], (unsigned long long)sizes[0]);
    bench_at_most_print(what, most_ns / least_ns, 4, "times");
    free(pool);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void prepare_numbered(struct prepared *ret, const char *owner, size_t number,
                             const char *part) {
    char name[TEXT_MAX];
    snprintf(name, sizeof name, "%s%zu", owner, number);
    prepare(ret, name, part);
}

struct line_costs {
    double join_ns;     /* an ask that joins the queue */
    double hand_off_ns; /* a release that grants the first waiter */
    double explain_ns;  /* an ask again that names 16 blockers */
};

/*
 * A line of `length` waiters for `part`, which `holders` requests hold: one is released (and the
 * first waiter granted), and a new one joins, so that the queue keeps its length.
 */
static struct line_costs measure_line(const char *part, size_t holders, size_t length) {
    struct bench bench;
    struct prepared prepared;
    struct line_costs costs = {0};
    static double hand_offs_ns[HAND_OFFS];
    static double joins_ns[HAND_OFFS];
    double explanations_ns[EXPLANATIONS];
    model_begin(&bench);
    for (size_t i = 0; i < holders + length; i++) {
        prepare_numbered(&prepared, "o", i, part);
        must(ask(&bench, &prepared, LK_QUEUE, TTL_LONG_MS, 0)->outcome,
             i < holders ? LK_GRANTED : LK_WAITING, "waiting");
    }
    for (size_t i = 0; i < HAND_OFFS; i++) {
        struct prepared first;
        prepare_numbered(&first, "o", i, part);
        prepare_numbered(&prepared, "o", i + holders + length, part);
        int64_t started_ns = bench_now_ns();
        const struct lk_effects *effects = release(&bench, &first);
        hand_offs_ns[i] = (double)(bench_now_ns() - started_ns);
        must(effects->answer.outcome, LK_OK, "hand-off");
        if (effects->change_count != 2) {
            bench_give_up("a hand-off made %zu changes", effects->change_count);
        }
        started_ns = bench_now_ns();
        must(ask(&bench, &prepared, LK_QUEUE, TTL_LONG_MS, 0)->outcome, LK_WAITING, "joining");
        joins_ns[i] = (double)(bench_now_ns() - started_ns);
    }
    for (size_t i = 0; i < EXPLANATIONS; i++) {
        int64_t started_ns = bench_processor_ns();
        must(ask(&bench, &prepared, LK_QUEUE, TTL_LONG_MS, 16)->outcome, LK_WAITING, "asking why");
        explanations_ns[i] = (double)(bench_processor_ns() - started_ns);
    }
    costs.explain_ns = bench_median(explanations_ns, EXPLANATIONS);
    costs.join_ns = bench_median(joins_ns, HAND_OFFS);
    costs.hand_off_ns = bench_median(hand_offs_ns, HAND_OFFS);
    model_end(&bench);
    return costs;
}

static void print_line(const char *title, const char *part, size_t holders) {
    char what[96];
    bench_progress("%s, a line of %zu", title, queue_long());
    struct line_costs few = measure_line(part, holders, QUEUE_SHORT);
    struct line_costs many = measure_line(part, holders, queue_long());
    snprintf(what, sizeof what, "%s: release and grant, %d waiting", title, QUEUE_SHORT);
    bench_figure_print(what, few.hand_off_ns, "ns");
    snprintf(what, sizeof what, "%s: release and grant, %zu waiting", title, queue_long());
    bench_figure_print(what, many.hand_off_ns, "ns");
    bench_at_most_print("  ratio (cache misses allowed for)", many.hand_off_ns / few.hand_off_ns, 4,
                        "times");
    snprintf(what, sizeof what, "%s: joining a line of %zu", title, queue_long());
    bench_figure_print(what, many.join_ns, "ns");
    snprintf(what, sizeof what, "%s: asking again, 16 blockers of %zu", title, queue_long());
    bench_figure_print(what, many.explain_ns, "ns");
}

static void bench_lines(void) {
    bench_title_print("Lines");
    print_line("exclusive", "db/t1/row", 1);
    print_line("pool of 10", "pool?limit=10", 10);
}

/* Readers behind one writer: the writer's release grants all of them in one step. */
static void bench_readers(void) {
    const size_t counts[] = {10, 1000, queue_long()};
    double first_ns = 0;
    double last_ns = 0;
    bench_title_print("Wake-up of n readers by one release");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        size_t rounds = queue_long() / counts[i] > 200 ? 200 : queue_long() / counts[i];
        double total_ns = 0;
        for (size_t round = 0; round < rounds; round++) {
            struct bench bench;
            struct prepared writer;
            struct prepared reader;
            model_begin(&bench);
            prepare(&writer, "writer", "db/t1");
            must(ask(&bench, &writer, LK_QUEUE, TTL_LONG_MS, 0)->outcome, LK_GRANTED, "writer");
            for (size_t n = 0; n < counts[i]; n++) {
                prepare_numbered(&reader, "r", n, "db/t1?shared");
                must(ask(&bench, &reader, LK_QUEUE, TTL_LONG_MS, 0)->outcome, LK_WAITING, "reader");
            }
            int64_t started_ns = bench_processor_ns();
            const struct lk_effects *effects = release(&bench, &writer);
            total_ns += (double)(bench_processor_ns() - started_ns);
            if (effects->change_count != counts[i] + 1) {
                bench_give_up("%zu changes for %zu readers", effects->change_count, counts[i]);
            }
            model_end(&bench);
        }
        char what[96];
        last_ns = total_ns / (double)(rounds * counts[i]);
        first_ns = i == 0 ? last_ns : first_ns;
        snprintf(what, sizeof what, "%zu readers, per reader", counts[i]);
        bench_figure_print(what, last_ns, "ns");
    }
    bench_at_most_print("per reader, most to 10 (linear; cache misses allowed for)",
                        last_ns / first_ns, 4, "times");
}

/* ---- trees ----------------------------------------------------------------------------------- */

struct tree_costs {
    double head_ns; /* the release that lets the head in */
    double each_ns; /* the head's release, per waiter below that it lets in */
};

/* One holds db/0, the head asks for db, and `below` others wait under it for the head. */
static struct tree_costs measure_tree(size_t below) {
    struct bench bench;
    struct prepared holder;
    struct prepared head;
    struct prepared waiter;
    model_begin(&bench);
    prepare(&holder, "holder", "db/0");
    prepare(&head, "head", "db");
    must(ask(&bench, &holder, LK_QUEUE, TTL_LONG_MS, 0)->outcome, LK_GRANTED, "holder");
    must(ask(&bench, &head, LK_QUEUE, TTL_LONG_MS, 0)->outcome, LK_WAITING, "head");
    for (size_t i = 1; i <= below; i++) {
        char path[TEXT_MAX];
        snprintf(path, sizeof path, "db/%zu", i);
        prepare_numbered(&waiter, "o", i, path);
        must(ask(&bench, &waiter, LK_QUEUE, TTL_LONG_MS, 0)->outcome, LK_WAITING, "below");
    }
    int64_t started_ns = bench_now_ns();
    must(release(&bench, &holder)->answer.outcome, LK_OK, "holder's release");
    int64_t head_ns = bench_now_ns();
    const struct lk_effects *effects = release(&bench, &head);
    int64_t all_ns = bench_now_ns();
    if (effects->change_count != below + 1) {
        bench_give_up("the head's release made %zu changes", effects->change_count);
    }
    model_end(&bench);
    return (struct tree_costs){.head_ns = (double)(head_ns - started_ns),
                               .each_ns = (double)(all_ns - head_ns) / (double)below};
}

static void bench_trees(void) {
    double few_head_ns[RUNS];
    double few_each_ns[RUNS];
    double many_head_ns[RUNS];
    double many_each_ns[RUNS];
    char what[96];
    bench_title_print("A tree's head with waiters below");
    bench_progress("a tree with %zu waiters below its head", queue_long());
    for (size_t i = 0; i < RUNS; i++) {
        struct tree_costs few = measure_tree(QUEUE_SHORT);
        struct tree_costs many = measure_tree(queue_long());
        few_head_ns[i] = few.head_ns;
        few_each_ns[i] = few.each_ns;
        many_head_ns[i] = many.head_ns;
        many_each_ns[i] = many.each_ns;
    }
    double few_ns = bench_median(few_head_ns, RUNS);
    double many_ns = bench_median(many_head_ns, RUNS);
    bench_figure_print("the head let in, 10 waiting below", few_ns, "ns");
    (void)snprintf(what, sizeof what, "the head let in, %zu waiting below", queue_long());
    bench_figure_print(what, many_ns, "ns");
    bench_figure_print("the head's release, per waiter of 10", bench_median(few_each_ns, RUNS),
                       "ns");
    (void)snprintf(what, sizeof what, "the head's release, per waiter of %zu", queue_long());
    bench_figure_print(what, bench_median(many_each_ns, RUNS), "ns");
}

/* ---- deadlines, refusals, deadlocks ---------------------------------------------------------- */

/* `count` leases expire in one step; their deadlines are in random order. */
static double measure_expiry(size_t count) {
    struct bench bench;
    struct prepared prepared;
    model_begin(&bench);
    for (size_t i = 0; i < count; i++) {
        char path[TEXT_MAX];
        random_path(&bench, count, i, path);
        prepare_numbered(&prepared, "o", i, path);
        int64_t ttl_ms = 10000 + (int64_t)(bench_random(&bench.random) % 50000);
        must(ask(&bench, &prepared, LK_TRY, ttl_ms, 0)->outcome, LK_GRANTED, "lease");
    }
    bench.now_us += INT64_C(3600) * 1000000;
    struct lk_command tick = {.kind = LK_COMMAND_TICK, .times = times_next(&bench)};
    int64_t started_ns = bench_processor_ns();
    const struct lk_effects *effects = lk_model_step(bench.model, &tick);
    double took_ns = (double)(bench_processor_ns() - started_ns);
    if (effects->change_count != count) {
        bench_give_up("%zu of %zu expired", effects->change_count, count);
    }
    model_end(&bench);
    return took_ns / (double)count;
}

static void bench_perish(void) {
    size_t many = bench_amount(1000000, 1000);
    char what[96];

    bench_title_print("Deadlines");
    bench_figure_print("1000 leases expire in one step, each", measure_expiry(1000), "ns");
    (void)snprintf(what, sizeof what, "%zu leases expire in one step, each", many);
    bench_figure_print(what, measure_expiry(many), "ns");
}

static void bench_refusals(void) {
    struct bench bench;
    struct prepared holder;
    struct prepared other;
    struct lk_model_stats before;
    struct lk_model_stats after;
    const size_t tries = bench_count(1000000, 1000);
    bench_title_print("Refused tries");
    model_begin(&bench);
    prepare(&holder, "holder", "db/t1/row");
    prepare(&other, "other", "db/t1/row");
    must(ask(&bench, &holder, LK_TRY, TTL_LONG_MS, 0)->outcome, LK_GRANTED, "holder");
    must(ask(&bench, &other, LK_TRY, 0, 0)->outcome, LK_BUSY, "try");
    lk_model_stats(bench.model, &before);
    int64_t started_ns = bench_processor_ns();
    for (size_t i = 0; i < tries; i++) {
        must(ask(&bench, &other, LK_TRY, 0, 0)->outcome, LK_BUSY, "try");
    }
    double each_ns = (double)(bench_processor_ns() - started_ns) / (double)tries;
    lk_model_stats(bench.model, &after);
    bench_figure_print("a refused try", each_ns, "ns");
    bench_at_most_print("bytes that these tries left behind",
                        (double)after.bytes - (double)before.bytes, 0, "B");
    model_end(&bench);
}

/* Owner i holds x/i and waits for x/(i+1); the last one's ask closes the ring. */
static void bench_deadlock(void) {
    struct bench bench;
    struct prepared prepared;
    char path[TEXT_MAX];
    model_begin(&bench);
    for (size_t i = 0; i < CHAIN_LENGTH; i++) {
        snprintf(path, sizeof path, "x/%zu", i);
        prepare_numbered(&prepared, "o", i, path);
        must(ask(&bench, &prepared, LK_QUEUE, TTL_LONG_MS, 0)->outcome, LK_GRANTED, "ring");
    }
    int64_t started_ns = bench_processor_ns();
    for (size_t i = 0; i + 1 < CHAIN_LENGTH; i++) {
        snprintf(path, sizeof path, "x/%zu", i + 1);
        prepare_numbered(&prepared, "o", i, path);
        must(ask(&bench, &prepared, LK_QUEUE, TTL_LONG_MS, 0)->outcome, LK_WAITING, "ring");
    }
    double chain_ns = (double)(bench_processor_ns() - started_ns) / (CHAIN_LENGTH - 1);
    prepare_numbered(&prepared, "o", CHAIN_LENGTH - 1, "x/0");
    started_ns = bench_processor_ns();
    must(ask(&bench, &prepared, LK_QUEUE, TTL_LONG_MS, 0)->outcome, LK_DEADLOCK, "the ring's end");
    double ring_ns = (double)(bench_processor_ns() - started_ns);
    bench_title_print("Deadlocks");
    bench_figure_print("a waiting ask at the end of a chain", chain_ns, "ns");
    bench_figure_print("a ring of 1000 owners found and named", ring_ns, "ns");
    model_end(&bench);
}

int main(int argc, char **argv) {
    uint64_t sizes[LIVE_SIZES_MAX] = {100, 10000, 1000000, 10000000};
    size_t size_count = bench_is_short() ? 3 : bench_count(4, 2);
    if (argc > 1) {
        size_count = 0;
        for (int i = 1; i < argc && size_count < LIVE_SIZES_MAX; i++) {
            sizes[size_count] = strtoull(argv[i], NULL, 10);
            if (sizes[size_count++] == 0) {
                bench_give_up("%s is no number of live requests", argv[i]);
            }
        }
    }
    bench_begin("bench-model", "The model");
    bench_pairs(sizes, size_count);
    bench_lines();
    bench_readers();
    bench_trees();
    bench_perish();
    bench_refusals();
    bench_deadlock();
    return 0;
}
