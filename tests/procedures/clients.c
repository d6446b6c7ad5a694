/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients URL
 *
 * Threads that wait, try and claim in loops, and give back what they get after a moment, until the
 * store is of another format: each is then refused as LK_UNSUPPORTED. Ends with 0 if all are, and
 * each has given back all that it was given; prints how much that is. formats.sh brings the store
 * to another format meanwhile.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../support.h"
#include "lockkeeper/lockkeeper.h"

enum { THREADS = 5, CLAIMING = 3, PAUSE_MS_MAX = 400, WAIT_MS = 2000, TTL_MS = 600000, TRIES = 12 };

struct client {
    pthread_t thread;
    unsigned number;
    const char *url;
    lk_store *store;
    struct lk_random random;
    lk_error error;
};

static atomic_ulong given;
static atomic_ulong given_back;

static void pause_for(struct client *client, unsigned ms_max) {
    (void)poll(NULL, 0, (int)(lk_random_next(&client->random) % (ms_max + 1)));
}

static lk_outcome lock(struct client *client) {
    char owner[32];
    const char *parts[] = {client->number == 0 ? "own" : "db/t1"};
    lk_request request = lk_request_init(parts, 1);
    lk_lease *lease = NULL;
    lk_outcome outcome;

    (void)snprintf(owner, sizeof owner, "client-%u", client->number);
    request.owner = owner;
    request.ttl_ms = TTL_MS;
    request.style = client->number == 0 ? LK_TRY : LK_WAIT;
    request.wait_ms = WAIT_MS;
    outcome = lk_acquire(client->store, &request, &lease, NULL, &client->error);
    if (outcome != LK_GRANTED) {
        return outcome;
    }
    atomic_fetch_add(&given, 1);
    pause_for(client, 2);
    for (unsigned i = 0; i < TRIES && (outcome == LK_GRANTED || outcome == LK_UNAVAILABLE); i++) {
        outcome = lk_lease_release(lease, &client->error);
    }
    if (outcome != LK_OK) {
        test_die("what was granted cannot be released: %s", client->error.text);
    }
    atomic_fetch_add(&given_back, 1);
    return LK_OK;
}

static lk_outcome work(struct client *client) {
    char id[32];
    char owner[32];
    lk_push_request item = {.size = sizeof item, .queue = "mail", .id = id};
    lk_claim_request request = {
        .size = sizeof request, .queue = "mail", .owner = owner, .ttl_ms = TTL_MS};
    lk_claim_info *claim = NULL;
    lk_outcome outcome;

    (void)snprintf(owner, sizeof owner, "client-%u", client->number);
    (void)snprintf(id, sizeof id, "%u-%08" PRIx64, client->number, lk_random_next(&client->random));
    outcome = lk_push(client->store, &item, NULL, &client->error);
    if (outcome == LK_OK) {
        outcome = lk_claim_next(client->store, &request, &claim, &client->error);
    }
    if (outcome != LK_GRANTED) {
        return outcome;
    }
    atomic_fetch_add(&given, 1);
    for (unsigned i = 0; i < TRIES && (outcome == LK_GRANTED || outcome == LK_UNAVAILABLE); i++) {
        outcome =
            lk_done(client->store, claim->queue, claim->id, owner, claim->token, &client->error);
    }
    if (outcome != LK_OK) {
        test_die("what was claimed cannot be finished: %s", client->error.text);
    }
    atomic_fetch_add(&given_back, 1);
    lk_claim_free(claim);
    return LK_OK;
}

static void *run(void *context) {
    struct client *client = context;
    lk_outcome outcome;

    do {
        outcome = lk_open(client->url, &client->store, &client->error);
    } while (outcome == LK_UNAVAILABLE); /* a busy machine */
    while (outcome != LK_UNSUPPORTED) {
        if (outcome != LK_OK && outcome != LK_BUSY && outcome != LK_TIMEOUT
            && outcome != LK_UNAVAILABLE) { /* a busy machine */
            test_die("client %u: %s", client->number, client->error.text);
        }
        pause_for(client, PAUSE_MS_MAX);
        outcome = client->number < CLAIMING ? lock(client) : work(client);
    }
    lk_close(client->store); /* NULL: it was late */
    return NULL;
}

int main(int argc, char **argv) {
    struct client clients[THREADS];
    struct lk_random random = test_random();

    if (argc != 2) {
        test_die("usage: clients URL");
    }
    memset(clients, 0, sizeof clients);
    for (unsigned i = 0; i < THREADS; i++) {
        clients[i].number = i;
        clients[i].url = argv[1];
        clients[i].random = (struct lk_random){.state = lk_random_next(&random)};
        if (pthread_create(&clients[i].thread, NULL, run, &clients[i]) != 0) {
            test_die("no thread");
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        (void)pthread_join(clients[i].thread, NULL);
        printf("%s\n", clients[i].error.text);
    }
    printf("given %lu, given back %lu\n", atomic_load(&given), atomic_load(&given_back));
    return atomic_load(&given) == atomic_load(&given_back) && atomic_load(&given) > 0 ? 0 : 1;
}
