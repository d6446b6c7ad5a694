/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the library share; and the engine in memory, wrapped in one that fails on
 * request.
 */
#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../stretch.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "client/keepalive.h"
#include "client/store.h"
#include "engine/memory/memory.h"
#include "engine/reply/reply.h"

static const char *scheme;

void choose_scheme(int argc, char **argv) {
    if (argc != 2 || (strcmp(argv[1], "mem") != 0 && strcmp(argv[1], "sqlite") != 0)) {
        (void)fprintf(stderr, "usage: %s mem|sqlite\n", argv[0]);
        exit(EXIT_FAILURE);
    }
    scheme = argv[1];
}

int open_fixture(void **state) {
    const char *base = getenv("TMPDIR");
    struct fixture *fixture = calloc(1, sizeof *fixture);
    lk_error error;

    assert_non_null(fixture);
    (void)snprintf(fixture->directory, sizeof fixture->directory, "%.64s/lk-library-XXXXXX",
                   base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(fixture->directory));
    if (strcmp(scheme, "mem") == 0) {
        (void)snprintf(fixture->url, sizeof fixture->url, "mem:test");
    } else {
        (void)snprintf(fixture->url, sizeof fixture->url, "sqlite:%s/locks.db", fixture->directory);
    }
    if (lk_open(fixture->url, &fixture->store, &error) != LK_OK) {
        fail_msg("%s: %s", fixture->url, error.text);
    }
    *state = fixture;
    return 0;
}

static void remove_directory(const char *path) {
    DIR *directory = opendir(path);

    assert_non_null(directory);
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            assert_int_equal(unlinkat(dirfd(directory), entry->d_name, 0), 0);
        }
    }
    closedir(directory);
    assert_int_equal(rmdir(path), 0);
}

int close_fixture(void **state) {
    struct fixture *fixture = *state;

    lk_close(fixture->store);
    remove_directory(fixture->directory);
    free(fixture);
    return 0;
}

lk_store *open_again(const struct fixture *fixture) {
    lk_store *store = NULL;

    assert_int_equal(lk_open(fixture->url, &store, NULL), LK_OK);
    return store;
}

/* ---- short ways to ask ----------------------------------------------------------------------- */

lk_request request_of(const char *owner, const char *const *part) {
    lk_request request = lk_request_init(part, 1);

    request.owner = owner;
    request.style = LK_TRY;
    return request;
}

lk_outcome try_part(lk_store *store, const char *owner, const char *part) {
    lk_request request = request_of(owner, &part);

    return lk_ask(store, &request, NULL, NULL);
}

lk_outcome queue_part(lk_store *store, const char *owner, const char *part) {
    lk_request request = request_of(owner, &part);

    request.style = LK_QUEUE;
    return lk_ask(store, &request, NULL, NULL);
}

lk_outcome release_part(lk_store *store, const char *owner, const char *part) {
    lk_request request = request_of(owner, &part);

    return lk_release(store, &request, 0, NULL, NULL);
}

lk_outcome renew_part(lk_store *store, const char *owner, const char *part) {
    lk_request request = request_of(owner, &part);

    return lk_renew(store, &request, 0, NULL, NULL);
}

size_t break_path(lk_store *store, const char *path, bool at_once) {
    const lk_break_request request = {
        .size = sizeof request, .path = path, .reason = "test", .by = "tester", .at_once = at_once};
    size_t count = SIZE_MAX;

    assert_int_equal(lk_break(store, &request, &count, NULL), LK_OK);
    return count;
}

static size_t count_requests(lk_store *store, bool only_waiting) {
    lk_listing *listing = NULL;
    size_t count = 0;
    lk_error error;

    if (lk_list(store, NULL, &listing, &error) != LK_OK) {
        fail_msg("%s: %s", lk_outcome_name(error.outcome), error.text);
    }
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        bool is_first_part =
            i == 0 || entry->request_index != listing->entries[i - 1].request_index;

        count += is_first_part && !(only_waiting && entry->held);
    }
    lk_listing_free(listing);
    return count;
}

size_t count_live(lk_store *store) {
    return count_requests(store, false);
}

size_t count_waiting(lk_store *store) {
    return count_requests(store, true);
}

/* ---- waiting --------------------------------------------------------------------------------- */

int stretched(int duration_ms) {
    return duration_ms * test_stretch();
}

int64_t now_ms(void) {
    return lk_clock_now_us() / 1000;
}

static void pause_ms(long duration_ms) {
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = duration_ms * 1000000};

    (void)nanosleep(&pause, NULL);
}

void wait_until_waiting(lk_store *store, size_t count) {
    int64_t bound_ms = now_ms() + BOUND_MS;

    while (count_waiting(store) != count) {
        assert_true(now_ms() < bound_ms);
        pause_ms(2);
    }
}

void wait_until_ms(int64_t instant_ms) {
    while (now_ms() < instant_ms) {
        pause_ms(5);
    }
}

int scaled(int count) {
    const char *scale = getenv("LK_TEST_SCALE");
    int percent = scale != NULL ? atoi(scale) : 100;
    int part = (int)((int64_t)count * percent / 100);

    return part > 0 ? part : 1;
}

/* ---- waiters --------------------------------------------------------------------------------- */

void waiter_prepare(struct waiter *waiter, lk_store *store, const char *owner, const char *part) {
    *waiter = (struct waiter){.store = store, .part = part};
    waiter->request = lk_request_init(&waiter->part, 1);
    waiter->request.owner = owner;
}

static void *wait_in_line(void *context) {
    struct waiter *waiter = context;

    waiter->outcome = lk_ask(waiter->store, &waiter->request, &waiter->result, &waiter->error);
    return NULL;
}

void waiter_start(struct waiter *waiter) {
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_in_line, waiter), 0);
}

lk_outcome waiter_join(struct waiter *waiter) {
    assert_int_equal(pthread_join(waiter->thread, NULL), 0);
    return waiter->outcome;
}

void waiter_done(struct waiter *waiter) {
    lk_result_free(waiter->result);
}

/* ---- a store that fails on request ----------------------------------------------------------- */

enum { DISTANCE_MS = 10 };

static struct faulty *of(struct lk_engine *engine) {
    return (struct faulty *)engine;
}

/* Sleeps until the time budget ends or the waker is triggered. */
static lk_outcome hang(const struct lk_patience *patience) {
    while (lk_clock_now_us() < patience->until_us) {
        int64_t left_us = patience->until_us - lk_clock_now_us();

        if (patience->waker == NULL) {
            wait_until_ms(patience->until_us / 1000 + 1);
        } else if (lk_waker_sleep(patience->waker, left_us)) {
            return LK_CANCELLED;
        }
    }
    return LK_UNAVAILABLE;
}

/* Applies the fault before a call reaches the inner engine. LK_OK: pass the call on. */
static lk_outcome before(struct faulty *faulty, const struct lk_patience *patience) {
    atomic_fetch_add(&faulty->calls, 1);
    switch ((enum fault)atomic_load(&faulty->fault)) {
    case REFUSING:
        return LK_UNAVAILABLE;
    case HANGING:
        return hang(patience);
    case DISTANT:
    case LOST_AFAR:
    case LOST_AFAR_THEN_AWAY:
        if (patience->until_us - lk_clock_now_us() < DISTANCE_MS * INT64_C(1000)) {
            return hang(patience);
        }
        wait_until_ms(now_ms() + DISTANCE_MS);
        break;
    case NO_FAULT:
    case LATE:
    case ANSWER_LOST:
        break;
    }
    return LK_OK;
}

/* Applies the fault to the answer. */
static lk_outcome after(struct faulty *faulty, struct lk_decision *decision) {
    switch ((enum fault)atomic_load(&faulty->fault)) {
    case LATE:
        wait_until_ms(atomic_load(&faulty->answer_at_ms));
        break;
    case LOST_AFAR_THEN_AWAY:
        set_fault(faulty, REFUSING);
        return lk_decision_fail(decision, LK_UNAVAILABLE, "the answer is lost");
    case ANSWER_LOST:
    case LOST_AFAR:
        return lk_decision_fail(decision, LK_UNAVAILABLE, "the answer is lost");
    case NO_FAULT:
    case REFUSING:
    case DISTANT:
    case HANGING:
        break;
    }
    return decision->error.outcome;
}

static bool is_hung(const struct faulty *faulty, const struct lk_renew *renew) {
    const struct lk_path *path = &renew->target.parts[0].path;

    return faulty->hung != NULL
           && lk_slice_equal((struct lk_slice){path->bytes, path->size}, lk_slice_of(faulty->hung));
}

/* Applies the faults of renewals alone. LK_OK: renew. */
static lk_outcome before_renewal(struct faulty *faulty, const struct lk_renew *renew,
                                 const struct lk_patience *patience) {
    int trip_ms = atomic_load(&faulty->trip_ms);
    lk_outcome outcome = is_hung(faulty, renew) ? hang(patience) : LK_OK;

    if (outcome == LK_OK && trip_ms > 0) {
        wait_until_ms(now_ms() + trip_ms);
    }
    return outcome;
}

static lk_outcome decide(struct lk_engine *engine, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *ret_decision) {
    struct faulty *faulty = of(engine);
    bool is_exempt = command->kind == LK_COMMAND_BREAK || command->kind == LK_COMMAND_PUSH;
    lk_outcome outcome;

    if (command->kind == LK_COMMAND_RELEASE) {
        atomic_store(&faulty->release_us, patience->until_us - lk_clock_now_us());
    }
    outcome = is_exempt ? LK_OK : before(faulty, patience);
    if (outcome == LK_OK && command->kind == LK_COMMAND_RENEW) {
        outcome = before_renewal(faulty, &command->renew, patience);
    }
    if (outcome != LK_OK) {
        lk_decision_begin(ret_decision, command);
        return lk_error_set(&ret_decision->error, outcome, "away");
    }
    if (atomic_load(&faulty->says_sent)) {
        lk_patience_note_sent(patience);
    }
    outcome = faulty->inner->ops->decide(faulty->inner, command, patience, ret_decision);
    atomic_fetch_add(&faulty->renewals, command->kind == LK_COMMAND_RENEW && outcome == LK_OK);
    return is_exempt ? outcome : after(faulty, ret_decision);
}

static lk_outcome decide_many(struct lk_engine *engine, const struct lk_command *commands,
                              size_t count, const struct lk_patience *patience,
                              struct lk_series *series) {
    struct faulty *faulty = of(engine);
    lk_outcome outcome = before(faulty, patience);

    if (outcome != LK_OK) {
        lk_series_begin(series, commands, count);
        return lk_error_set(&series->error, outcome, "away");
    }
    outcome =
        faulty->inner->ops->batches->decide_many(faulty->inner, commands, count, patience, series);
    return atomic_load(&faulty->fault) == ANSWER_LOST
               ? lk_series_fail(series, LK_UNAVAILABLE, "the answer is lost")
               : outcome;
}

static lk_outcome await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                        int64_t until_us, struct lk_waker *waker) {
    struct lk_engine *inner = of(engine)->inner;

    return inner->ops->await(inner, cursor, until_us, waker);
}

static lk_outcome list(struct lk_engine *engine, const struct lk_path *prefix,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       struct lk_error *error) {
    struct lk_engine *inner = of(engine)->inner;

    return inner->ops->list(inner, prefix, patience, ret_listing, error);
}

static lk_outcome audit(struct lk_engine *engine, const struct lk_path *prefix,
                        const struct lk_patience *patience, lk_audit **ret_audit,
                        struct lk_error *error) {
    struct lk_engine *inner = of(engine)->inner;

    return inner->ops->audit(inner, prefix, patience, ret_audit, error);
}

static lk_outcome stats(struct lk_engine *engine, const struct lk_path *queue,
                        enum lk_stats_depth depth, const struct lk_patience *patience,
                        lk_queue_stats *ret_stats, lk_error *error) {
    struct lk_engine *inner = of(engine)->inner;

    return inner->ops->stats(inner, queue, depth, patience, ret_stats, error);
}

static void close_faulty(struct lk_engine *engine) {
    struct lk_engine *inner = of(engine)->inner;

    inner->ops->close(inner);
    free(engine);
}

static const struct lk_batch_ops faulty_batches = {.decide_many = decide_many};

static const struct lk_engine_ops faulty_ops = {
    .scheme = "faulty",
    .title = "for tests",
    .capabilities = LK_CAN_QUEUE | LK_CAN_ROOTS | LK_CAN_DEADLOCK | LK_CAN_EXCLUSIVE,
    .close = close_faulty,
    .decide = decide,
    .await = await,
    .list = list,
    .audit = audit,
    .stats = stats,
    .batches = &faulty_batches,
};

lk_store *open_faulty(struct faulty **ret_faulty) {
    const struct lk_memory_options options = {.time = NULL};
    struct faulty *faulty = calloc(1, sizeof *faulty);
    lk_store *store = calloc(1, sizeof *store);

    assert_non_null(faulty);
    assert_non_null(store);
    faulty->engine.ops = &faulty_ops;
    assert_int_equal(lk_memory_open(lk_slice_of(""), &options, &faulty->inner, NULL), LK_OK);
    store->engine = &faulty->engine;
    store->url = lk_text_copy(lk_slice_of("faulty:"));
    store->opened_by = getpid();
    lk_contact_init(&store->contact);
    store->keepalive = lk_keepalive_new(store->engine, &store->contact);
    assert_non_null(store->keepalive);
    store->has_leftovers = lk_leftovers_init(&store->leftovers, store->engine, store->url);
    assert_true(store->has_leftovers);
    *ret_faulty = faulty;
    return store;
}

void set_fault(struct faulty *faulty, enum fault fault) {
    atomic_store(&faulty->fault, fault);
}

int calls_of(struct faulty *faulty) {
    return atomic_load(&faulty->calls);
}

void wait_for_renewals(struct faulty *faulty, int count) {
    int64_t bound_ms = now_ms() + BOUND_MS;

    while (atomic_load(&faulty->renewals) < count) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 1);
    }
}

void wait_for_calls(struct faulty *faulty, int count) {
    int64_t bound_ms = now_ms() + BOUND_MS;

    while (calls_of(faulty) < count) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 1);
    }
}
