/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries that are refused by a store in MariaDB, beside procedures like database-semaphore's on the
 * same server:
 *
 *     tests/mysql/with_server.sh --durable bench-refusals-mysql
 *
 * All permits of a semaphore are held. A try of the library is told the holders; one of the peer is
 * told no more than that it got none.
 */
#include <stdio.h>

#include "bench.h"
#include "by_hand_mysql.h"
#include "store.h"

enum { TRY_MS = 500, LONG_MS = 3600000 };

static const char *const held_parts[] = {"full/now?limit=30"};

static lk_request try_of(const char *owner) {
    lk_request request = lk_request_init(held_parts, 1);

    request.owner = owner;
    request.style = LK_TRY;
    request.ttl_ms = LONG_MS;
    return request;
}

static void hold_all(lk_store *store) {
    MYSQL *connection = by_hand_connect();
    char ignored[64];

    for (int i = 0; i < DATABASE_SLOTS; i++) {
        char owner[32];
        lk_request request = try_of(owner);
        lk_result *result = NULL;
        lk_error error = {0};
        (void)snprintf(owner, sizeof owner, "holder-%d", i);
        bench_must(lk_ask(store, &request, &result, &error), LK_GRANTED, "a permit", &error);
        lk_result_free(result);
        by_hand_run(connection, "CALL take_permit('full', 3600, 30)", ignored, sizeof ignored);
    }
    mysql_close(connection);
}

/* ---- what a refusal costs -------------------------------------------------------------------- */

struct sides {
    lk_store *store;
    MYSQL *connection;
};

static void refused_by_library(lk_store *store) {
    lk_request request = try_of("trier");
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
            refused_by_library(sides->store);
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

int main(void) {
    const char *url = by_hand_url();
    struct sides sides;

    bench_begin("bench-refusals-mysql", "Tries that a store in MariaDB refuses");
    database_semaphore_prepare();
    sides = (struct sides){.store = bench_store_open(url), .connection = by_hand_connect()};
    hold_all(sides.store);
    bench_title_print("A try of a semaphore whose permits are all held");
    bench_duel(&(struct bench_duel){.what = "1 client, refused",
                                    .peer = database_semaphore_name,
                                    .unit = "us",
                                    .is_cost = true,
                                    .bar = 1.0,
                                    .ours = refusals_by_library,
                                    .theirs = refusals_by_hand,
                                    .context = &sides});
    mysql_close(sides.connection);
    lk_close(sides.store);
    return 0;
}
