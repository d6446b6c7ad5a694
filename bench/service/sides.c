/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds of pairs: what a pair costs the server is what the kernel counts of its process. And a
 * lock that waiters hand to each other: each that is granted it releases it at once, and waits
 * again.
 */
#include "sides.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bench.h"
#include "load.h"

enum { PATH_BYTES = 512, WORDS_MAX = 16, FILL_DEPTH = 100 };

/* ---- a pair ---------------------------------------------------------------------------------- */

static bool expect_granted(size_t step, const char *reply, size_t size) {
    return step == 0 ? memmem(reply, size, "granted", 7) != NULL : memcmp(reply, "+OK", 3) == 0;
}

void side_request_pair(const void *context, size_t number, size_t step,
                       struct load_request *ret_request) {
    (void)context;
    if (step == 0) {
        load_resp_render(ret_request, "ACQUIRE bench/%zu OWNER owner%zu TRY", number, number);
    } else {
        load_resp_render(ret_request, "RELEASE bench/%zu OWNER owner%zu", number, number);
    }
}

const struct load_protocol side_service_protocol = {load_resp_reply_size, expect_granted};

struct peer side_start_service(const char *lk, const char *folder, const char *const *words) {
    char listen[64];
    char log[PATH_BYTES];
    int port = peer_port();
    const char *arguments[WORDS_MAX] = {lk, "serve", "--listen", listen, "--http", "none"};

    for (size_t i = 6; *words != NULL && i + 1 < WORDS_MAX; i++) {
        arguments[i] = *words++;
    }
    (void)snprintf(listen, sizeof listen, "127.0.0.1:%d", port);
    (void)snprintf(log, sizeof log, "%s/service.log", folder);
    return peer_start((char *const *)(uintptr_t)arguments, port, log);
}

/* ---- leases ---------------------------------------------------------------------------------- */

static void request_live(const void *context, size_t number, size_t step,
                         struct load_request *ret_request) {
    (void)context;
    (void)step;
    load_resp_render(ret_request, "ACQUIRE live/%zu OWNER o%zu TTL 86400000 TRY", number, number);
}

double side_fill(const struct peer *peer, size_t live) {
    struct load load = side_load(peer, &side_service_protocol);
    struct load_result result;

    load.step_count = 1;
    load.request = request_live;
    load.is_counting = true;
    load.seconds = 600;
    load.turns_max = live / SIDE_CONNECTIONS;
    load.depth = load.turns_max < FILL_DEPTH ? (size_t)load.turns_max : FILL_DEPTH;
    result = load_run(&load);
    if (result.unexpected > 0 || result.turns != live) {
        bench_give_up("%llu requests, of which some are %s", (unsigned long long)result.turns,
                      result.example);
    }
    return (double)result.turns / result.seconds;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

struct duel {
    struct side *ours;
    struct side *theirs;
};

struct load side_load(const struct peer *peer, const struct load_protocol *protocol) {
    return (struct load){.port = peer->port,
                         .protocol = protocol,
                         .connections = SIDE_CONNECTIONS,
                         .step_count = 2,
                         .depth = 1,
                         .request = side_request_pair,
                         .seconds = (double)bench_round_ns(SIDE_ROUND_MS) / 1e9};
}

struct side side_of(const char *name, struct peer peer, const struct load_protocol *protocol) {
    return (struct side){.name = name, .peer = peer, .load = side_load(&peer, protocol)};
}

/* Pairs a second. */
static double run_round(struct side *side) {
    double processor_s = peer_processor_seconds(&side->peer);
    struct load_result result = load_run(&side->load);

    processor_s = peer_processor_seconds(&side->peer) - processor_s;
    if (result.unexpected > 0) {
        bench_give_up("%s: %llu replies as %s", side->name, (unsigned long long)result.unexpected,
                      result.example);
    }
    side->processor_us[side->rounds++] = processor_s * 1e6 / (double)result.turns;
    return (double)result.turns / result.seconds;
}

static double play_ours(void *context) {
    return run_round(((struct duel *)context)->ours);
}

static double play_theirs(void *context) {
    return run_round(((struct duel *)context)->theirs);
}

/* The ratio of processor times is told of the rounds that counted. */
static void compare(struct side *ours, struct side *theirs, const struct bars *bars) {
    struct duel duel = {ours, theirs};
    size_t warm = bench_is_smoke() ? 0 : 1;
    char what[96];

    ours->load.connections = theirs->load.connections = bars->connections;
    ours->rounds = theirs->rounds = 0;
    (void)snprintf(what, sizeof what, "%zu connection%s", bars->connections,
                   bars->connections == 1 ? "" : "s");
    bench_duel(&(struct bench_duel){.what = what,
                                    .peer = theirs->name,
                                    .unit = "pairs/s",
                                    .bar = bars->pairs,
                                    .ours = play_ours,
                                    .theirs = play_theirs,
                                    .context = &duel});
    if (bench_is_smoke()) {
        return; /* less than the kernel's clock can tell */
    }
    (void)snprintf(what, sizeof what, "%zu connection%s, processor time a pair", bars->connections,
                   bars->connections == 1 ? "" : "s");
    bench_comparison_print(
        &(struct bench_comparison){.what = what,
                                   .peer = theirs->name,
                                   .unit = "us",
                                   .is_cost = true,
                                   .bar = bars->processor > 0 ? 1 / bars->processor : 0,
                                   .ours = ours->processor_us + warm,
                                   .theirs = theirs->processor_us + warm,
                                   .count = ours->rounds - warm});
}

void side_compare_all(struct side *ours, struct side *theirs, const struct bars *bars,
                      size_t count) {
    for (size_t i = 0; i < count; i++) {
        compare(ours, theirs, &bars[i]);
    }
}

/* ---- hand-offs ------------------------------------------------------------------------------- */

enum { SAMPLES_MAX = 1 << 20 };

struct handoffs {
    int64_t freed_ns; /* when the last release was said */
    size_t count;
    double *times_us;
};

static void request_turn(const void *context, size_t number, size_t step,
                         struct load_request *ret_request) {
    (void)context;
    if (step == 0) {
        load_resp_render(ret_request, "ACQUIRE bench/one OWNER owner%zu WAIT 60000", number);
    } else {
        load_resp_render(ret_request, "RELEASE bench/one OWNER owner%zu", number);
    }
}

/* A grant is followed at once by its release; what is between that and the next grant counts. */
static void note_turn(void *context, size_t number, size_t step, int64_t said_ns, int64_t now_ns) {
    struct handoffs *handoffs = context;

    (void)number;
    (void)said_ns;
    if (step != 0) {
        return;
    }
    if (handoffs->freed_ns != 0 && handoffs->count < SAMPLES_MAX) {
        handoffs->times_us[handoffs->count++] = (double)(now_ns - handoffs->freed_ns) / 1e3;
    }
    handoffs->freed_ns = now_ns; /* the release goes out now */
}

static void request_ping(const void *context, size_t number, size_t step,
                         struct load_request *ret_request) {
    (void)context;
    (void)number;
    (void)step;
    load_resp_render(ret_request, "PING");
}

static bool expect_simple(size_t step, const char *reply, size_t size) {
    (void)step;
    return size > 0 && reply[0] == '+';
}

static void note_ping(void *context, size_t number, size_t step, int64_t said_ns, int64_t now_ns) {
    struct handoffs *pings = context;

    (void)number;
    (void)step;
    if (pings->count < SAMPLES_MAX) {
        pings->times_us[pings->count++] = (double)(now_ns - said_ns) / 1e3;
    }
}

/* Puts them in order. */
static double at(struct handoffs *times, double share) {
    (void)bench_median(times->times_us, times->count);
    return times->times_us[(size_t)(share * (double)(times->count - 1))];
}

static struct handoffs samples_new(void) {
    struct handoffs samples = {.times_us = malloc(SAMPLES_MAX * sizeof(double))};

    if (samples.times_us == NULL) {
        bench_give_up("no memory for samples");
    }
    return samples;
}

static double measure_round_trip(const struct peer *peer) {
    static const struct load_protocol protocol = {load_resp_reply_size, expect_simple};
    struct handoffs pings = samples_new();
    struct load load = side_load(peer, &protocol);
    double median_us;

    load.connections = 1;
    load.step_count = 1;
    load.request = request_ping;
    load.replied = note_ping;
    load.replied_context = &pings;
    (void)load_run(&load);
    median_us = at(&pings, 0.5);
    free(pings.times_us);
    return median_us;
}

struct handoff_figures handoffs_measure(const struct peer *peer) {
    struct handoff_figures figures = {.round_trip_us = measure_round_trip(peer)};
    struct handoffs handoffs = samples_new();
    struct load load = side_load(peer, &side_service_protocol);
    struct load_result result;

    load.connections = HANDOFFS_WAITERS + 1;
    load.request = request_turn;
    load.replied = note_turn;
    load.replied_context = &handoffs;
    load.seconds = 4 * (double)bench_round_ns(SIDE_ROUND_MS) / 1e9;
    result = load_run(&load);
    if (result.unexpected > 0 || handoffs.count == 0) {
        bench_give_up("the hand-off was answered %s", result.example);
    }
    figures.half_us = at(&handoffs, 0.5);
    figures.p99_us = at(&handoffs, 0.99);
    figures.most_by_least = (double)result.turns_most / (double)result.turns_least;
    free(handoffs.times_us);
    return figures;
}
