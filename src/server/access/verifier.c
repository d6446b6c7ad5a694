/* SPDX-License-Identifier: Apache-2.0 */
/* One thread, a queue of verifications to do, and a list of those that are done. */
#include "server/access/verifier.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"

enum { NICE = 19 }; /* the least: calls that come meanwhile hardly wait */

struct lk_verification {
    STAILQ_ENTRY(lk_verification) list;
    LIST_ENTRY(lk_verification) all; /* only the loop's */
    struct lk_verifier *verifier;
    uint64_t origin;
    bool is_waiting;   /* guarded by the verifier's mutex */
    lk_verified *done; /* NULL: cancelled; only the loop's */
    void *context;
    int which;
    size_t count;
    char password[LK_PASSWORD_BYTES_MAX + 1];
    char hashes[LK_USER_SECRETS_MAX][LK_PASSWORD_HASH_BYTES_MAX + 1];
};

STAILQ_HEAD(verifications, lk_verification);
LIST_HEAD(all_verifications, lk_verification);

struct lk_verifier {
    int descriptor;
    size_t count; /* of both lists, and the one that is being verified; only the loop's */
    struct all_verifications all; /* the same; only the loop's */
    pthread_t thread;

    pthread_mutex_t mutex; /* guards the fields below */
    pthread_cond_t changed;
    struct verifications waiting;
    struct verifications done;
    bool is_stopping;
};

static void verification_free(struct lk_verification *verification) {
    explicit_bzero(verification->password, sizeof verification->password);
    free(verification);
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
    const uint64_t one = 1;

    (void)setpriority(PRIO_PROCESS, 0, NICE); /* 0: of this thread, in Linux */
    pthread_mutex_lock(&verifier->mutex);
    while (!verifier->is_stopping) {
        struct lk_verification *next = STAILQ_FIRST(&verifier->waiting);

        if (next == NULL) {
            pthread_cond_wait(&verifier->changed, &verifier->mutex);
            continue;
        }
        STAILQ_REMOVE_HEAD(&verifier->waiting, list);
        next->is_waiting = false;
        pthread_mutex_unlock(&verifier->mutex);
        verify(next);
        pthread_mutex_lock(&verifier->mutex);
        STAILQ_INSERT_TAIL(&verifier->done, next, list);
        (void)!write(verifier->descriptor, &one, sizeof one);
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
        if (pthread_create(&verifier->thread, NULL, run, verifier) == 0) {
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
        STAILQ_INIT(&verifier->waiting);
        STAILQ_INIT(&verifier->done);
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
    while (!STAILQ_EMPTY(list)) {
        struct lk_verification *first = STAILQ_FIRST(list);

        STAILQ_REMOVE_HEAD(list, list);
        verification_free(first);
    }
}

void lk_verifier_stop(struct lk_verifier *verifier) {
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
    free_all(&verifier->waiting);
    free_all(&verifier->done);
    (void)close(verifier->descriptor);
    free(verifier);
}

/* ---- the loop -------------------------------------------------------------------------------- */

int lk_verifier_descriptor(const struct lk_verifier *verifier) {
    return verifier->descriptor;
}

static bool has_room(const struct lk_verifier *verifier, uint64_t origin) {
    const struct lk_verification *each;
    size_t count = 0;

    if (verifier->count >= LK_VERIFICATIONS_MAX) {
        return false;
    }
    LIST_FOREACH(each, &verifier->all, all) {
        count += origin != 0 && each->origin == origin;
    }
    return count < LK_VERIFICATIONS_OF_ONE_MAX;
}

/* It has left both lists that are shared with the thread. */
static void forget(struct lk_verifier *verifier, struct lk_verification *verification) {
    verifier->count--;
    LIST_REMOVE(verification, all);
    verification_free(verification);
}

struct lk_verification *lk_verifier_submit(struct lk_verifier *verifier, uint64_t origin,
                                           const char *const *hashes, size_t count,
                                           struct lk_slice password, lk_verified *done,
                                           void *context) {
    struct lk_verification *made = has_room(verifier, origin) ? calloc(1, sizeof *made) : NULL;

    if (made == NULL || password.size > LK_PASSWORD_BYTES_MAX || count > LK_USER_SECRETS_MAX) {
        free(made);
        return NULL;
    }
    made->verifier = verifier;
    made->origin = origin;
    made->is_waiting = true;
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
    STAILQ_INSERT_TAIL(&verifier->waiting, made, list);
    pthread_cond_signal(&verifier->changed);
    pthread_mutex_unlock(&verifier->mutex);
    return made;
}

void lk_verification_cancel(struct lk_verification *verification) {
    struct lk_verifier *verifier = verification->verifier;
    bool was_waiting;

    pthread_mutex_lock(&verifier->mutex);
    was_waiting = verification->is_waiting;
    if (was_waiting) {
        STAILQ_REMOVE(&verifier->waiting, verification, lk_verification, list);
    }
    pthread_mutex_unlock(&verifier->mutex);
    verification->done = NULL;
    if (was_waiting) {
        forget(verifier, verification);
    }
}

void lk_verifier_fetch(struct lk_verifier *verifier) {
    struct verifications done = STAILQ_HEAD_INITIALIZER(done);
    uint64_t count;

    (void)!read(verifier->descriptor, &count, sizeof count);
    pthread_mutex_lock(&verifier->mutex);
    STAILQ_CONCAT(&done, &verifier->done);
    pthread_mutex_unlock(&verifier->mutex);
    while (!STAILQ_EMPTY(&done)) {
        struct lk_verification *first = STAILQ_FIRST(&done);

        STAILQ_REMOVE_HEAD(&done, list);
        if (first->done != NULL) {
            first->done(first->context, first->which);
        }
        forget(verifier, first);
    }
}
