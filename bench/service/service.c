/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the service costs, beside the least that a server of its kind can be and beside others'.
 *
 *     bench-service LK ECHO [FOLDER]     the programs lk and bench-echo; where files go (here)
 *
 * All servers are started for the run, on loopback, and loaded by the same loop. Both sides of a
 * comparison take turns, and the middle of their rounds is what counts.
 */
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../bench.h"
#include "load.h"
#include "lock_services.h"
#include "peers.h"

enum {
    ROUNDS = 3,
    CONNECTIONS = 50,
    WAITERS = 20,
    PATH_BYTES = 512,
    LIVE = 1000000,
    FILL_DEPTH = 100,
    SAMPLES_MAX = 1 << 20,
};

#define ROUND_S 2.0

struct programs {
    char *lk;
    char *echo;
    const char *folder;
};

/* ---- the service ----------------------------------------------------------------------------- */

static bool expect_granted(size_t step, const char *reply, size_t size) {
    return step == 0 ? memmem(reply, size, "granted", 7) != NULL : memcmp(reply, "+OK", 3) == 0;
}

static void request_pair(const void *context, size_t number, size_t step,
                         struct load_request *ret_request) {
    (void)context;
    if (step == 0) {
        load_resp_render(ret_request, "ACQUIRE bench/%zu OWNER owner%zu TRY", number, number);
    } else {
        load_resp_render(ret_request, "RELEASE bench/%zu OWNER owner%zu", number, number);
    }
}

static const struct load_protocol service_protocol = {load_resp_reply_size, expect_granted};

static struct peer start_service(const struct programs *programs, const char *directory) {
    char listen[64];
    char log[PATH_BYTES];
    int port = peer_port();
    char *ephemeral[] = {programs->lk, "serve", "--listen",    listen,
                         "--http",     "none",  "--ephemeral", NULL};
    char *durable[] = {programs->lk, "serve", "--listen", listen,
                       "--http",     "none",  "--dir",    (char *)(uintptr_t)directory,
                       NULL};

    (void)snprintf(listen, sizeof listen, "127.0.0.1:%d", port);
    (void)snprintf(log, sizeof log, "%s/service.log", programs->folder);
    return peer_start(directory != NULL ? durable : ephemeral, port, log);
}

static struct peer start_echo(const struct programs *programs, char *file) {
    char port[8];
    char log[PATH_BYTES];
    int number = peer_port();
    char *arguments[] = {programs->echo, port, file, NULL};

    (void)snprintf(port, sizeof port, "%d", number);
    (void)snprintf(log, sizeof log, "%s/echo.log", programs->folder);
    return peer_start(arguments, number, log);
}

static bool expect_anything(size_t step, const char *reply, size_t size) {
    (void)step;
    return size > 0 && reply[0] == '*';
}

static const struct load_protocol echo_protocol = {load_resp_reply_size, expect_anything};

/* ---- rounds ---------------------------------------------------------------------------------- */

/* One side of a comparison. */
struct side {
    const char *name;
    struct peer peer;
    struct load load;
    double pairs_per_s[ROUNDS];
    double processor_us[ROUNDS]; /* of the server, for each pair */
};

static struct load load_of(const struct peer *peer, const struct load_protocol *protocol) {
    return (struct load){.port = peer->port,
                         .protocol = protocol,
                         .connections = CONNECTIONS,
                         .step_count = 2,
                         .depth = 1,
                         .request = request_pair,
                         .seconds = ROUND_S};
}

static struct side side_of_lock_service(const struct lock_service *lock_service,
                                        const char *folder) {
    struct side side = {.name = lock_service->name, .peer = lock_service->start(folder)};

    side.load = load_of(&side.peer, &lock_service->protocol);
    side.load.has_prelude = lock_service->has_prelude;
    side.load.step_count = lock_service->step_count;
    side.load.request = lock_service->request;
    return side;
}

static void run_round(struct side *side, int round) {
    double processor_s = peer_processor_seconds(&side->peer);
    struct load_result result = load_run(&side->load);

    processor_s = peer_processor_seconds(&side->peer) - processor_s;
    if (result.unexpected > 0) {
        bench_give_up("%s: %llu replies as %s", side->name, (unsigned long long)result.unexpected,
                      result.example);
    }
    side->pairs_per_s[round] = (double)result.turns / result.seconds;
    side->processor_us[round] = processor_s * 1e6 / (double)result.turns;
}

static void run_rounds(struct side *sides, size_t count) {
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < count; i++) {
            run_round(&sides[i], round);
        }
    }
}

static void print_pairs(struct side *side) {
    char what[96];

    (void)snprintf(what, sizeof what, "%s", side->name);
    bench_figure_print(what, bench_median(side->pairs_per_s, ROUNDS), "pairs/s");
}

static double ratio(struct side *side, struct side *other) {
    return bench_median(side->pairs_per_s, ROUNDS) / bench_median(other->pairs_per_s, ROUNDS);
}

/* ---- in memory ------------------------------------------------------------------------------- */

static void measure_in_memory(const struct programs *programs) {
    struct side sides[3] = {{.name = "lk serve --ephemeral", .peer = start_service(programs, NULL)},
                            {.name = "bare RESP echo", .peer = start_echo(programs, NULL)}};
    size_t count = 2;

    sides[0].load = load_of(&sides[0].peer, &service_protocol);
    sides[1].load = load_of(&sides[1].peer, &echo_protocol);
    if (peer_is_installed(lock_service_redis.program)) {
        sides[count++] = side_of_lock_service(&lock_service_redis, programs->folder);
    }
    bench_title_print("in memory, 50 connections, unpipelined");
    run_rounds(sides, count);
    for (size_t i = 0; i < count; i++) {
        print_pairs(&sides[i]);
    }
    bench_at_least_print("of the echo's requests/s", ratio(&sides[0], &sides[1]), 0.6, "times");
    if (count > 2) {
        bench_at_least_print("of Redis' pairs/s", ratio(&sides[0], &sides[2]), 1.2, "times");
        bench_at_most_print("of Redis' processor time a pair",
                            bench_median(sides[0].processor_us, ROUNDS)
                                / bench_median(sides[2].processor_us, ROUNDS),
                            0.7, "times");
    } else {
        bench_progress("redis-server is not installed: not compared");
    }
    bench_figure_print("processor time a pair", bench_median(sides[0].processor_us, ROUNDS), "us");
    for (size_t i = 0; i < count; i++) {
        peer_stop(&sides[i].peer);
    }
}

/* ---- durable --------------------------------------------------------------------------------- */

static void measure_durable(const struct programs *programs) {
    static const struct lock_service *const lock_services[] = {&lock_service_etcd,
                                                               &lock_service_zookeeper};
    char directory[PATH_BYTES];
    char file[PATH_BYTES];
    struct side sides[4];
    size_t count = 2;

    (void)snprintf(directory, sizeof directory, "%s/service", programs->folder);
    (void)snprintf(file, sizeof file, "%s/log", programs->folder);
    sides[0] = (struct side){.name = "lk serve --dir", .peer = start_service(programs, directory)};
    sides[1] = (struct side){.name = "append and fdatasync, in groups",
                             .peer = start_echo(programs, file)};
    sides[0].load = load_of(&sides[0].peer, &service_protocol);
    sides[1].load = load_of(&sides[1].peer, &echo_protocol);
    for (size_t i = 0; i < sizeof lock_services / sizeof lock_services[0]; i++) {
        if (peer_is_installed(lock_services[i]->program)) {
            sides[count++] = side_of_lock_service(lock_services[i], programs->folder);
        } else {
            bench_progress("%s is not installed: not compared", lock_services[i]->program);
        }
    }
    bench_title_print("durable, 50 connections, unpipelined");
    run_rounds(sides, count);
    for (size_t i = 0; i < count; i++) {
        print_pairs(&sides[i]);
    }
    bench_at_least_print("of the bare log's", ratio(&sides[0], &sides[1]), 0.5, "times");
    for (size_t i = 2; i < count; i++) {
        bench_at_least_print(i == 2 ? "of the first lock service's"
                                    : "of the second lock service's",
                             ratio(&sides[0], &sides[i]), 10, "times");
    }
    for (size_t i = 0; i < count; i++) {
        peer_stop(&sides[i].peer);
    }
}

/* ---- hand-off -------------------------------------------------------------------------------- */

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
    struct load load = load_of(peer, &protocol);
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

static void measure_handoff(const struct programs *programs) {
    struct peer peer = start_service(programs, NULL);
    struct handoffs handoffs = samples_new();
    struct load load = load_of(&peer, &service_protocol);
    struct load_result result;
    double round_trip_us;

    bench_title_print("hand-off, 20 waiters");
    round_trip_us = measure_round_trip(&peer);
    load.connections = WAITERS + 1;
    load.request = request_turn;
    load.replied = note_turn;
    load.replied_context = &handoffs;
    load.seconds = 2 * ROUND_S;
    result = load_run(&load);
    if (result.unexpected > 0 || handoffs.count == 0) {
        bench_give_up("the hand-off was answered %s", result.example);
    }
    bench_figure_print("loopback round trip (PING)", round_trip_us, "us");
    bench_figure_print("hand-off p50", at(&handoffs, 0.5), "us");
    bench_figure_print("hand-off p99", at(&handoffs, 0.99), "us");
    bench_at_most_print("p50 in round trips", at(&handoffs, 0.5) / round_trip_us, 2, "times");
    bench_at_most_print("p99 in round trips", at(&handoffs, 0.99) / round_trip_us, 10, "times");
    bench_at_most_print("most by fewest grants of a client",
                        (double)result.turns_most / (double)result.turns_least, 1.1, "times");
    free(handoffs.times_us);
    peer_stop(&peer);
}

/* ---- a million live requests ----------------------------------------------------------------- */

static void request_live(const void *context, size_t number, size_t step,
                         struct load_request *ret_request) {
    (void)context;
    (void)step;
    load_resp_render(ret_request, "ACQUIRE live/%zu OWNER o%zu TTL 86400000 TRY", number, number);
}

static void fill(const struct peer *peer) {
    struct load load = load_of(peer, &service_protocol);
    struct load_result result;

    load.step_count = 1;
    load.depth = FILL_DEPTH;
    load.request = request_live;
    load.is_counting = true;
    load.seconds = 600;
    load.turns_max = LIVE / CONNECTIONS;
    result = load_run(&load);
    if (result.unexpected > 0 || result.turns != LIVE) {
        bench_give_up("%llu requests, of which some are %s", (unsigned long long)result.turns,
                      result.example);
    }
    bench_figure_print("taken, pipelined and durable", (double)result.turns / result.seconds,
                       "asks/s");
}

static void measure_start(const struct programs *programs) {
    char directory[PATH_BYTES];
    struct peer peer;
    int64_t begun_ns;

    (void)snprintf(directory, sizeof directory, "%s/million", programs->folder);
    bench_title_print("a million live requests");
    peer = start_service(programs, directory);
    fill(&peer);
    bench_figure_print("resident memory", peer_resident_bytes(&peer) / 1e6, "MB");
    peer_stop(&peer);
    begun_ns = bench_now_ns();
    peer = start_service(programs, directory);
    bench_at_most_print("start-up", (double)(bench_now_ns() - begun_ns) / 1e9, 10, "s");
    peer_stop(&peer);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

int main(int argc, char **argv) {
    char folder[PATH_BYTES - 64];
    struct programs programs;

    if (argc < 3) {
        bench_give_up("usage: bench-service LK ECHO [FOLDER]");
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)snprintf(folder, sizeof folder, "%s/lk-bench-XXXXXX", argc > 3 ? argv[3] : ".");
    if (mkdtemp(folder) == NULL) {
        bench_give_up("%s cannot be made", folder);
    }
    programs = (struct programs){.lk = argv[1], .echo = argv[2], .folder = folder};
    bench_machine_print();
    measure_in_memory(&programs);
    measure_durable(&programs);
    measure_handoff(&programs);
    measure_start(&programs);
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}
