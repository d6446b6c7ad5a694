/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries that are refused by a store in MariaDB, beside procedures like database-semaphore's on the
 * same server, and how much they delay a holder that renews its lease:
 *
 *     tests/mysql/with_server.sh --durable bench-refusals-mysql
 *
 * All permits of a semaphore are held. A try of the library is told the holders; one of the peer is
 * told no more than that it got none.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "by_hand_mysql.h"
#include "database_semaphore.h"
#include "store.h"

enum { TRY_MS = 500, TRIERS = 25, RENEWALS = 1000, RENEWALS_SMOKE = 20, LONG_MS = 3600000 };

static const char *const held_parts[] = {"full/now?limit=30"};

static lk_request try_of(const char *owner) {
    lk_request request = lk_request_init(held_parts, 1);

    request.owner = owner;
    request.style = LK_TRY;
    request.ttl_ms = LONG_MS;
    return request;
}

/* The token of the last permit. */
static uint64_t hold_all(lk_store *store) {
    MYSQL *connection = by_hand_connect();
    char ignored[64];
    uint64_t token = 0;

    for (int i = 0; i < DATABASE_SLOTS; i++) {
        char owner[32];
        lk_request request = try_of(owner);
        lk_result *result = NULL;
        lk_error error = {0};
        (void)snprintf(owner, sizeof owner, "holder-%d", i);
        bench_must(lk_ask(store, &request, &result, &error), LK_GRANTED, "a permit", &error);
        token = result->token;
        lk_result_free(result);
        by_hand_run(connection, "CALL take_permit('full', 3600, 30)", ignored, sizeof ignored);
    }
    mysql_close(connection);
    return token;
}

/* ---- what a refusal costs -------------------------------------------------------------------- */

struct sides {
    lk_store *store;
    MYSQL *connection;
};

static void refused_by_library(lk_store *store, const char *owner) {
    lk_request request = try_of(owner);
    lk_result *result = NULL;
    lk_error error = {0};

    bench_must(lk_ask(store, &request, &result, &error), LK_BUSY, "a try", &error);
    lk_result_free(result);
}

/* Microseconds a refusal. */
static double refusals(const struct sides *sides, bool is_ours) {
    int64_t begun_ns = bench_now_ns();
    int64_t end_ns = begun_ns + bench_round_ns(TRY_MS);
    int64_t now_ns = begun_ns;
    char got[64];
    size_t count = 0;

    for (; count == 0 || now_ns < end_ns; now_ns = bench_now_ns(), count++) {
        if (is_ours) {
            refused_by_library(sides->store, "trier");
        } else {
            by_hand_run(sides->connection, "CALL take_permit('full', 60, 30)", got, sizeof got);
            if (got[0] != '\0') {
                bench_give_up("the peer had a permit left");
            }
        }
    }
    return (double)(now_ns - begun_ns) / 1e3 / (double)count;
}

static double refusals_by_library(void *context) {
    return refusals(context, true);
}

static double refusals_by_hand(void *context) {
    return refusals(context, false);
}

/* ---- renewals beside tries ------------------------------------------------------------------- */

struct trier {
    pthread_t thread;
    const char *url;
    int number;
    const atomic_bool *is_over;
};

static void *try_on(void *context) {
    const struct trier *trier = context;
    lk_store *store = bench_store_open(trier->url);
    char owner[32];

    (void)snprintf(owner, sizeof owner, "trier-%d", trier->number);
    while (!atomic_load(trier->is_over)) {
        refused_by_library(store, owner);
    }
    lk_close(store);
    return NULL;
}

/* Microseconds, of a hundred renewals all but one are within. */
static double renewals(lk_store *store, uint64_t token) {
    static double costs_us[RENEWALS];
    size_t count = bench_count(RENEWALS, RENEWALS_SMOKE);
    char owner[32];
    lk_request request = try_of(owner);

    (void)snprintf(owner, sizeof owner, "holder-%d", DATABASE_SLOTS - 1);
    for (size_t i = 0; i < count; i++) {
        int64_t begun_ns = bench_now_ns();
        lk_error error = {0};
        bench_must(lk_renew(store, &request, token, NULL, &error), LK_OK, "a renewal", &error);
        costs_us[i] = (double)(bench_now_ns() - begun_ns) / 1e3;
    }
    (void)bench_median(costs_us, count);
    return bench_quantile(costs_us, count, 0.99);
}

static double renewals_beside(lk_store *store, const char *url, uint64_t token) {
    struct trier triers[TRIERS];
    atomic_bool is_over = false;
    double got;

    for (int i = 0; i < TRIERS; i++) {
        triers[i] = (struct trier){.url = url, .number = i, .is_over = &is_over};
        if (pthread_create(&triers[i].thread, NULL, try_on, &triers[i]) != 0) {
            bench_give_up("no thread");
        }
    }
    got = renewals(store, token);
    atomic_store(&is_over, true);
    for (int i = 0; i < TRIERS; i++) {
        (void)pthread_join(triers[i].thread, NULL);
    }
    return got;
}

int main(void) {
    const char *url = by_hand_url();
    struct sides sides;
    uint64_t token;
    double quiet_us;
    double beside_us;

    bench_begin("bench-refusals-mysql", "Tries that a store in MariaDB refuses");
    database_semaphore_prepare();
    sides = (struct sides){.store = bench_store_open(url), .connection = by_hand_connect()};
    token = hold_all(sides.store);
    bench_title_print("A try of a semaphore whose permits are all held");
    bench_duel(&(struct bench_duel){.what = "1 client, refused",
                                    .peer = database_semaphore_name,
                                    .unit = "us",
                                    .is_cost = true,
                                    .bar = 1.0,
                                    .ours = refusals_by_library,
                                    .theirs = refusals_by_hand,
                                    .context = &sides});
    bench_title_print("Renewals of one holder: 99 of 100 take at most");
    quiet_us = renewals(sides.store, token);
    quiet_us = renewals(sides.store, token); /* the first ones warm it up */
    beside_us = renewals_beside(sides.store, url, token);
    bench_figure_print("alone", quiet_us, "us");
    bench_figure_print("beside 25 clients that try without a pause", beside_us, "us");
    bench_at_most_print("beside them, to alone", beside_us / quiet_us, 3, "times");
    mysql_close(sides.connection);
    lk_close(sides.store);
    return 0;
}
