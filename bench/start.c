/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of a service with a million live requests: filled by the service's own core and store,
 * in batches; then loaded by a process that has nothing in memory yet. Leases of an hour stay as
 * they are; those of a minute are all moved by a restart (R11), which is a write more for each.
 *
 * usage: bench-start [FOLDER [REQUESTS]]
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench.h"
#include "server/core/core.h"
#include "server/store/store.h"

enum { REQUESTS = 1000000, BATCH = 10000 };

static const char *const files[] = {"locks.db", "locks.db-wal", "locks.db-shm", "locks.db-served"};

struct service {
    struct lk_core *core;
    struct lk_storage *store;
};

static struct lk_times now(void) {
    return (struct lk_times){.now_us = lk_clock_now_us(), .wall_us = lk_clock_wall_us()};
}

static void open_store(struct service *service, const char *folder) {
    const struct lk_store_sqlite_options options = {.directory = folder};
    const struct lk_core_config config = {.epoch = "bench"};
    lk_error error;

    if (lk_store_sqlite_open(&options, &service->store, &error) != LK_OK) {
        bench_give_up("%s", error.text);
    }
    service->core = lk_core_new(&config);
}

static void load(struct service *service) {
    struct lk_times times = now();
    const struct lk_model_config config = lk_core_model_config(service->core, &times);
    struct lk_core_snapshot *image;
    lk_error error;

    if (service->store->ops->load(service->store, &config, &times, &image, &error) != LK_OK
        || lk_core_restore(service->core, image, &times, &error) != LK_OK) {
        bench_give_up("%s", error.text);
    }
}

static void write_batch(struct service *service) {
    const struct lk_batch *batch = lk_core_take_batch(service->core);
    struct lk_times times = now();
    lk_error error;

    if (batch != NULL) {
        if (service->store->ops->write(service->store, batch, &error) != LK_OK) {
            bench_give_up("%s", error.text);
        }
        lk_core_batch_durable(service->core, &times);
    }
}

static void on_answer(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *reply) {
    (void)peer;
    (void)tag;
    (void)batch;
    if (reply->answer->outcome != LK_GRANTED) {
        bench_give_up("an ask was not granted: %s", reply->answer->text);
    }
}

static void on_durable(void *peer, uint64_t batch) {
    (void)peer;
    (void)batch;
}

static void on_failed(void *peer, const char *why) {
    (void)peer;
    bench_give_up("%s", why);
}

static void fill(const char *folder, int count, int64_t ttl_ms) {
    static const struct lk_session_ops ops = {
        .answer = on_answer, .durable = on_durable, .failed = on_failed};
    struct service service;
    struct lk_session *session;
    struct lk_times times = now();

    open_store(&service, folder);
    load(&service);
    (void)lk_core_session_open(service.core, &ops, NULL, &session, NULL);
    for (int i = 0; i < count; i++) {
        char path[32];
        char owner[32];
        struct lk_part part = {.mode = LK_EXCLUSIVE};
        struct lk_call call = {.kind = LK_CALL_COMMAND, .command.kind = LK_COMMAND_ASK};

        (void)snprintf(path, sizeof path, "db%d/t%d", i / 1000, i % 1000);
        (void)snprintf(owner, sizeof owner, "worker-%d", i);
        (void)lk_path_parse(lk_slice_of(path), &part.path, NULL);
        call.command.ask = (struct lk_ask){.owner = lk_slice_of(owner),
                                           .parts = &part,
                                           .part_count = 1,
                                           .style = LK_TRY,
                                           .ttl_ms = ttl_ms};
        times = now();
        lk_core_call(service.core, session, &call, &times);
        if (i % BATCH == BATCH - 1 || i == count - 1) {
            write_batch(&service);
        }
    }
    lk_core_session_close(service.core, session, &times);
    lk_core_free(service.core);
    service.store->ops->close(service.store);
}

/* In a process of its own, whose memory is nothing but this. */
static void start(const char *folder, int count, const char *what) {
    struct service service;
    struct lk_core_stats stats;
    char text[128];
    int64_t begun_ns = bench_now_ns();
    int64_t begun_processor_ns = bench_processor_ns();
    double seconds;

    open_store(&service, folder);
    load(&service);
    seconds = (double)(bench_now_ns() - begun_ns) / 1e9;
    lk_core_stats(service.core, &stats);
    (void)snprintf(text, sizeof text, "start-up, %d live requests, %s", count, what);
    bench_at_most_print(text, seconds, 10, "s");
    bench_figure_print("  of these, in the processor",
                       (double)(bench_processor_ns() - begun_processor_ns) / 1e9, "s");
    (void)snprintf(text, sizeof text, "resident memory, %d live requests, %s", count, what);
    bench_at_most_print(text, (double)bench_resident_bytes() / 1e6, 400, "MB");
    bench_figure_print("  of these, the core by its own count", (double)stats.bytes / 1e6, "MB");
}

static void in_child(const char *folder, int count, const char *what, int64_t ttl_ms) {
    int status = 0;
    pid_t child;

    (void)fflush(stdout);
    child = fork();
    if (child == 0) {
        if (ttl_ms != 0) {
            int64_t begun_ns = bench_now_ns();
            fill(folder, count, ttl_ms);
            bench_figure_print("asks made durable, batches of 10000",
                               (double)count / ((double)(bench_now_ns() - begun_ns) / 1e9), "/s");
        } else {
            start(folder, count, what);
        }
        (void)fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
        bench_give_up("a part of the benchmark has failed");
    }
}

static void empty(const char *folder) {
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        (void)unlink(path);
    }
}

int main(int argc, char **argv) {
    char folder[PATH_MAX - 64];
    int count = argc > 2 ? atoi(argv[2]) : (int)bench_amount(REQUESTS, REQUESTS / 100);

    (void)snprintf(folder, sizeof folder, "%s/bench-start-XXXXXX", argc > 1 ? argv[1] : ".");
    if (mkdtemp(folder) == NULL) {
        bench_give_up("%s: %s", folder, strerror(errno));
    }
    bench_begin("bench-start", "The start of a service");
    bench_title_print("The start of a service");
    bench_progress("filling a store with %d leases of an hour", count);
    in_child(folder, count, NULL, 3600000);
    in_child(folder, count, "leases of an hour", 0);
    empty(folder);
    bench_progress("filling a store with %d leases of a minute", count);
    in_child(folder, count, NULL, 60000);
    in_child(folder, count, "leases of a minute", 0);
    empty(folder);
    (void)rmdir(folder);
    return 0;
}
