/* SPDX-License-Identifier: Apache-2.0 */
/* Clients by the library, and rounds in which they and those by hand take turns. */
#include "database.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "lockkeeper/lockkeeper.h"

enum {
    DEAD_ROUNDS = 3,
    CLIENTS_MAX = 25,
    WARM_UP = 16, /* what a client does before the clock starts: more than it takes to keep plans */
    WARM_UP_BATCHES = 4,
    BATCH_SMOKE = 5,
};

enum { ROUND_MS = 1000 };

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

/* Claims and ends many items in two calls. */
static void queue_in_batches(struct database_client *client) {
    lk_store *store = open_store(client->bench->url);
    size_t max = bench_count(DATABASE_BATCH, BATCH_SMOKE);
    const char *ids[DATABASE_BATCH];
    char who[32];

    client->warmed_up = WARM_UP - WARM_UP_BATCHES;
    (void)snprintf(who, sizeof who, "worker-%u", client->number);
    while (database_is_time(client)) {
        lk_claim_request request = {.size = sizeof request, .queue = "work", .owner = who};
        lk_claim_list *list = NULL;
        uint64_t done = 0;
        lk_error error;
        if (lk_claim_many(store, &request, max, &list, &error) != LK_GRANTED) {
            bench_give_up("%s", error.text);
        }
        for (size_t i = 0; i < list->count; i++) {
            ids[i] = list->claims[i]->id;
        }
        if (lk_done_many(store, "work", ids, list->count, who, list->claims[0]->token, &done,
                         &error)
            != LK_OK) {
            bench_give_up("%s", error.text);
        }
        lk_claim_list_free(list);
        client->done += done;
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
    atomic_store(&end_ns, begun_ns + bench_round_ns(ROUND_MS));
    meet();
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_join(clients[i].thread, NULL);
        done += clients[i].done;
        ended_ns = clients[i].ended_ns > ended_ns ? clients[i].ended_ns : ended_ns;
    }
    (void)pthread_barrier_destroy(&line);
    return (double)done * 1e9 / (double)(ended_ns - begun_ns);
}

/* What a duel is about. */
struct duel {
    const struct database_bench *bench;
    const struct database_round *round;
    database_side *hand;
    database_side *library;
};

static double play_ours(void *context) {
    const struct duel *duel = context;

    return play(duel->bench, duel->library, duel->round->count, duel->round->keys);
}

static double play_theirs(void *context) {
    const struct duel *duel = context;

    if (duel->bench->companion != NULL) {
        return companion_round(duel->bench->companion, "%u %lld", duel->round->count,
                               (long long)(bench_round_ns(ROUND_MS) / 1000000));
    }
    return play(duel->bench, duel->hand, duel->round->count, duel->round->keys);
}

static void compare(const struct database_bench *bench, const char *what, const char *peer,
                    database_side *hand, database_side *library,
                    const struct database_round *round) {
    struct duel duel = {bench, round, hand, library};
    char text[128];

    if (strstr(what, bench->only) == NULL || round->count > CLIENTS_MAX) {
        return;
    }
    (void)snprintf(text, sizeof text, "%s, %u client%s", what, round->count,
                   round->count == 1 ? "" : "s");
    bench_duel(&(struct bench_duel){.what = text,
                                    .peer = peer,
                                    .unit = "/s",
                                    .bar = round->bar,
                                    .ours = play_ours,
                                    .theirs = play_theirs,
                                    .context = &duel});
}

void database_semaphores(const struct database_bench *bench, const struct database_round *rounds,
                         size_t count) {
    const char *peer = bench->semaphore_name != NULL ? bench->semaphore_name : "slot rows by hand";

    for (size_t i = 0; i < count; i++) {
        compare(bench, rounds[i].keys == 1 ? "1 key" : "100 keys", peer, bench->semaphore,
                semaphore_by_library, &rounds[i]);
    }
}

void database_queues(const struct database_bench *bench, const struct database_round *rounds,
                     size_t count) {
    for (size_t i = 0; i < count; i++) {
        compare(bench, "1 queue", "a queue table by hand", bench->queue, queue_by_library,
                &rounds[i]);
    }
}

void database_queues_beside(const struct database_bench *bench, const struct companion *peer,
                            const char *name, const struct database_round *rounds, size_t count,
                            double batch_bar) {
    char in_batches[64];

    (void)snprintf(in_batches, sizeof in_batches, "1 queue, in batches of %d", DATABASE_BATCH);
    for (size_t i = 0; i < count; i++) {
        struct database_bench other = *bench;

        other.companion = peer;
        compare(&other, "1 queue", name, NULL, queue_by_library, &rounds[i]);
    }
    for (size_t i = 0; batch_bar > 0 && i < count; i++) {
        struct database_round round = rounds[i];
        struct database_bench other = *bench;

        round.bar = batch_bar;
        other.companion = peer;
        compare(&other, in_batches, name, NULL, queue_in_batches, &round);
    }
}

void database_dead(const struct database_bench *bench, void (*leave_dead)(void)) {
    static const char what[] = "1 key, 1 client, among the dead";
    static const struct database_round round = {.count = 1, .keys = 1};
    struct duel duel = {bench, &round, NULL, semaphore_by_library};
    double without[DEAD_ROUNDS];
    double with[DEAD_ROUNDS];
    size_t count = bench_count(DEAD_ROUNDS, 1);

    if (strstr("the dead", bench->only) == NULL) {
        return;
    }
    bench_progress("100,000 expired requests");
    for (size_t i = 0; i < count; i++) {
        without[i] = bench_play(what, play_ours, &duel);
    }
    leave_dead();
    for (size_t i = 0; i < count; i++) {
        with[i] = bench_play(what, play_ours, &duel);
    }
    bench_comparison_print(&(struct bench_comparison){.what = what,
                                                      .peer = "the same without them",
                                                      .unit = "/s",
                                                      .bar = 0.67,
                                                      .ours = with,
                                                      .theirs = without,
                                                      .count = count});
}
