/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service has acknowledged is there after kill -9, at whatever moment it comes.
 *
 * Each keeper is a thread with paths of its own, so that nobody else can be the cause of a change:
 * it takes a lease, writes a value, releases, pushes and finishes work, and after each answer it
 * knows what must be there. The service is killed and started anew meanwhile, again and again. An
 * answer UNAVAILABLE leaves two states possible until the next one tells. LK_TEST_SEED chooses the
 * moments, LK_TEST_SCALE (percent) how many there are.
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
/* cmocka.h needs what stands above it. */
#include <pthread.h>
#include <cmocka.h>

#include "base/random.h"
#include "launch.h"
#include "lockkeeper/lockkeeper.h"

enum { KEEPERS = 6, KILLS = 12, TTL_MS = 600000, PATIENCE_MS = 20000, TEXT_BYTES = 160 };

struct keeper {
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

static void complain(struct keeper *keeper, const char *what, lk_outcome outcome) {
    if (keeper->complaint[0] == '\0') {
        (void)snprintf(keeper->complaint, sizeof keeper->complaint, "%s, round %llu: %s (%s)",
                       keeper->owner, (unsigned long long)keeper->rounds, what,
                       lk_outcome_name(outcome));
    }
}

/* Takes the lease, and looks whether it is there. Returns its token; 0: complained. */
static uint64_t take(struct keeper *keeper, lk_request *request) {
    lk_result *result = NULL;
    lk_listing *listing = NULL;
    uint64_t token = 0;
    lk_outcome outcome = lk_ask(keeper->store, request, &result, NULL);

    if (outcome != LK_GRANTED || result->token <= keeper->last_token) {
        complain(keeper, "its own path was not granted anew", outcome);
    } else {
        token = result->token;
    }
    lk_result_free(result);
    if (token != 0) {
        outcome = lk_list(keeper->store, keeper->path, &listing, NULL);
        if (outcome != LK_OK || listing->count != 1 || listing->entries[0].token != token
            || !listing->entries[0].held) {
            complain(keeper, "a grant is not there", outcome);
        }
        lk_listing_free(outcome == LK_OK ? listing : NULL);
    }
    keeper->last_token = token;
    return token;
}

static void look_at_value(struct keeper *keeper, const char *expected) {
    lk_value *value = NULL;
    lk_outcome outcome = lk_value_get(keeper->store, keeper->path, &value, NULL);

    if (outcome != LK_OK || strcmp(value->bytes, expected) != 0) {
        complain(keeper, "a value is not as it was written", outcome);
    }
    lk_value_free(outcome == LK_OK ? value : NULL);
}

/* Everything with the lease's token is repeated by the library until it is answered. */
static void write_and_release(struct keeper *keeper, lk_request *request, uint64_t token) {
    char text[32];
    lk_listing *listing = NULL;
    lk_outcome outcome;

    (void)snprintf(text, sizeof text, "a%llu", (unsigned long long)keeper->rounds);
    outcome =
        lk_value_put(keeper->store, keeper->path, keeper->owner, token, text, strlen(text), NULL);
    if (outcome != LK_OK) {
        complain(keeper, "a value was not written under its lease", outcome);
    }
    look_at_value(keeper, text);
    text[0] = 'b';
    outcome = lk_release_put(keeper->store, request, token, text, strlen(text), NULL, NULL);
    if (outcome != LK_OK) {
        complain(keeper, "a release was not acknowledged", outcome);
    }
    look_at_value(keeper, text);
    outcome = lk_list(keeper->store, keeper->path, &listing, NULL);
    if (outcome != LK_OK || listing->count != 0) {
        complain(keeper, "what was released is there", outcome);
    }
    lk_listing_free(outcome == LK_OK ? listing : NULL);
}

/* A push whose answer is lost is pushed again: then there is one such item all the same. */
static void push_and_finish(struct keeper *keeper) {
    const lk_push_request push = {
        .size = sizeof push, .queue = keeper->path, .id = "item", .value = "v", .value_size = 1};
    const lk_claim_request request = {
        .size = sizeof request, .queue = keeper->path, .owner = keeper->owner, .ttl_ms = TTL_MS};
    lk_claim_info *claim = NULL;
    lk_item_list *items = NULL;
    lk_outcome outcome = LK_UNAVAILABLE;

    for (int attempt = 0; attempt < 100 && outcome == LK_UNAVAILABLE; attempt++) {
        outcome = lk_push(keeper->store, &push, NULL, NULL);
    }
    if (outcome != LK_OK) {
        complain(keeper, "a push was not acknowledged", outcome);
        return;
    }
    outcome = lk_claim_next(keeper->store, &request, &claim, NULL);
    if (outcome != LK_GRANTED || claim->attempt != 1) {
        complain(keeper, "what was pushed is not there, or was claimed before", outcome);
        lk_claim_free(outcome == LK_GRANTED ? claim : NULL);
        return;
    }
    outcome = lk_done(keeper->store, keeper->path, "item", keeper->owner, claim->token, NULL);
    lk_claim_free(claim);
    if (outcome != LK_OK) {
        complain(keeper, "a claim could not be finished", outcome);
    }
    outcome = lk_items(keeper->store, keeper->path, &items, NULL);
    if (outcome != LK_OK || items->count != 0) {
        complain(keeper, "what was done is there", outcome);
    }
    lk_item_list_free(outcome == LK_OK ? items : NULL);
}

static void *keep(void *context) {
    struct keeper *keeper = context;
    const char *parts[] = {keeper->path};
    lk_request request = lk_request_init(parts, 1);

    request.owner = keeper->owner;
    request.style = LK_TRY;
    request.ttl_ms = TTL_MS;
    request.patience_ms = PATIENCE_MS;
    while (!atomic_load(keeper->is_over) && keeper->complaint[0] == '\0') {
        uint64_t token = take(keeper, &request);
        if (token != 0) {
            write_and_release(keeper, &request, token);
            push_and_finish(keeper);
        }
        keeper->rounds++;
    }
    atomic_store(&keeper->has_ended, true);
    return NULL;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void start_keepers(struct keeper *keepers, const char *url, atomic_bool *is_over) {
    for (unsigned i = 0; i < KEEPERS; i++) {
        struct keeper *keeper = &keepers[i];

        *keeper = (struct keeper){.is_over = is_over};
        (void)snprintf(keeper->path, sizeof keeper->path, "k%u/here", i);
        (void)snprintf(keeper->owner, sizeof keeper->owner, "keeper%u", i);
        assert_int_equal(lk_open(url, &keeper->store, NULL), LK_OK);
        assert_int_equal(pthread_create(&keeper->thread, NULL, keep, keeper), 0);
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

/* Everybody has got through a whole round, so that nobody's call is in vain for longer than it is
 * patient, however slow the machine. */
static void wait_for_rounds(struct keeper *keepers) {
    for (unsigned i = 0; i < KEEPERS; i++) {
        uint64_t before = atomic_load(&keepers[i].rounds);

        while (atomic_load(&keepers[i].rounds) < before + 2
               && !atomic_load(&keepers[i].has_ended)) {
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
    struct keeper keepers[KEEPERS];
    atomic_bool is_over = false;

    print_message("# LK_TEST_SEED=%llu\n", (unsigned long long)random.state);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/s", folder);
    (void)snprintf(url, sizeof url, "lk+unix:%s", path);
    assert_true(service_place(&service, path) && service_start(&service));
    start_keepers(keepers, url, &is_over);
    for (int i = 0; i < kill_count(); i++) {
        if (i % 2 == 1) {
            wait_for_rounds(keepers);
        }
        pause_ms(lk_random_between(&random, 1, 400)); /* what is random here is the moment */
        (void)service_end(&service, SIGKILL);
        assert_true(service_start(&service));
    }
    atomic_store(&is_over, true);
    for (unsigned i = 0; i < KEEPERS; i++) {
        assert_int_equal(pthread_join(keepers[i].thread, NULL), 0);
        lk_close(keepers[i].store);
        if (keepers[i].complaint[0] != '\0') {
            fail_msg("%s", keepers[i].complaint);
        }
        assert_true(keepers[i].rounds > 0);
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
