/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the service costs, beside the least that a server of its kind can be and beside others'.
 *
 *     bench-service LK ECHO [FOLDER]     the programs lk and bench-echo; where files go (here)
 *
 * All servers are started for the run, on loopback, and loaded by the same loop. Both sides of a
 * comparison take turns, and the middle of their rounds is what counts. ZooKeeper is given time to
 * compile itself.
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
    ROUND_MS = 1000,
    WARM_UP_MS = 15000,
    LIVE_SMOKE = 5000,
    CONNECTIONS = 50,
    WAITERS = 20,
    PATH_BYTES = 512,
    LIVE = 1000000,
    FILL_DEPTH = 100,
    SAMPLES_MAX = 1 << 20,
};

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
    double processor_us[BENCH_ROUNDS_MAX + 1]; /* of the server, for each pair, in each round */
    size_t rounds;
};

struct duel {
    struct side *ours;
    struct side *theirs;
};

static struct load load_of(const struct peer *peer, const struct load_protocol *protocol) {
    return (struct load){.port = peer->port,
                         .protocol = protocol,
                         .connections = CONNECTIONS,
                         .step_count = 2,
                         .depth = 1,
                         .request = request_pair,
                         .seconds = (double)bench_round_ns(ROUND_MS) / 1e9};
}

static struct side side_of(const char *name, struct peer peer,
                           const struct load_protocol *protocol) {
    return (struct side){.name = name, .peer = peer, .load = load_of(&peer, protocol)};
}

static struct side side_of_lock_service(const struct lock_service *lock_service,
                                        const char *folder) {
    struct side side =
        side_of(lock_service->name, lock_service->start(folder), &lock_service->protocol);

    side.load.has_prelude = lock_service->has_prelude;
    side.load.step_count = lock_service->step_count;
    side.load.request = lock_service->request;
    return side;
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

/* What a comparison must reach with so many connections; 0: no bar. */
struct bars {
    size_t connections;
    double pairs;
    double processor;
};

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

static void compare_all(struct side *ours, struct side *theirs, const struct bars *bars,
                        size_t count) {
    for (size_t i = 0; i < count; i++) {
        compare(ours, theirs, &bars[i]);
    }
}

/* A server that compiles itself while it runs is not measured before it has. */
static void warm_up(struct side *side) {
    side->load.seconds = (double)bench_round_ns(WARM_UP_MS) / 1e9;
    (void)load_run(&side->load);
    side->load.seconds = (double)bench_round_ns(ROUND_MS) / 1e9;
}

static void compare_to(struct side *ours, const struct lock_service *lock_service,
                       const struct programs *programs, const struct bars *bars, size_t count) {
    struct side side;
    char why[BENCH_TEXT_BYTES];

    if (!lock_service_is_there(lock_service, why)) {
        bench_missing_print("acquire + release", lock_service->name, why);
        return;
    }
    side = side_of_lock_service(lock_service, programs->folder);
    if (strcmp(lock_service->program, "java") == 0) {
        bench_progress("warming up %s", lock_service->name);
        warm_up(&side);
    }
    compare_all(ours, &side, bars, count);
    peer_stop(&side.peer);
}

enum { BARS = 3 };

static void measure_in_memory(const struct programs *programs) {
    static const struct bars redis[BARS] = {{1, 0, 0}, {50, 1.3, 0.6}, {500, 1.3, 0.6}};
    static const struct bars echo[] = {{50, 0.6, 0}};
    struct side ours =
        side_of("lk serve --ephemeral", start_service(programs, NULL), &service_protocol);
    struct side bare = side_of("a bare RESP echo", start_echo(programs, NULL), &echo_protocol);

    bench_title_print("In memory: acquire + release, each connection its own lock");
    compare_all(&ours, &bare, echo, 1);
    peer_stop(&bare.peer);
    compare_to(&ours, &lock_service_redis, programs, redis, BARS);
    peer_stop(&ours.peer);
}

static void measure_durable(const struct programs *programs) {
    static const struct bars redis[BARS] = {{1, 0.8, 0}, {50, 1, 0}, {500, 1, 0}};
    static const struct bars others[BARS] = {{1, 10, 0}, {50, 10, 0}, {500, 10, 0}};
    static const struct bars log[] = {{50, 0.5, 0}};
    char directory[PATH_BYTES];
    char file[PATH_BYTES];
    struct side ours;
    struct side bare;

    (void)snprintf(directory, sizeof directory, "%s/service", programs->folder);
    (void)snprintf(file, sizeof file, "%s/log", programs->folder);
    ours = side_of("lk serve --dir", start_service(programs, directory), &service_protocol);
    bare = side_of("append and fdatasync, in groups", start_echo(programs, file), &echo_protocol);
    bench_title_print("Durable: acquire + release, each connection its own lock");
    compare_all(&ours, &bare, log, 1);
    peer_stop(&bare.peer);
    compare_to(&ours, &lock_service_redis_durable, programs, redis, BARS);
    compare_to(&ours, &lock_service_etcd, programs, others, BARS);
    compare_to(&ours, &lock_service_zookeeper, programs, others, BARS);
    peer_stop(&ours.peer);
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

    bench_title_print("Hand-off in memory, 20 waiters");
    round_trip_us = measure_round_trip(&peer);
    load.connections = WAITERS + 1;
    load.request = request_turn;
    load.replied = note_turn;
    load.replied_context = &handoffs;
    load.seconds = 4 * (double)bench_round_ns(ROUND_MS) / 1e9;
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
    size_t live = bench_amount(LIVE, LIVE_SMOKE);

    load.step_count = 1;
    load.depth = FILL_DEPTH;
    load.request = request_live;
    load.is_counting = true;
    load.seconds = 600;
    load.turns_max = live / CONNECTIONS;
    result = load_run(&load);
    if (result.unexpected > 0 || result.turns != live) {
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
    bench_title_print("Many live requests: a million in a full run");
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
    bench_begin("bench-service", "The service, beside bare servers and others'");
    measure_in_memory(&programs);
    measure_durable(&programs);
    measure_handoff(&programs);
    measure_start(&programs);
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}
