/* SPDX-License-Identifier: Apache-2.0 */
/* Handles and threads of one scenario. Only threads started here use a `struct background_wait`. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "playback.h"

void answer_done(struct answer *answer) {
    lk_result_free(answer->result);
    answer->result = NULL;
}

/* ---- stores ---------------------------------------------------------------------------------- */

static lk_store *store_open(struct handles *handles, size_t place, struct complaint *complaint) {
    lk_error error = {0};

    if (handles->stores[place] == NULL
        && lk_open(handles->url, &handles->stores[place], &error) != LK_OK) {
        complain(complaint, "%s cannot be opened: %s: %s", handles->url,
                 lk_outcome_name(error.outcome), error.text);
    }
    return handles->stores[place];
}

lk_store *handles_store(struct handles *handles, const char *owner, struct complaint *complaint) {
    const char *name = owner != NULL ? owner : "";
    size_t i = 0;

    if (handles->share) {
        return store_open(handles, 0, complaint);
    }
    while (i < handles->owner_count && strcmp(handles->owners[i], name) != 0) {
        i++;
    }
    if (i == HANDLES_OWNERS_MAX) {
        complain(complaint, "more than %d owners in one scenario", HANDLES_OWNERS_MAX);
        return NULL;
    }
    if (i == handles->owner_count) {
        handles->owners[handles->owner_count++] = name;
    }
    return store_open(handles, i % HANDLES_STORES, complaint);
}

static bool first_call(lk_store *store, struct complaint *complaint) {
    static const char *const part = "first";
    lk_request request = lk_request_init(&part, 1);
    struct answer answer = {0};

    request.owner = "First";
    request.style = LK_TRY;
    answer.outcome = lk_ask(store, &request, &answer.result, &answer.error);
    answer_done(&answer);
    if (answer.outcome == LK_GRANTED) {
        answer.outcome = lk_release(store, &request, 0, &answer.result, &answer.error);
        answer_done(&answer);
    }
    return answer.outcome == LK_OK
           || complain(complaint, "the first call ended with %s: %s",
                       lk_outcome_name(answer.outcome), answer.error.text);
}

bool handles_open(struct handles *handles, struct complaint *complaint) {
    for (size_t i = 0; i < HANDLES_STORES && !handles->share; i++) {
        bool is_new = handles->stores[i] == NULL;
        lk_store *store = store_open(handles, i, complaint);

        if (store == NULL || (is_new && !first_call(store, complaint))) {
            return false;
        }
    }
    return true;
}

/* ---- waits in the background ----------------------------------------------------------------- */

static void *wait_in_background(void *context) {
    struct background_wait *wait = context;
    struct answer answer = {0};
    answer.outcome = lk_ask(wait->store, &wait->request, &answer.result, &answer.error);
    pthread_mutex_lock(&wait->mutex);
    wait->answer = answer;
    wait->is_over = true;
    pthread_cond_signal(&wait->ended);
    pthread_mutex_unlock(&wait->mutex);
    return NULL;
}

static void background_wait_free(struct background_wait *wait) {
    answer_done(&wait->answer);
    lk_cancel_free(wait->cancel);
    pthread_cond_destroy(&wait->ended);
    pthread_mutex_destroy(&wait->mutex);
    free(wait);
}

static struct background_wait *begun_new(lk_store *store, const lk_request *request,
                                         const void *record) {
    struct background_wait *wait = calloc(1, sizeof *wait);
    if (wait == NULL) {
        return NULL;
    }
    wait->cancel = lk_cancel_new();
    if (wait->cancel == NULL) {
        free(wait);
        return NULL;
    }
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&wait->mutex, NULL);
    pthread_cond_init(&wait->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    wait->record = record;
    wait->store = store;
    wait->request = *request;
    wait->request.cancel = wait->cancel;
    return wait;
}

static size_t find_begun(const struct handles *handles, const void *record) {
    size_t i = 0;
    while (i < handles->wait_count && handles->waits[i]->record != record) {
        i++;
    }
    return i;
}

bool handles_begin(struct handles *handles, lk_store *store, const lk_request *request,
                   const void *record, struct complaint *complaint) {
    if (find_begun(handles, record) < handles->wait_count) {
        return complain(complaint, "this owner waits for these paths already");
    }
    if (handles->wait_count == HANDLES_WAITS_MAX) {
        return complain(complaint, "more than %d waits at once", HANDLES_WAITS_MAX);
    }
    struct background_wait *wait = begun_new(store, request, record);
    if (wait == NULL) {
        return complain(complaint, "out of memory");
    }
    if (pthread_create(&wait->thread, NULL, wait_in_background, wait) != 0) {
        background_wait_free(wait);
        return complain(complaint, "no thread can be made");
    }
    handles->waits[handles->wait_count++] = wait;
    return true;
}

bool handles_is_over(struct handles *handles, const void *record) {
    size_t found = find_begun(handles, record);
    if (found == handles->wait_count) {
        return false;
    }
    struct background_wait *wait = handles->waits[found];
    pthread_mutex_lock(&wait->mutex);
    bool is_over = wait->is_over;
    pthread_mutex_unlock(&wait->mutex);
    return is_over;
}

/* Sleeps until the wait is over, or for `patience_ms`. */
static bool begun_await(struct background_wait *wait, long patience_ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += patience_ms / 1000;
    until.tv_nsec += patience_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    int status = 0;
    pthread_mutex_lock(&wait->mutex);
    while (!wait->is_over && status == 0) {
        status = pthread_cond_timedwait(&wait->ended, &wait->mutex, &until);
    }
    bool is_over = wait->is_over;
    pthread_mutex_unlock(&wait->mutex);
    return is_over;
}

bool handles_end(struct handles *handles, const void *record, bool cancel, long patience_ms,
                 struct answer *ret_answer, struct complaint *complaint) {
    size_t found = find_begun(handles, record);
    if (found == handles->wait_count) {
        return complain(complaint, "no wait was begun by this owner for these paths");
    }
    struct background_wait *wait = handles->waits[found];
    if (cancel) {
        lk_cancel_now(wait->cancel);
    }
    if (!begun_await(wait, patience_ms)) {
        return complain(complaint, "the wait is not over after %ld ms", patience_ms);
    }
    pthread_join(wait->thread, NULL);
    *ret_answer = wait->answer;
    wait->answer.result = NULL;
    background_wait_free(wait);
    handles->waits[found] = handles->waits[--handles->wait_count];
    return true;
}

void handles_end_waits(struct handles *handles) {
    while (handles->wait_count > 0) {
        struct background_wait *wait = handles->waits[--handles->wait_count];
        lk_cancel_now(wait->cancel);
        pthread_join(wait->thread, NULL);
        background_wait_free(wait);
    }
    handles->owner_count = 0;
}

void handles_close(struct handles *handles) {
    handles_end_waits(handles);
    for (size_t i = 0; i < HANDLES_STORES; i++) {
        lk_close(handles->stores[i]);
        handles->stores[i] = NULL;
    }
}
