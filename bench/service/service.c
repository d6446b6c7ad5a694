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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bench.h"
#include "load.h"
#include "peers.h"
#include "sides.h"

enum {
    LIVE_SMOKE = 5000,
    PATH_BYTES = 512,
    LIVE = 1000000,
};

struct programs {
    char *lk;
    char *echo;
    const char *folder;
};

/* ---- the service ----------------------------------------------------------------------------- */

static struct peer start_service(const struct programs *programs, const char *directory) {
    const char *ephemeral[] = {"--ephemeral", NULL};
    const char *durable[] = {"--dir", directory, NULL};

    return side_start_service(programs->lk, programs->folder,
                              directory != NULL ? durable : ephemeral);
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

enum { BARS = 3 };

static void measure_in_memory(const struct programs *programs) {
    static const struct bars redis[BARS] = {{1, 0, 0}, {50, 1.3, 0.6}, {500, 1.3, 0.6}};
    static const struct bars echo[] = {{50, 0.6, 0}};
    struct side ours =
        side_of("lk serve --ephemeral", start_service(programs, NULL), &side_service_protocol);
    struct side bare = side_of("a bare RESP echo", start_echo(programs, NULL), &echo_protocol);

    bench_title_print("In memory: acquire + release, each connection its own lock");
    side_compare_all(&ours, &bare, echo, 1);
    peer_stop(&bare.peer);
    lock_service_compare(&ours, &lock_service_redis, programs->folder, redis, BARS);
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
    ours = side_of("lk serve --dir", start_service(programs, directory), &side_service_protocol);
    bare = side_of("append and fdatasync, in groups", start_echo(programs, file), &echo_protocol);
    bench_title_print("Durable: acquire + release, each connection its own lock");
    side_compare_all(&ours, &bare, log, 1);
    peer_stop(&bare.peer);
    lock_service_compare(&ours, &lock_service_redis_durable, programs->folder, redis, BARS);
    lock_service_compare(&ours, &lock_service_etcd, programs->folder, others, BARS);
    lock_service_compare(&ours, &lock_service_zookeeper, programs->folder, others, BARS);
    peer_stop(&ours.peer);
}

/* ---- hand-off -------------------------------------------------------------------------------- */

static void measure_handoff(const struct programs *programs) {
    struct peer peer = start_service(programs, NULL);
    struct handoff_figures figures;

    bench_title_print("Hand-off in memory, 20 waiters");
    figures = handoffs_measure(&peer);
    bench_figure_print("loopback round trip (PING)", figures.round_trip_us, "us");
    bench_figure_print("hand-off p50", figures.half_us, "us");
    bench_figure_print("hand-off p99", figures.p99_us, "us");
    bench_at_most_print("p50 in round trips", figures.half_us / figures.round_trip_us, 2, "times");
    bench_at_most_print("p99 in round trips", figures.p99_us / figures.round_trip_us, 10, "times");
    bench_at_most_print("most by fewest grants of a client", figures.most_by_least, 1.1, "times");
    peer_stop(&peer);
}

/* ---- a million live requests ----------------------------------------------------------------- */

static void measure_start(const struct programs *programs) {
    char directory[PATH_BYTES];
    struct peer peer;
    int64_t begun_ns;

    (void)snprintf(directory, sizeof directory, "%s/million", programs->folder);
    bench_title_print("Many live requests: a million in a full run");
    peer = start_service(programs, directory);
    bench_figure_print("taken, pipelined and durable",
                       side_fill(&peer, bench_amount(LIVE, LIVE_SMOKE)), "asks/s");
    bench_figure_print("resident memory", peer_resident_bytes(&peer) / 1e6, "MB");
    peer_stop(&peer);
    begun_ns = bench_now_ns();
    peer = start_service(programs, directory);
    bench_at_most_print("start-up", (double)(bench_now_ns() - begun_ns) / 1e9, 10, "s");
    peer_stop(&peer);
}

int main(int argc, char **argv) {
    char folder[PATH_BYTES - 64];
    struct programs programs;

    if (argc < 3) {
        bench_give_up("usage: bench-service LK ECHO [FOLDER]");
    }
    (void)signal(SIGPIPE, SIG_IGN);
    peer_folder_make(argc > 3 ? argv[3] : ".", folder, sizeof folder);
    programs = (struct programs){.lk = argv[1], .echo = argv[2], .folder = folder};
    bench_begin("bench-service", "The service, beside bare servers and others'");
    measure_in_memory(&programs);
    measure_durable(&programs);
    measure_handoff(&programs);
    measure_start(&programs);
    peer_folder_remove(folder);
    return 0;
}
