/* SPDX-License-Identifier: Apache-2.0 */
/* Clients by the library, and rounds in which they and those by hand take turns. */
#include "database.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "lockkeeper/lockkeeper.h"

enum {
    ROUNDS = 3,
    CLIENTS_MAX = 25,
    WARM_UP = 16, /* what a client does before the clock starts: more than it takes to keep plans */
};

#define ROUND_NS INT64_C(2000000000)

/* Met twice before a round: when all are warm, and when its end is known. */
static pthread_barrier_t line;
static atomic_llong end_ns;

static void meet(void) {
    (void)pthread_barrier_wait(&line);
}

bool database_is_time(struct database_client *client) {
    if (client->warmed_up < WARM_UP) {
        client->warmed_up++;
        return true;
    }
    if (client->ended_ns == 0) {
        client->done = 0;
        meet();
        meet();
    }
    client->ended_ns = bench_now_ns();
    return client->ended_ns < atomic_load(&end_ns);
}

/* ---- by the library -------------------------------------------------------------------------- */

static lk_store *open_store(const char *url) {
    lk_store *store;
    lk_error error;

    if (lk_open(url, &store, &error) != LK_OK) {
        bench_give_up("%s", error.text);
    }
    return store;
}

static void semaphore_by_library(struct database_client *client) {
    lk_store *store = open_store(client->bench->url);
    char who[32];
    char part[64];
    const char *const parts[] = {part};

    (void)snprintf(who, sizeof who, "worker-%u", client->number);
    for (unsigned at = client->number * 7; database_is_time(client); at++) {
        lk_request request = lk_request_init(parts, 1);
        lk_result *result = NULL;
        lk_error error;
        (void)snprintf(part, sizeof part, "key%u/now?limit=%d", at % client->keys, DATABASE_SLOTS);
        request.owner = who;
        request.style = LK_TRY;
        if (lk_ask(store, &request, &result, &error) != LK_GRANTED
            || lk_release(store, &request, result->token, NULL, &error) != LK_OK) {
            bench_give_up("%s", error.text);
        }
        lk_result_free(result);
        client->done++;
    }
    lk_close(store);
}

static void queue_by_library(struct database_client *client) {
    lk_store *store = open_store(client->bench->url);
    char who[32];

    (void)snprintf(who, sizeof who, "worker-%u", client->number);
    while (database_is_time(client)) {
        lk_claim_request request = {.size = sizeof request, .queue = "work", .owner = who};
        lk_claim_info *claim = NULL;
        lk_error error;
        if (lk_claim_next(store, &request, &claim, &error) != LK_GRANTED
            || lk_done(store, "work", claim->id, who, claim->token, &error) != LK_OK) {
            bench_give_up("%s", error.text);
        }
        lk_claim_free(claim);
        client->done++;
    }
    lk_close(store);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void *run_client(void *context) {
    struct database_client *client = context;

    client->side(client);
    return NULL;
}

static double play(const struct database_bench *bench, database_side *side, unsigned count,
                   unsigned keys) {
    struct database_client clients[CLIENTS_MAX] = {{.number = 0}};
    int64_t begun_ns;
    int64_t ended_ns = 0;
    uint64_t done = 0;

    if (pthread_barrier_init(&line, NULL, count + 1) != 0) {
        bench_give_up("no barrier");
    }
    for (unsigned i = 0; i < count; i++) {
        clients[i] =
            (struct database_client){.bench = bench, .number = i, .keys = keys, .side = side};
        if (pthread_create(&clients[i].thread, NULL, run_client, &clients[i]) != 0) {
            bench_give_up("no thread");
        }
    }
    meet();
    begun_ns = bench_now_ns();
    atomic_store(&end_ns, begun_ns + ROUND_NS);
    meet();
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_join(clients[i].thread, NULL);
        done += clients[i].done;
        ended_ns = clients[i].ended_ns > ended_ns ? clients[i].ended_ns : ended_ns;
    }
    (void)pthread_barrier_destroy(&line);
    return (double)done * 1e9 / (double)(ended_ns - begun_ns);
}

static void compare(const struct database_bench *bench, const char *what, database_side *hand,
                    database_side *library, const struct database_round *round) {
    double by_hands[ROUNDS];
    double by_library[ROUNDS];
    double ratios[ROUNDS];
    char text[128];

    if (strstr(what, bench->only) == NULL || round->count > CLIENTS_MAX) {
        return;
    }
    bench_progress("%s, %u clients", what, round->count);
    for (unsigned i = 0; i < ROUNDS; i++) {
        by_hands[i] = play(bench, hand, round->count, round->keys);
        by_library[i] = play(bench, library, round->count, round->keys);
        ratios[i] = by_library[i] / by_hands[i];
    }
    (void)snprintf(text, sizeof text, "%s, %2u clients: by hand", what, round->count);
    bench_figure_print(text, bench_median(by_hands, ROUNDS), "/s");
    (void)snprintf(text, sizeof text, "%s, %2u clients: Lockkeeper", what, round->count);
    bench_figure_print(text, bench_median(by_library, ROUNDS), "/s");
    bench_at_least_print("  ratio", bench_median(ratios, ROUNDS), round->bar, "times");
}

void database_semaphores(const struct database_bench *bench, const struct database_round *rounds,
                         size_t count) {
    for (size_t i = 0; i < count; i++) {
        compare(bench, rounds[i].keys == 1 ? "1 key" : "100 keys", bench->semaphore,
                semaphore_by_library, &rounds[i]);
    }
}

void database_queues(const struct database_bench *bench, const struct database_round *rounds,
                     size_t count) {
    for (size_t i = 0; i < count; i++) {
        compare(bench, "1 queue", bench->queue, queue_by_library, &rounds[i]);
    }
}

void database_dead(const struct database_bench *bench, void (*leave_dead)(void)) {
    double without[ROUNDS];
    double with[ROUNDS];

    if (strstr("the dead", bench->only) == NULL) {
        return;
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        without[i] = play(bench, semaphore_by_library, 1, 1);
    }
    leave_dead();
    for (unsigned i = 0; i < ROUNDS; i++) {
        with[i] = play(bench, semaphore_by_library, 1, 1);
    }
    bench_figure_print("1 key, 1 client, without the dead", bench_median(without, ROUNDS), "/s");
    bench_figure_print("among them", bench_median(with, ROUNDS), "/s");
    bench_at_most_print("  slower", bench_median(without, ROUNDS) / bench_median(with, ROUNDS), 1.5,
                        "times");
}
