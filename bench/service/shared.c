/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What services cost that share a store, beside one with a file of its own on the same disk; and
 * how long calls are not answered when the one that leads is lost.
 *
 *     bench-shared LK NAME URL     the store by its name in the rows and its URL; or, instead of
 *     bench-shared LK etcd         a database, an etcd that is started for it; beside its own locks
 *                                  and those of ZooKeeper
 *
 * Both sides are loaded by the same loop and take turns. The processor time is that of a service:
 * the database has its own.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../bench.h"
#include "load.h"
#include "peers.h"
#include "sides.h"

enum { PATH_BYTES = 512, BARS = 3, MEMBERS = 2, PATIENCE_S = 120, SECOND_NS = 1000000000 };

struct bench {
    const char *lk;
    const char *name; /* of the store */
    const char *url;
    double least; /* of the single service's pairs, with 50 connections; 0: no bar */
    char folder[PATH_BYTES - 64];
};

/* ---- the services ---------------------------------------------------------------------------- */

static struct peer start_shared(const struct bench *bench) {
    const char *words[] = {"--store", bench->url, "--failover", bench_is_smoke() ? "500ms" : "3s",
                           NULL};

    return side_start_service(bench->lk, bench->folder, words);
}

static struct peer start_single(const struct bench *bench) {
    char directory[PATH_BYTES];
    const char *words[] = {"--dir", directory, NULL};

    (void)snprintf(directory, sizeof directory, "%s/single", bench->folder);
    return side_start_service(bench->lk, bench->folder, words);
}

/* The call whose text is the context. */
static void request_text(const void *context, size_t number, size_t step,
                         struct load_request *ret_request) {
    (void)number;
    (void)step;
    load_resp_render(ret_request, "%s", (const char *)context);
}

static bool expect_answer(size_t step, const char *reply, size_t size) {
    (void)step;
    return size > 0 && reply[0] != '-';
}

static bool expect_caught_up(size_t step, const char *reply, size_t size) {
    static const char field[] = "\r\ncaught_up:1\r\n";

    (void)step;
    return memmem(reply, size, field, sizeof field - 1) != NULL;
}

/* A call, and what it is answered when the service is as far as that. */
struct stage {
    const char *name;
    const char *call;
    struct load_protocol protocol;
};

static const struct stage leading = {"has led", "LIMITS", {load_resp_reply_size, expect_answer}};
static const struct stage caught_up = {
    "has caught up", "INFO", {load_resp_reply_size, expect_caught_up}};

static bool is_at(const struct peer *peer, const struct stage *stage) {
    struct load load = side_load(peer, &stage->protocol);

    load.connections = 1;
    load.step_count = 1;
    load.turns_max = 1;
    load.request = request_text;
    load.context = stage->call;
    load.seconds = PATIENCE_S;
    return load_run(&load).unexpected == 0;
}

static void wait_until(const struct peer *peer, const struct stage *stage) {
    const struct timespec moment = {.tv_nsec = 2000000};
    int64_t end_ns = bench_now_ns() + PATIENCE_S * INT64_C(1000000000);

    while (!is_at(peer, stage)) {
        if (bench_now_ns() > end_ns) {
            bench_give_up("no service %s for %d s; see service.log", stage->name, PATIENCE_S);
        }
        (void)nanosleep(&moment, NULL);
    }
}

/* ---- pairs and hand-offs --------------------------------------------------------------------- */

static void print_title(const char *what, const struct bench *bench) {
    char title[BENCH_TEXT_BYTES];

    (void)snprintf(title, sizeof title, "Services on %s: %s", bench->name, what);
    bench_title_print(title);
}

static void measure_pairs(const struct bench *bench, struct side *ours, struct side *theirs) {
    const struct bars single[BARS] = {{1, 0, 0}, {50, bench->least, 0}, {500, 0, 0}};

    print_title("acquire + release, each connection its own lock", bench);
    side_compare_all(ours, theirs, single, BARS);
}

static void print_handoffs(const char *name, const struct peer *peer) {
    struct handoff_figures figures = handoffs_measure(peer);
    char what[96];

    (void)snprintf(what, sizeof what, "%s: hand-off p50", name);
    bench_figure_print(what, figures.half_us, "us");
    (void)snprintf(what, sizeof what, "%s: hand-off p99", name);
    bench_figure_print(what, figures.p99_us, "us");
}

static void measure_beside_single(const struct bench *bench) {
    struct side ours = side_of("lk serve --store", start_shared(bench), &side_service_protocol);
    struct side theirs = side_of("lk serve --dir", start_single(bench), &side_service_protocol);

    wait_until(&ours.peer, &leading);
    measure_pairs(bench, &ours, &theirs);
    print_title("hand-off, 20 waiters", bench);
    print_handoffs(ours.name, &ours.peer);
    print_handoffs(theirs.name, &theirs.peer);
    peer_stop(&theirs.peer);
    peer_stop(&ours.peer);
}

/* ---- fail-overs ------------------------------------------------------------------------------ */

static struct peer start_follower(const struct bench *bench) {
    struct peer peer = start_shared(bench);

    wait_until(&peer, &caught_up);
    return peer;
}

/* The one that leads ends, and is started again to follow. Seconds until the other one answers. */
static double fail_over(const struct bench *bench, struct peer members[MEMBERS], int number) {
    struct peer lost = members[0];
    int64_t begun_ns = bench_now_ns();
    double took_s;

    (void)kill(lost.pid, number);
    wait_until(&members[1], &leading);
    took_s = (double)(bench_now_ns() - begun_ns) / SECOND_NS;
    peer_stop(&lost);
    members[0] = members[1];
    members[1] = start_follower(bench);
    return took_s;
}

/* A bar for what is lost with 100,000 leases; a million of them in a full run alone. */
static void measure_fail_overs(const struct bench *bench) {
    static const size_t sizes[] = {1000, 100000, 1000000};
    static const double bars_s[] = {0, 5, 0};
    size_t count = bench_is_short() ? 2 : bench_count(3, 1);
    struct peer members[MEMBERS];
    char what[96];

    print_title("fail-over, `--failover 3s`", bench);
    members[0] = start_shared(bench);
    wait_until(&members[0], &leading);
    members[1] = start_follower(bench);
    for (size_t i = 0; i < count; i++) {
        bench_progress("taking %zu leases", sizes[i]);
        (void)side_fill(&members[0], sizes[i]);
        (void)snprintf(what, sizeof what, "until another one leads, killed with %zu live",
                       sizes[i]);
        if (bars_s[i] > 0) {
            bench_at_most_print(what, fail_over(bench, members, SIGKILL), bars_s[i], "s");
        } else {
            bench_figure_print(what, fail_over(bench, members, SIGKILL), "s");
        }
        (void)snprintf(what, sizeof what, "until another one leads, ended with %zu live", sizes[i]);
        bench_figure_print(what, fail_over(bench, members, SIGTERM), "s");
    }
    peer_stop(&members[1]);
    peer_stop(&members[0]);
}

/* ---- stores ---------------------------------------------------------------------------------- */

/*
 * The locks that a client makes of etcd's own transactions, by its gateway, for which the bar is,
 * and in the protocol that its clients in Go speak. ZooKeeper is the other service for that, with
 * its files on the same disk.
 */
static void measure_beside_etcd(const struct bench *bench, struct side *etcd) {
    static const struct bars bars[BARS] = {{1, 0, 0}, {50, 5, 0}, {500, 5, 0}};
    static const struct bars none[BARS] = {{1, 0, 0}, {50, 0, 0}, {500, 0, 0}};
    struct side by_grpc = lock_service_side_of(&lock_service_etcd_grpc, etcd->peer);
    struct side locks = lock_service_side_of(&lock_service_etcd_locks, etcd->peer);
    struct side ours = side_of("lk serve --store", start_shared(bench), &side_service_protocol);

    wait_until(&ours.peer, &leading);
    print_title("acquire + release, beside etcd's own and ZooKeeper", bench);
    side_compare_all(&ours, etcd, bars, BARS);
    side_compare_all(&ours, &by_grpc, none, BARS);
    lock_service_etcd_grant(&etcd->peer);
    side_compare_all(&ours, &locks, none, BARS);
    lock_service_compare(&ours, &lock_service_zookeeper, bench->folder, none, BARS);
    peer_stop(&ours.peer);
}

static void measure_on_etcd(struct bench *bench) {
    char url[64];
    char why[BENCH_TEXT_BYTES];
    struct side etcd;

    if (!lock_service_is_there(&lock_service_etcd, why)) {
        print_title("acquire + release", bench);
        bench_missing_print("acquire + release", lock_service_etcd.name, why);
        return;
    }
    etcd = lock_service_side(&lock_service_etcd, bench->folder);
    (void)snprintf(url, sizeof url, "etcd://127.0.0.1:%d", etcd.peer.port);
    bench->url = url;
    measure_beside_etcd(bench, &etcd);
    measure_beside_single(bench);
    measure_fail_overs(bench);
    peer_stop(&etcd.peer);
}

static void measure_on_database(struct bench *bench) {
    bench->least = 0.6;
    measure_beside_single(bench);
    measure_fail_overs(bench);
}

int main(int argc, char **argv) {
    struct bench bench;

    if (argc < 3 || (argc < 4 && strcmp(argv[2], "etcd") != 0)) {
        bench_give_up("usage: bench-shared LK NAME URL | LK etcd");
    }
    bench = (struct bench){.lk = argv[1], .name = argv[2], .url = argc > 3 ? argv[3] : NULL};
    (void)signal(SIGPIPE, SIG_IGN);
    peer_folder_make(".", bench.folder, sizeof bench.folder);
    bench_begin("bench-shared", "Services that share a store, beside one with a file");
    if (bench.url != NULL) {
        measure_on_database(&bench);
    } else {
        measure_on_etcd(&bench);
    }
    peer_folder_remove(bench.folder);
    return 0;
}
