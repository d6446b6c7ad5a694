/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread, the verifications to do, and a list of those that are done. Each origin has a queue
 * of its own, and the queues are served in turn, one verification each: however many logins come
 * from other addresses, one from here waits for one of each of them.
 */
#include "server/connections/verifier.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"

enum { NICE = 19 }; /* the least: calls that come meanwhile hardly wait */

struct lk_verification {
    TAILQ_ENTRY(lk_verification) list;
    LIST_ENTRY(lk_verification) all; /* only the loop's */
    struct lk_verifier *verifier;
    uint64_t origin;
    struct queue *queue; /* in which it waits; NULL: none. Guarded by the verifier's mutex */
    bool is_refused;     /* it had to leave its queue for another one; then it is not counted */
    lk_verified *done;   /* NULL: cancelled; only the loop's */
    void *context;
    int which;
    size_t count;
    char password[LK_PASSWORD_BYTES_MAX + 1];
    char hashes[LK_USER_SECRETS_MAX][LK_PASSWORD_HASH_BYTES_MAX + 1];
};

TAILQ_HEAD(verifications, lk_verification);
/* What waits from one origin; in the ring exactly while something does. */
struct queue {
    TAILQ_ENTRY(queue) ring;
    uint64_t origin;
    size_t count; /* 0: the entry is free */
    struct verifications waiting;
};

TAILQ_HEAD(queues, queue);
LIST_HEAD(all_verifications, lk_verification);

struct lk_verifier {
    int descriptor;
    size_t count; /* of both lists, and the one that is being verified; only the loop's */
    struct all_verifications all; /* the same; only the loop's */
    pthread_t thread;

    pthread_mutex_t mutex; /* guards the fields below */
    pthread_cond_t changed;
    struct queue queues[LK_VERIFICATIONS_MAX];
    struct queues ring; /* those that are not empty, the next one to be served first */
    struct verifications done;
    bool is_stopping;
};

static void verification_free(struct lk_verification *verification) {
    explicit_bzero(verification->password, sizeof verification->password);
    free(verification);
}

/* ---- queues: with the mutex ------------------------------------------------------------------ */

static struct queue *find_queue(struct lk_verifier *verifier, uint64_t origin) {
    struct queue *queue;

    TAILQ_FOREACH(queue, &verifier->ring, ring) {
        if (queue->origin == origin) {
            return queue;
        }
    }
    return NULL;
}

/* Behind those of its origin. There is a free queue: no more verifications wait than there are
 * queues. */
static void enqueue(struct lk_verifier *verifier, struct lk_verification *verification) {
    struct queue *queue = find_queue(verifier, verification->origin);

    if (queue == NULL) {
        queue = verifier->queues;
        while (queue->count > 0) {
            queue++;
        }
        queue->origin = verification->origin;
        TAILQ_INIT(&queue->waiting);
        TAILQ_INSERT_TAIL(&verifier->ring, queue, ring);
    }
    queue->count++;
    verification->queue = queue;
    TAILQ_INSERT_TAIL(&queue->waiting, verification, list);
}

static void dequeue(struct lk_verifier *verifier, struct lk_verification *verification) {
    struct queue *queue = verification->queue;

    verification->queue = NULL;
    TAILQ_REMOVE(&queue->waiting, verification, list);
    if (--queue->count == 0) {
        TAILQ_REMOVE(&verifier->ring, queue, ring);
    }
}

/* The first one of the queue whose turn it is; NULL: none waits. */
static struct lk_verification *take_next(struct lk_verifier *verifier) {
    struct queue *queue = TAILQ_FIRST(&verifier->ring);
    struct lk_verification *next = queue != NULL ? TAILQ_FIRST(&queue->waiting) : NULL;

    if (next != NULL) {
        dequeue(verifier, next);
    }
    if (queue != NULL && queue->count > 0) {
        TAILQ_REMOVE(&verifier->ring, queue, ring);
        TAILQ_INSERT_TAIL(&verifier->ring, queue, ring);
    }
    return next;
}

static void add_done(struct lk_verifier *verifier, struct lk_verification *verification) {
    const uint64_t one = 1;

    TAILQ_INSERT_TAIL(&verifier->done, verification, list);
    (void)!write(verifier->descriptor, &one, sizeof one);
}

/*
 * The last one of the longest queue, if that would still not be shorter than the queue of this
 * origin with one more; NULL: there is none.
 */
static struct lk_verification *find_displaced(struct lk_verifier *verifier, uint64_t origin) {
    const struct queue *own = find_queue(verifier, origin);
    size_t least = (own != NULL ? own->count : 0) + 2;
    const struct queue *longest = NULL;
    const struct queue *queue;

    TAILQ_FOREACH(queue, &verifier->ring, ring) {
        if (queue->count >= (longest != NULL ? longest->count + 1 : least)) {
            longest = queue;
        }
    }
    return longest != NULL ? TAILQ_LAST(&longest->waiting, verifications) : NULL;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Tries every hash, also after one that is the password's: the time does not tell which. */
static void verify(struct lk_verification *verification) {
    verification->which = -1;
    for (size_t i = 0; i < verification->count; i++) {
        if (lk_password_verify(verification->hashes[i], verification->password)) {
            verification->which = (int)i;
        }
    }
}

static void *run(void *argument) {
    struct lk_verifier *verifier = argument;

    (void)setpriority(PRIO_PROCESS, 0, NICE); /* 0: of this thread, in Linux */
    pthread_mutex_lock(&verifier->mutex);
    while (!verifier->is_stopping) {
        struct lk_verification *next = take_next(verifier);

        if (next == NULL) {
            pthread_cond_wait(&verifier->changed, &verifier->mutex);
            continue;
        }
        pthread_mutex_unlock(&verifier->mutex);
        verify(next);
        pthread_mutex_lock(&verifier->mutex);
        add_done(verifier, next);
    }
    pthread_mutex_unlock(&verifier->mutex);
    return NULL;
}

/* ---- starting and stopping ------------------------------------------------------------------- */

static bool begin(struct lk_verifier *verifier) {
    if (pthread_mutex_init(&verifier->mutex, NULL) != 0) {
        return false;
    }
    if (pthread_cond_init(&verifier->changed, NULL) == 0) {
        if (lk_thread_start(&verifier->thread, run, verifier)) {
            return true;
        }
        (void)pthread_cond_destroy(&verifier->changed);
    }
    (void)pthread_mutex_destroy(&verifier->mutex);
    return false;
}

lk_outcome lk_verifier_start(struct lk_verifier **ret_verifier, lk_error *error) {
    struct lk_verifier *verifier = calloc(1, sizeof *verifier);

    if (verifier != NULL) {
        TAILQ_INIT(&verifier->ring);
        TAILQ_INIT(&verifier->done);
        LIST_INIT(&verifier->all);
        verifier->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (verifier->descriptor >= 0 && begin(verifier)) {
            *ret_verifier = verifier;
            return LK_OK;
        }
        if (verifier->descriptor >= 0) {
            (void)close(verifier->descriptor);
        }
        free(verifier);
    }
    return lk_error_set(error, LK_INTERNAL, "the thread that verifies passwords cannot be started");
}

static void free_all(struct verifications *list) {
    while (!TAILQ_EMPTY(list)) {
        struct lk_verification *first = TAILQ_FIRST(list);

        TAILQ_REMOVE(list, first, list);
        verification_free(first);
    }
}

void lk_verifier_stop(struct lk_verifier *verifier) {
    struct lk_verification *next;

    if (verifier == NULL) {
        return;
    }
    pthread_mutex_lock(&verifier->mutex);
    verifier->is_stopping = true;
    pthread_cond_broadcast(&verifier->changed);
    pthread_mutex_unlock(&verifier->mutex);
    (void)pthread_join(verifier->thread, NULL);
    (void)pthread_cond_destroy(&verifier->changed);
    (void)pthread_mutex_destroy(&verifier->mutex);
    while ((next = take_next(verifier)) != NULL) {
        verification_free(next);
    }
    free_all(&verifier->done);
    (void)close(verifier->descriptor);
    free(verifier);
}

/* ---- the loop -------------------------------------------------------------------------------- */

int lk_verifier_descriptor(const struct lk_verifier *verifier) {
    return verifier->descriptor;
}

static bool has_room_of_one(const struct lk_verifier *verifier, uint64_t origin) {
    const struct lk_verification *each;
    size_t count = 0;

    LIST_FOREACH(each, &verifier->all, all) {
        count += origin != 0 && each->origin == origin;
    }
    return count < LK_VERIFICATIONS_OF_ONE_MAX;
}

static void uncount(struct lk_verifier *verifier, struct lk_verification *verification) {
    verifier->count--;
    LIST_REMOVE(verification, all);
}

/* Makes room for one more of this origin; the origin that has most waiting gives it up. */
static bool make_room(struct lk_verifier *verifier, uint64_t origin) {
    struct lk_verification *displaced;

    if (!has_room_of_one(verifier, origin)) {
        return false;
    }
    if (verifier->count < LK_VERIFICATIONS_MAX) {
        return true;
    }
    pthread_mutex_lock(&verifier->mutex);
    displaced = find_displaced(verifier, origin);
    if (displaced != NULL) {
        dequeue(verifier, displaced);
        displaced->is_refused = true;
        add_done(verifier, displaced);
    }
    pthread_mutex_unlock(&verifier->mutex);
    if (displaced != NULL) {
        uncount(verifier, displaced);
    }
    return displaced != NULL;
}

/* It has left both lists that are shared with the thread. */
static void forget(struct lk_verifier *verifier, struct lk_verification *verification) {
    if (!verification->is_refused) {
        uncount(verifier, verification);
    }
    verification_free(verification);
}

struct lk_verification *lk_verifier_submit(struct lk_verifier *verifier, uint64_t origin,
                                           const char *const *hashes, size_t count,
                                           struct lk_slice password, lk_verified *done,
                                           void *context) {
    struct lk_verification *made;

    if (password.size > LK_PASSWORD_BYTES_MAX || count > LK_USER_SECRETS_MAX
        || !make_room(verifier, origin) || (made = calloc(1, sizeof *made)) == NULL) {
        return NULL;
    }
    made->verifier = verifier;
    made->origin = origin;
    made->done = done;
    made->context = context;
    made->count = count;
    memcpy(made->password, password.bytes, password.size);
    for (size_t i = 0; i < count; i++) {
        memcpy(made->hashes[i], hashes[i], strlen(hashes[i]) + 1);
    }
    verifier->count++;
    LIST_INSERT_HEAD(&verifier->all, made, all);
    pthread_mutex_lock(&verifier->mutex);
    enqueue(verifier, made);
    pthread_cond_signal(&verifier->changed);
    pthread_mutex_unlock(&verifier->mutex);
    return made;
}

void lk_verification_cancel(struct lk_verification *verification) {
    struct lk_verifier *verifier = verification->verifier;
    bool was_waiting;

    pthread_mutex_lock(&verifier->mutex);
    was_waiting = verification->queue != NULL;
    if (was_waiting) {
        dequeue(verifier, verification);
    }
    pthread_mutex_unlock(&verifier->mutex);
    verification->done = NULL;
    if (was_waiting) {
        forget(verifier, verification);
    }
}

void lk_verifier_fetch(struct lk_verifier *verifier) {
    struct verifications done = TAILQ_HEAD_INITIALIZER(done);
    uint64_t count;

    (void)!read(verifier->descriptor, &count, sizeof count);
    pthread_mutex_lock(&verifier->mutex);
    TAILQ_CONCAT(&done, &verifier->done, list);
    pthread_mutex_unlock(&verifier->mutex);
    while (!TAILQ_EMPTY(&done)) {
        struct lk_verification *first = TAILQ_FIRST(&done);

        TAILQ_REMOVE(&done, first, list);
        if (first->done != NULL) {
            first->done(first->context, first->is_refused ? LK_VERIFICATION_REFUSED : first->which);
        }
        forget(verifier, first);
    }
}
