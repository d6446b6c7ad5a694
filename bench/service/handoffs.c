/* SPDX-License-Identifier: Apache-2.0 */
/* Each waiter that is granted the lock releases it at once, and waits again. */
#include "handoffs.h"

#include <stdlib.h>

#include "../bench.h"
#include "load.h"
#include "sides.h"

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
