/* SPDX-License-Identifier: Apache-2.0 */
/* A pipe, and a thread that reads it; and the last bytes of the stream, in a ring. */
#include "cli/work/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/thread.h"
#include "model/utf8.h"

/* ---- the end of it --------------------------------------------------------------------------- */

/* The last bytes of a stream, in a ring. */

void lk_pool_tail_add(struct lk_pool_tail *tail, const char *bytes, size_t size) {
    if (size > sizeof tail->bytes) {
        bytes += size - sizeof tail->bytes;
        size = sizeof tail->bytes;
        tail->is_cut = true;
    }
    for (size_t i = 0; i < size; i++) {
        if (tail->size < sizeof tail->bytes) {
            tail->bytes[tail->size++] = bytes[i];
        } else {
            tail->bytes[tail->begin] = bytes[i];
            tail->begin = (tail->begin + 1) % sizeof tail->bytes;
            tail->is_cut = true;
        }
    }
}

static bool is_line_end(char byte) {
    return byte == '\n' || byte == '\r';
}

/* Where the first whole line begins; else the first whole character. */
static size_t beginning_of(const char *bytes, size_t size) {
    const char *end = memchr(bytes, '\n', size);
    size_t at = 0;

    if (end != NULL && end + 1 < bytes + size) {
        return (size_t)(end + 1 - bytes);
    }
    while (at < size && ((unsigned char)bytes[at] & 0xC0) == 0x80) {
        at++;
    }
    return at;
}

size_t lk_pool_tail_text(const struct lk_pool_tail *tail, char text[LK_POOL_TAIL_MAX + 1]) {
    char bytes[LK_POOL_TAIL_MAX];
    size_t newest = tail->size - tail->begin;
    size_t size = tail->size;
    size_t used = 0;

    memcpy(bytes, tail->bytes + tail->begin, newest);
    memcpy(bytes + newest, tail->bytes, tail->begin);
    while (size > 0 && is_line_end(bytes[size - 1])) {
        size--;
    }
    for (size_t at = tail->is_cut ? beginning_of(bytes, size) : 0; at < size;) {
        uint32_t character = 0;
        size_t length = lk_utf8_decode(bytes + at, size - at, &character);

        if (length == 0 || character == 0) {
            text[used++] = '?';
            at++;
        } else {
            memcpy(text + used, bytes + at, length);
            used += length;
            at += length;
        }
    }
    text[used] = '\0';
    return used;
}

/* ---- the relay ------------------------------------------------------------------------------- */

/* The mutex guards what the thread and the caller share. */

enum { CHUNK = 4096, PATIENCE_US = 1000000 };

struct lk_pool_relay {
    int input;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t rested;
    struct lk_pool_tail tail;
    bool is_busy;      /* bytes have been read, or will be at once, and are not passed on yet */
    bool is_over;      /* the stream has ended */
    bool is_abandoned; /* the thread frees the relay */
};

static void free_relay(struct lk_pool_relay *relay) {
    (void)pthread_cond_destroy(&relay->rested);
    (void)pthread_mutex_destroy(&relay->mutex);
    free(relay);
}

/* ---- in the thread --------------------------------------------------------------------------- */

/* False: lk's stderr cannot be written to any more. */
static bool pass_on(const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(STDERR_FILENO, bytes, size);

        if (written < 0 && errno == EAGAIN) {
            struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
            (void)poll(&room, 1, -1);
        } else if (written < 0 && errno != EINTR) {
            return false;
        } else if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        }
    }
    return true;
}

static void set_busy(struct lk_pool_relay *relay, bool is_busy) {
    pthread_mutex_lock(&relay->mutex);
    relay->is_busy = is_busy;
    pthread_cond_signal(&relay->rested);
    pthread_mutex_unlock(&relay->mutex);
}

static void keep(struct lk_pool_relay *relay, const char *bytes, size_t size) {
    pthread_mutex_lock(&relay->mutex);
    lk_pool_tail_add(&relay->tail, bytes, size);
    pthread_mutex_unlock(&relay->mutex);
}

/*
 * The next bytes, from when the thread counts as busy: an empty pipe and an idle thread mean that
 * all is passed on. False: there are none any more.
 */
static bool take_next(struct lk_pool_relay *relay, char *bytes, size_t *ret_size) {
    struct pollfd news = {.fd = relay->input, .events = POLLIN};
    ssize_t size;

    while (poll(&news, 1, -1) < 0 && errno == EINTR) {
    }
    set_busy(relay, true);
    do {
        size = read(relay->input, bytes, CHUNK);
    } while (size < 0 && errno == EINTR);
    *ret_size = size > 0 ? (size_t)size : 0;
    return size > 0;
}

static void *run(void *context) {
    struct lk_pool_relay *relay = context;
    char bytes[CHUNK];
    size_t size;
    bool is_abandoned;

    while (take_next(relay, bytes, &size)) {
        keep(relay, bytes, size);
        if (!pass_on(bytes, size)) {
            break; /* the command finds its stderr closed, as it would without the relay */
        }
        set_busy(relay, false);
    }
    pthread_mutex_lock(&relay->mutex);
    close(relay->input);
    relay->is_over = true;
    is_abandoned = relay->is_abandoned;
    pthread_cond_signal(&relay->rested);
    pthread_mutex_unlock(&relay->mutex);
    if (is_abandoned) {
        free_relay(relay);
    }
    return NULL;
}

/* ---- the caller's side ----------------------------------------------------------------------- */

static bool init(struct lk_pool_relay *relay) {
    if (!lk_condition_init(&relay->rested)) {
        return false;
    }
    if (pthread_mutex_init(&relay->mutex, NULL) != 0) {
        (void)pthread_cond_destroy(&relay->rested);
        return false;
    }
    if (!lk_thread_start(&relay->thread, run, relay)) {
        (void)pthread_cond_destroy(&relay->rested);
        (void)pthread_mutex_destroy(&relay->mutex);
        return false;
    }
    return true;
}

struct lk_pool_relay *lk_pool_relay_start(int *ret_output) {
    struct lk_pool_relay *relay = calloc(1, sizeof *relay);
    int ends[2];

    if (relay == NULL || pipe2(ends, O_CLOEXEC) != 0) {
        free(relay);
        return NULL;
    }
    relay->input = ends[0];
    if (!init(relay)) {
        close(ends[0]);
        close(ends[1]);
        free(relay);
        return NULL;
    }
    *ret_output = ends[1];
    return relay;
}

/* Whether all that was written before this call has been passed on. */
static bool is_idle(const struct lk_pool_relay *relay) {
    int waiting = 0;

    return relay->is_over
           || (!relay->is_busy && ioctl(relay->input, FIONREAD, &waiting) == 0 && waiting == 0);
}

static void wait_until_idle(struct lk_pool_relay *relay) {
    const struct timespec until = lk_condition_instant(PATIENCE_US);
    int error = 0;

    while (!is_idle(relay) && error == 0) {
        error = pthread_cond_timedwait(&relay->rested, &relay->mutex, &until);
    }
}

void lk_pool_relay_end(struct lk_pool_relay *relay, struct lk_pool_tail *ret_tail) {
    pthread_t thread;
    bool is_over;

    pthread_mutex_lock(&relay->mutex);
    wait_until_idle(relay);
    *ret_tail = relay->tail;
    thread = relay->thread; /* an abandoned relay may be freed once the mutex is */
    is_over = relay->is_over;
    relay->is_abandoned = !is_over;
    pthread_mutex_unlock(&relay->mutex);
    if (is_over) {
        pthread_join(thread, NULL);
        free_relay(relay);
    } else {
        pthread_detach(thread);
    }
}
