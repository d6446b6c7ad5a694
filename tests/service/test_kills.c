/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acknowledged changes of a service survive SIGKILL at any moment.
 *
 * Each client is a thread with paths of its own, so that no other client causes changes there. It
 * acquires a lease, writes a value, releases, pushes and finishes work, and knows the state to
 * expect after each answer. Meanwhile the service is killed and restarted repeatedly. An answer
 * UNAVAILABLE leaves two possible states until the next answer. LK_TEST_SEED chooses the moments,
 * LK_TEST_SCALE (percent) how many there are.
 */
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
/* cmocka.h needs the headers above it. */
#include <pthread.h>
#include <cmocka.h>

#include "base/random.h"
#include "launch.h"
#include "lockkeeper/lockkeeper.h"

enum { CLIENTS = 6, KILLS = 12, TTL_MS = 600000, PATIENCE_MS = 20000, TEXT_BYTES = 160 };

struct client {
    pthread_t thread;
    atomic_bool *is_over;
    lk_store *store;
    atomic_uint_fast64_t rounds;
    atomic_bool has_ended;
    uint64_t last_token;
    char path[32];
    char owner[32];
    char complaint[TEXT_BYTES]; /* empty: all was as acknowledged */
};

static void complain(struct client *client, const char *what, lk_outcome outcome) {
    if (client->complaint[0] == '\0') {
        (void)snprintf(client->complaint, sizeof client->complaint, "%s, round %llu: %s (%s)",
                       client->owner, (unsigned long long)client->rounds, what,
                       lk_outcome_name(outcome));
    }
}

/* Takes the lease, and looks whether it is there. Returns its token; 0: complained. */
static uint64_t take(struct client *client, lk_request *request) {
    lk_result *result = NULL;
    lk_listing *listing = NULL;
    uint64_t token = 0;
    lk_outcome outcome = lk_ask(client->store, request, &result, NULL);

    if (outcome != LK_GRANTED || result->token <= client->last_token) {
        complain(client, "its own path was not granted again", outcome);
    } else {
        token = result->token;
    }
    lk_result_free(result);
    if (token != 0) {
        outcome = lk_list(client->store, client->path, &listing, NULL);
        if (outcome != LK_OK || listing->count != 1 || listing->entries[0].token != token
            || !listing->entries[0].held) {
            complain(client, "a grant is not there", outcome);
        }
        lk_listing_free(outcome == LK_OK ? listing : NULL);
    }
    client->last_token = token;
    return token;
}

static void look_at_value(struct client *client, const char *expected) {
    lk_value *value = NULL;
    lk_outcome outcome = lk_value_get(client->store, client->path, &value, NULL);

    if (outcome != LK_OK || strcmp(value->bytes, expected) != 0) {
        complain(client, "a value is not as it was written", outcome);
    }
    lk_value_free(outcome == LK_OK ? value : NULL);
}

/* Everything with the lease's token is repeated by the library until it is answered. */
static void write_and_release(struct client *client, lk_request *request, uint64_t token) {
    char text[32];
    lk_listing *listing = NULL;
    lk_outcome outcome;

    (void)snprintf(text, sizeof text, "a%llu", (unsigned long long)client->rounds);
    outcome =
        lk_value_put(client->store, client->path, client->owner, token, text, strlen(text), NULL);
    if (outcome != LK_OK) {
        complain(client, "a value was not written under its lease", outcome);
    }
    look_at_value(client, text);
    text[0] = 'b';
    outcome = lk_release_put(client->store, request, token, text, strlen(text), NULL, NULL);
    if (outcome != LK_OK) {
        complain(client, "a release was not acknowledged", outcome);
    }
    look_at_value(client, text);
    outcome = lk_list(client->store, client->path, &listing, NULL);
    if (outcome != LK_OK || listing->count != 0) {
        complain(client, "what was released is there", outcome);
    }
    lk_listing_free(outcome == LK_OK ? listing : NULL);
}

/* A push whose answer is lost is pushed again: then there is one such item all the same. */
static void push_and_finish(struct client *client) {
    const lk_push_request push = {
        .size = sizeof push, .queue = client->path, .id = "item", .value = "v", .value_size = 1};
    const lk_claim_request request = {
        .size = sizeof request, .queue = client->path, .owner = client->owner, .ttl_ms = TTL_MS};
    lk_claim_info *claim = NULL;
    lk_item_list *items = NULL;
    lk_outcome outcome = LK_UNAVAILABLE;

    for (int attempt = 0; attempt < 100 && outcome == LK_UNAVAILABLE; attempt++) {
        outcome = lk_push(client->store, &push, NULL, NULL);
    }
    if (outcome != LK_OK) {
        complain(client, "a push was not acknowledged", outcome);
        return;
    }
    outcome = lk_claim_next(client->store, &request, &claim, NULL);
    if (outcome != LK_GRANTED || claim->attempt != 1) {
        complain(client, "what was pushed is not there, or was claimed before", outcome);
        lk_claim_free(outcome == LK_GRANTED ? claim : NULL);
        return;
    }
    outcome = lk_done(client->store, client->path, "item", client->owner, claim->token, NULL);
    lk_claim_free(claim);
    if (outcome != LK_OK) {
        complain(client, "a claim could not be finished", outcome);
    }
    outcome = lk_items(client->store, client->path, &items, NULL);
    if (outcome != LK_OK || items->count != 0) {
        complain(client, "what was done is there", outcome);
    }
    lk_item_list_free(outcome == LK_OK ? items : NULL);
}

static void *keep(void *context) {
    struct client *client = context;
    const char *parts[] = {client->path};
    lk_request request = lk_request_init(parts, 1);

    request.owner = client->owner;
    request.style = LK_TRY;
    request.ttl_ms = TTL_MS;
    request.patience_ms = PATIENCE_MS;
    while (!atomic_load(client->is_over) && client->complaint[0] == '\0') {
        uint64_t token = take(client, &request);
        if (token != 0) {
            write_and_release(client, &request, token);
            push_and_finish(client);
        }
        client->rounds++;
    }
    atomic_store(&client->has_ended, true);
    return NULL;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void start_keepers(struct client *clients, const char *url, atomic_bool *is_over) {
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &clients[i];

        *client = (struct client){.is_over = is_over};
        (void)snprintf(client->path, sizeof client->path, "k%u/here", i);
        (void)snprintf(client->owner, sizeof client->owner, "client%u", i);
        assert_int_equal(lk_open(url, &client->store, NULL), LK_OK);
        assert_int_equal(pthread_create(&client->thread, NULL, keep, client), 0);
    }
}

static int kill_count(void) {
    const char *scale = getenv("LK_TEST_SCALE");
    int count = scale != NULL ? KILLS * atoi(scale) / 100 : KILLS;

    return count > 3 ? count : 3;
}

static void pause_ms(int64_t duration_ms) {
    const struct timespec pause = {.tv_sec = duration_ms / 1000,
                                   .tv_nsec = duration_ms % 1000 * 1000000};
    (void)nanosleep(&pause, NULL);
}

/* Every client has got through a whole round, so that no call fails for longer than its patience
 * lasts, however slow the machine. */
static void wait_for_rounds(struct client *clients) {
    for (unsigned i = 0; i < CLIENTS; i++) {
        uint64_t before = atomic_load(&clients[i].rounds);

        while (atomic_load(&clients[i].rounds) < before + 2
               && !atomic_load(&clients[i].has_ended)) {
            pause_ms(1);
        }
    }
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *address) {
    (void)status;
    (void)type;
    (void)address;
    return remove(path);
}

static void test_nothing_acknowledged_is_lost(void **state) {
    const char *seed = getenv("LK_TEST_SEED");
    struct lk_random random = {.state = seed != NULL ? strtoull(seed, NULL, 10) : lk_random_draw()};
    char folder[] = "/tmp/lk-kills-XXXXXX";
    char path[64];
    char url[80];
    struct service service = {.program = *state};
    struct client clients[CLIENTS];
    atomic_bool is_over = false;

    print_message("# LK_TEST_SEED=%llu\n", (unsigned long long)random.state);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/s", folder);
    (void)snprintf(url, sizeof url, "lk+unix:%s", path);
    assert_true(service_place(&service, path) && service_start(&service));
    start_keepers(clients, url, &is_over);
    for (int i = 0; i < kill_count(); i++) {
        if (i % 2 == 1) {
            wait_for_rounds(clients);
        }
        pause_ms(lk_random_between(&random, 1, 400)); /* what is random here is the moment */
        (void)service_end(&service, SIGKILL);
        assert_true(service_start(&service));
    }
    atomic_store(&is_over, true);
    for (unsigned i = 0; i < CLIENTS; i++) {
        assert_int_equal(pthread_join(clients[i].thread, NULL), 0);
        lk_close(clients[i].store);
        if (clients[i].complaint[0] != '\0') {
            fail_msg("%s", clients[i].complaint);
        }
        assert_true(clients[i].rounds > 0);
    }
    assert_int_equal(service_end(&service, SIGTERM), 0);
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int start(void **state) {
    *state = getenv("LK_PROGRAM");
    return *state != NULL ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_acknowledged_is_lost)};

    return cmocka_run_group_tests(tests, start, NULL);
}
