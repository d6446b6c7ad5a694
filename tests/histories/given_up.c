/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given_up FAR NEAR ROUNDS
 *
 * Calls that are given up at a random moment, on a store that is far away: by cancellation, or by
 * their patience. The store has been asked, and its answer comes late or never. Afterwards nothing
 * that a call has made is left: no lease, no queued request, no claimed item. What was there before
 * the call stays. FAR and NEAR are two URLs of one store; all is checked over NEAR.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../support.h"
#include "base/clock.h"
#include "base/random.h"
#include "lockkeeper/lockkeeper.h"

enum {
    THREADS = 8,
    MOMENT_MS_MAX = 400,
    TTL_MS = 600000,
    WAIT_MS = 20000,
    TEXT_BYTES = 128,
    OPENINGS_MAX = 12
};

enum kind {
    KIND_FRESH,  /* an owner that the call makes */
    KIND_NAMED,  /* an owner of the caller's */
    KIND_QUEUED, /* the path is held by another owner: the call waits in the queue */
    KIND_OLDER,  /* the owner holds the lease before the call */
    KIND_TRY,
    KIND_ENTER, /* the queue */
    KIND_CLAIM,
    KIND_NAMED_CLAIM, /* of an owner of the caller's */
    KIND_COUNT
};
static const char *const kind_names[] = {"fresh owner", "named owner", "queued", "older lease",
                                         "try",         "enter",       "claim",  "named claim"};

struct thread {
    pthread_t thread;
    const char *far;
    const char *near;
    unsigned rounds;
    struct lk_random random;
};

static atomic_uint left_count;
static atomic_uint doubtful_count; /* see is_doubtful() */
static atomic_uint given_up_count;
static atomic_uint number;

static void nap_ms(int64_t duration_ms) {
    const struct timespec nap = {.tv_sec = duration_ms / 1000,
                                 .tv_nsec = duration_ms % 1000 * 1000000};

    (void)nanosleep(&nap, NULL);
}

/* A busy machine and a server that seems frozen may need longer than one opening waits. */
static lk_store *open_store(const char *url) {
    lk_store *store;
    lk_error error;
    lk_outcome outcome = LK_UNAVAILABLE;

    for (unsigned i = 0; i < OPENINGS_MAX && outcome == LK_UNAVAILABLE; i++) {
        outcome = lk_open(url, &store, &error);
    }
    if (outcome != LK_OK) {
        test_die("%s: %s", url, error.text);
    }
    return store;
}

struct cancelling {
    lk_cancel *cancel;
    int64_t after_ms;
};

static void *cancel_later(void *context) {
    struct cancelling *cancelling = context;

    nap_ms(cancelling->after_ms);
    lk_cancel_now(cancelling->cancel);
    return NULL;
}

/* Whether a request of the owner (NULL: any but `but`) is there; *ret_token is its token. */
static bool is_there(lk_store *near, const char *path, const char *owner, const char *but,
                     uint64_t *ret_token) {
    lk_listing *listing = NULL;
    lk_error error;
    bool is_found = false;

    if (lk_list(near, path, &listing, &error) != LK_OK) {
        test_die("list: %s", error.text);
    }
    for (size_t i = 0; i < listing->count && !is_found; i++) {
        const lk_entry *entry = &listing->entries[i];

        is_found = owner != NULL ? strcmp(entry->owner, owner) == 0
                                 : but == NULL || strcmp(entry->owner, but) != 0;
        *ret_token = entry->token;
    }
    lk_listing_free(listing);
    return is_found;
}

/* Gives the store's thread the time that a call has, and more. */
static bool is_left(lk_store *near, const char *path, const char *but) {
    int64_t end_us = lk_clock_now_us() + WAIT_MS * INT64_C(1000);
    uint64_t token;

    while (is_there(near, path, NULL, but, &token)) {
        if (lk_clock_now_us() > end_us) {
            return true;
        }
        nap_ms(5);
    }
    return false;
}

static lk_lease *hold(lk_store *near, const char *path, const char *owner) {
    const char *parts[] = {path};
    lk_request request = lk_request_init(parts, 1);
    lk_lease *lease = NULL;
    lk_error error;

    request.owner = owner;
    request.ttl_ms = TTL_MS;
    if (lk_acquire(near, &request, &lease, NULL, &error) != LK_GRANTED) {
        test_die("hold: %s", error.text);
    }
    return lease;
}

/* What the store does not answer is looked for afterwards. */
static void release(lk_lease *lease) {
    lk_outcome outcome = lk_lease_release(lease, NULL);

    if (outcome != LK_OK && outcome != LK_LOST) {
        lk_lease_abandon(lease);
    }
}

/* A call that is given up, of an owner of its kind. Returns the outcome. */
static lk_outcome call_lock(lk_store *far, enum kind kind, const char *path, const char *owner,
                            lk_cancel *cancel, int64_t patience_ms) {
    const char *parts[] = {path};
    lk_request request = lk_request_init(parts, 1);
    lk_lease *lease = NULL;
    lk_outcome outcome;

    request.owner = kind == KIND_FRESH ? NULL : owner;
    request.ttl_ms = TTL_MS;
    request.cancel = cancel;
    request.patience_ms = patience_ms;
    request.wait_ms = kind == KIND_QUEUED && patience_ms != 0 ? patience_ms : LK_FOREVER;
    if (kind == KIND_TRY || kind == KIND_ENTER) {
        request.style = kind == KIND_TRY ? LK_TRY : LK_QUEUE;
        outcome = lk_ask(far, &request, NULL, NULL);
        if (outcome == LK_GRANTED) {
            (void)lk_release(far, &request, 0, NULL, NULL);
        }
        return outcome;
    }
    outcome = lk_acquire(far, &request, &lease, NULL, NULL);
    if (outcome == LK_GRANTED && kind == KIND_OLDER) {
        lk_lease_abandon(lease);
    } else if (outcome == LK_GRANTED) {
        release(lease);
    }
    return outcome;
}

static lk_outcome call_claim(lk_store *far, const char *queue, const char *owner, lk_cancel *cancel,
                             int64_t patience_ms) {
    lk_claim_request request = {.size = sizeof request, .queue = queue, .wait_ms = LK_FOREVER};
    lk_claim_info *claim = NULL;
    lk_outcome outcome;

    request.owner = owner;
    request.cancel = cancel;
    request.ttl_ms = TTL_MS;
    request.patience_ms = patience_ms;
    outcome = lk_claim_next(far, &request, &claim, NULL);
    if (outcome == LK_GRANTED) {
        (void)lk_retry(far, queue, claim->id, claim->owner, claim->token, 0, NULL);
        lk_claim_free(claim);
    }
    return outcome;
}

static void push(lk_store *near, const char *queue) {
    const lk_push_request request = {.size = sizeof request, .queue = queue, .id = "item"};
    lk_error error;

    if (lk_push(near, &request, NULL, &error) != LK_OK) {
        test_die("push: %s", error.text);
    }
}

/*
 * A named owner's request is taken back if it is younger than the call. A listing tells its age to
 * a part of a round trip, and in doubt it stays. No answer says more where the time was up.
 */
static bool is_doubtful(enum kind kind, bool by_patience) {
    return by_patience && kind != KIND_FRESH && kind != KIND_CLAIM && kind != KIND_NAMED_CLAIM;
}

static void play(struct thread *thread, lk_store *far, lk_store *near) {
    enum kind kind = (enum kind)(lk_random_next(&thread->random) % KIND_COUNT);
    bool is_claim = kind == KIND_CLAIM || kind == KIND_NAMED_CLAIM;
    bool by_patience = lk_random_next(&thread->random) % 4 == 0;
    int64_t moment_ms = lk_random_between(&thread->random, 1, MOMENT_MS_MAX);
    struct cancelling cancelling = {.cancel = lk_cancel_new(), .after_ms = moment_ms};
    char path[TEXT_BYTES];
    char owner[TEXT_BYTES];
    lk_lease *held = NULL;
    pthread_t canceller;
    uint64_t token = 0;
    lk_outcome outcome;

    (void)snprintf(path, sizeof path, "given-up-%d/%u", (int)getpid(),
                   atomic_fetch_add(&number, 1));
    (void)snprintf(owner, sizeof owner, "caller of %.64s", path);
    if (kind == KIND_QUEUED || kind == KIND_OLDER) {
        held = hold(near, path, kind == KIND_OLDER ? owner : "holder");
    } else if (is_claim) {
        push(near, path);
    }
    if (!by_patience && pthread_create(&canceller, NULL, cancel_later, &cancelling) != 0) {
        test_die("no thread");
    }
    outcome = is_claim ? call_claim(far, path, kind == KIND_NAMED_CLAIM ? owner : NULL,
                                    cancelling.cancel, by_patience ? moment_ms : 0)
                       : call_lock(far, kind, path, owner, cancelling.cancel,
                                   by_patience ? moment_ms : 0);
    if (!by_patience) {
        (void)pthread_join(canceller, NULL);
    }
    lk_cancel_free(cancelling.cancel);
    atomic_fetch_add(&given_up_count, outcome == LK_CANCELLED || outcome == LK_UNAVAILABLE);
    if (is_left(near, path, kind == KIND_OLDER ? owner : kind == KIND_QUEUED ? "holder" : NULL)) {
        (void)fprintf(stderr, "left: %s, %s after %d ms: %s, %s\n", kind_names[kind],
                      by_patience ? "patience" : "cancelled", (int)moment_ms,
                      lk_outcome_name(outcome), path);
        atomic_fetch_add(is_doubtful(kind, by_patience) ? &doubtful_count : &left_count, 1);
    }
    if (kind == KIND_OLDER
        && (!is_there(near, path, owner, NULL, &token) || token != lk_lease_token(held))) {
        (void)fprintf(stderr, "ended: the older lease, %s after %d ms: %s\n",
                      by_patience ? "patience" : "cancelled", (int)moment_ms,
                      lk_outcome_name(outcome));
        atomic_fetch_add(&left_count, 1);
    }
    if (held != NULL) {
        release(held);
    }
}

static void *run(void *context) {
    struct thread *thread = context;
    lk_store *near = open_store(thread->near);
    lk_store *far = open_store(thread->far);

    for (unsigned i = 0; i < thread->rounds; i++) {
        play(thread, far, near);
    }
    lk_close(far);
    lk_close(near);
    return NULL;
}

int main(int count, char **words) {
    struct lk_random random = test_random();
    struct thread threads[THREADS];
    unsigned rounds = count > 3 ? test_scaled((unsigned)atoi(words[3])) : 0;

    if (rounds == 0) {
        test_die("usage: given_up FAR NEAR ROUNDS");
    }
    lk_close(open_store(words[2])); /* the tables are made once, and not by all threads at a time */
    for (unsigned i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.far = words[1],
                                     .near = words[2],
                                     .rounds = (rounds + i) / THREADS,
                                     .random = {lk_random_next(&random)}};
        if (pthread_create(&threads[i].thread, NULL, run, &threads[i]) != 0) {
            test_die("no thread");
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i].thread, NULL);
    }
    printf("%u of %u calls were given up; %u left something, %u in doubt\n",
           atomic_load(&given_up_count), rounds, atomic_load(&left_count),
           atomic_load(&doubtful_count));
    return atomic_load(&left_count) == 0 && atomic_load(&doubtful_count) <= 1 + rounds / 100 ? 0
                                                                                             : 1;
}
