/* SPDX-License-Identifier: Apache-2.0 */
/* Handles and threads of one scenario. Only stage.c's own threads touch a `struct begun`. */
#include "stage.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void answer_done(struct answer *answer) {
    lk_result_free(answer->result);
    answer->result = NULL;
}

/* ---- stores ---------------------------------------------------------------------------------- */

lk_store *stage_store(struct stage *stage, const char *owner, struct complaint *complaint) {
    const char *user = stage->share || owner == NULL ? "" : owner;
    for (size_t i = 0; i < stage->store_count; i++) {
        if (strcmp(stage->stores[i].owner, user) == 0) {
            return stage->stores[i].store;
        }
    }
    if (stage->store_count == STAGE_STORES_MAX) {
        complain(complaint, "more than %d owners in one scenario", STAGE_STORES_MAX);
        return NULL;
    }
    lk_error error = {0};
    lk_store *store = NULL;
    if (lk_open(stage->url, &store, &error) != LK_OK) {
        complain(complaint, "%s cannot be opened: %s: %s", stage->url,
                 lk_outcome_name(error.outcome), error.text);
        return NULL;
    }
    stage->stores[stage->store_count].owner = user;
    stage->stores[stage->store_count++].store = store;
    return store;
}

/* ---- waits in the background ----------------------------------------------------------------- */

static void *wait_in_background(void *context) {
    struct begun *begun = context;
    struct answer answer = {0};
    answer.outcome = lk_ask(begun->store, &begun->request, &answer.result, &answer.error);
    pthread_mutex_lock(&begun->mutex);
    begun->answer = answer;
    begun->is_over = true;
    pthread_cond_signal(&begun->ended);
    pthread_mutex_unlock(&begun->mutex);
    return NULL;
}

static void begun_free(struct begun *begun) {
    answer_done(&begun->answer);
    lk_cancel_free(begun->cancel);
    pthread_cond_destroy(&begun->ended);
    pthread_mutex_destroy(&begun->mutex);
    free(begun);
}

static struct begun *begun_new(lk_store *store, const lk_request *request, const void *record) {
    struct begun *begun = calloc(1, sizeof *begun);
    if (begun == NULL) {
        return NULL;
    }
    begun->cancel = lk_cancel_new();
    if (begun->cancel == NULL) {
        free(begun);
        return NULL;
    }
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&begun->mutex, NULL);
    pthread_cond_init(&begun->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    begun->record = record;
    begun->store = store;
    begun->request = *request;
    begun->request.cancel = begun->cancel;
    return begun;
}

static size_t find_begun(const struct stage *stage, const void *record) {
    size_t i = 0;
    while (i < stage->wait_count && stage->waits[i]->record != record) {
        i++;
    }
    return i;
}

bool stage_begin(struct stage *stage, lk_store *store, const lk_request *request,
                 const void *record, struct complaint *complaint) {
    if (find_begun(stage, record) < stage->wait_count) {
        return complain(complaint, "this owner waits for these paths already");
    }
    if (stage->wait_count == STAGE_WAITS_MAX) {
        return complain(complaint, "more than %d waits at once", STAGE_WAITS_MAX);
    }
    struct begun *begun = begun_new(store, request, record);
    if (begun == NULL) {
        return complain(complaint, "out of memory");
    }
    if (pthread_create(&begun->thread, NULL, wait_in_background, begun) != 0) {
        begun_free(begun);
        return complain(complaint, "no thread can be made");
    }
    stage->waits[stage->wait_count++] = begun;
    return true;
}

bool stage_is_over(struct stage *stage, const void *record) {
    size_t found = find_begun(stage, record);
    if (found == stage->wait_count) {
        return false;
    }
    struct begun *begun = stage->waits[found];
    pthread_mutex_lock(&begun->mutex);
    bool is_over = begun->is_over;
    pthread_mutex_unlock(&begun->mutex);
    return is_over;
}

/* Sleeps until the wait is over, or for `patience_ms`. */
static bool begun_await(struct begun *begun, long patience_ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += patience_ms / 1000;
    until.tv_nsec += patience_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    int status = 0;
    pthread_mutex_lock(&begun->mutex);
    while (!begun->is_over && status == 0) {
        status = pthread_cond_timedwait(&begun->ended, &begun->mutex, &until);
    }
    bool is_over = begun->is_over;
    pthread_mutex_unlock(&begun->mutex);
    return is_over;
}

bool stage_end(struct stage *stage, const void *record, bool cancel, long patience_ms,
               struct answer *ret_answer, struct complaint *complaint) {
    size_t found = find_begun(stage, record);
    if (found == stage->wait_count) {
        return complain(complaint, "no wait was begun by this owner for these paths");
    }
    struct begun *begun = stage->waits[found];
    if (cancel) {
        lk_cancel_now(begun->cancel);
    }
    if (!begun_await(begun, patience_ms)) {
        return complain(complaint, "the wait is not over after %ld ms", patience_ms);
    }
    pthread_join(begun->thread, NULL);
    *ret_answer = begun->answer;
    begun->answer.result = NULL;
    begun_free(begun);
    stage->waits[found] = stage->waits[--stage->wait_count];
    return true;
}

void stage_close(struct stage *stage) {
    while (stage->wait_count > 0) {
        struct begun *begun = stage->waits[--stage->wait_count];
        lk_cancel_now(begun->cancel);
        pthread_join(begun->thread, NULL);
        begun_free(begun);
    }
    while (stage->store_count > 0) {
        lk_close(stage->stores[--stage->store_count].store);
    }
}
