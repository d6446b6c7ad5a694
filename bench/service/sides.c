/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of pairs. What a pair costs the server is what the kernel counts of its process. */
#include "sides.h"

#include <stdio.h>
#include <string.h>

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
