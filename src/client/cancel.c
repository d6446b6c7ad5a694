/* SPDX-License-Identifier: Apache-2.0 */
/* Cancellations. Lock order: cancellation, then waker. */
#include "client/cancel.h"

#include <stdlib.h>

#include "base/error.h"

struct lk_cancel {
    pthread_mutex_t mutex;
    bool is_now;
    struct lk_cancel_link *links;
};

lk_cancel *lk_cancel_new(void) {
    lk_cancel *cancel = calloc(1, sizeof *cancel);

    if (cancel != NULL && pthread_mutex_init(&cancel->mutex, NULL) != 0) {
        free(cancel);
        cancel = NULL;
    }
    return cancel;
}

void lk_cancel_free(lk_cancel *cancel) {
    if (cancel != NULL) {
        (void)pthread_mutex_destroy(&cancel->mutex);
        free(cancel);
    }
}

void lk_cancel_link_throw(struct lk_cancel_link *link) {
    lk_waker_throw(&link->late);
    lk_waker_throw(&link->waker);
}

void lk_cancel_now(lk_cancel *cancel) {
    pthread_mutex_lock(&cancel->mutex);
    cancel->is_now = true;
    for (struct lk_cancel_link *link = cancel->links; link != NULL; link = link->next) {
        lk_cancel_link_throw(link);
    }
    pthread_mutex_unlock(&cancel->mutex);
}

lk_outcome lk_cancel_join(lk_cancel *cancel, struct lk_cancel_link *link, lk_error *error) {
    if (!lk_waker_init(&link->waker)) {
        return lk_error_set(error, LK_INTERNAL, "the system has no more conditions");
    }
    if (!lk_waker_init_late(&link->late, LK_CANCEL_ANSWER_US)) {
        lk_waker_done(&link->waker);
        return lk_error_set(error, LK_INTERNAL, "the system has no more conditions");
    }
    link->cancel = cancel;
    if (cancel == NULL) {
        return LK_OK;
    }
    link->previous = NULL;
    pthread_mutex_lock(&cancel->mutex);
    link->next = cancel->links;
    if (link->next != NULL) {
        link->next->previous = link;
    }
    cancel->links = link;
    if (cancel->is_now) {
        lk_cancel_link_throw(link);
    }
    pthread_mutex_unlock(&cancel->mutex);
    return LK_OK;
}

void lk_cancel_leave(struct lk_cancel_link *link) {
    lk_cancel *cancel = link->cancel;

    if (cancel != NULL) {
        pthread_mutex_lock(&cancel->mutex);
        if (link->previous != NULL) {
            link->previous->next = link->next;
        } else {
            cancel->links = link->next;
        }
        if (link->next != NULL) {
            link->next->previous = link->previous;
        }
        pthread_mutex_unlock(&cancel->mutex);
    }
    lk_waker_done(&link->late);
    lk_waker_done(&link->waker);
}
