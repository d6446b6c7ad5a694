/* SPDX-License-Identifier: Apache-2.0 */
/* Connections, on hiredis. The waits are done here, so that they end with the time budget. */
#include "engine/redis/client/link.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"

#define CONNECT_US_MAX INT64_C(3000000) /* for one server: another one may be reachable */
enum { SLICE_MS = 50 };                 /* how often a waker is checked */

/* ---- waiting --------------------------------------------------------------------------------- */

/* Waits until the socket is ready. LK_OK, LK_CANCELLED, or LK_UNAVAILABLE: the time is up. */
static lk_outcome wait_for(const redisContext *context, short events,
                           const struct lk_patience *patience) {
    struct pollfd socket = {.fd = context->fd, .events = events};

    for (;;) {
        int64_t left_us = patience->until_us - lk_clock_now_us();
        int64_t left_ms = left_us > 0 ? left_us / 1000 + 1 : 0;
        int ready;

        if (left_us <= 0) {
            return LK_UNAVAILABLE;
        }
        if (left_ms > SLICE_MS) {
            left_ms = patience->waker != NULL || left_ms > INT32_MAX ? SLICE_MS : left_ms;
        }
        ready = poll(&socket, 1, (int)left_ms);
        if (ready > 0) {
            return LK_OK;
        }
        if (ready < 0 && errno != EINTR) {
            return LK_UNAVAILABLE;
        }
        if (lk_waker_is_thrown(patience->waker)) {
            return LK_CANCELLED;
        }
    }
}

static lk_outcome fail(const struct lk_redis_link *link, lk_outcome outcome, lk_error *error) {
    const redisContext *context = link->context;

    if (outcome == LK_CANCELLED) {
        return lk_error_set(error, outcome, "the wait was cancelled");
    }
    return lk_error_set(error, LK_UNAVAILABLE, "the Redis server %s",
                        context->err != 0 ? context->errstr : "does not answer in time");
}

/* ---- exchanges ------------------------------------------------------------------------------- */

/*
 * hiredis would write to a connection that the server has closed, and the signal SIGPIPE would end
 * a program that expects none.
 */
static lk_outcome send_all(struct lk_redis_link *link, const char *text, size_t size,
                           const struct lk_patience *patience) {
    redisContext *context = link->context;
    size_t sent = 0;

    while (sent < size) {
        ssize_t count = send(context->fd, text + sent, size - sent, MSG_NOSIGNAL);

        if (count >= 0) {
            sent += (size_t)count;
        } else if (errno == EAGAIN || errno == EINTR) {
            lk_outcome outcome = wait_for(context, POLLOUT, patience);
            if (outcome != LK_OK) {
                return outcome;
            }
        } else {
            context->err = REDIS_ERR_IO;
            (void)snprintf(context->errstr, sizeof context->errstr, "%s", strerror(errno));
            return LK_UNAVAILABLE;
        }
    }
    return LK_OK;
}

lk_outcome lk_redis_send(struct lk_redis_link *link, const struct lk_redis_words *words,
                         const struct lk_patience *patience, lk_error *error) {
    const char *bytes[LK_REDIS_ARGUMENTS_MAX];
    char *text = NULL;
    long long size;
    lk_outcome outcome;

    memcpy(bytes, words->bytes, (size_t)words->count * sizeof *bytes);
    size = redisFormatCommandArgv(&text, words->count, bytes, words->sizes);
    if (size < 0) {
        return lk_error_set(error, LK_UNAVAILABLE, "no memory for a command");
    }
    outcome = send_all(link, text, (size_t)size, patience);
    redisFreeCommand(text);
    return outcome == LK_OK ? LK_OK : fail(link, outcome, error);
}

/*
 * Waits until there may be data to read. A read waits for a slice by itself (wait_in_calls()),
 * which saves a system call. If less time than a slice is left, this function polls instead.
 */
static lk_outcome wait_for_more(const redisContext *context, const struct lk_patience *patience) {
    if (patience->until_us - lk_clock_now_us() <= SLICE_MS * INT64_C(1000)) {
        return wait_for(context, POLLIN, patience);
    }
    return lk_waker_is_thrown(patience->waker) ? LK_CANCELLED : LK_OK;
}

static lk_outcome receive(struct lk_redis_link *link, const struct lk_patience *patience,
                          redisReply **ret_reply) {
    for (;;) {
        void *reply = NULL;
        lk_outcome outcome;

        if (redisGetReplyFromReader(link->context, &reply) != REDIS_OK) {
            return LK_UNAVAILABLE;
        }
        if (reply != NULL) {
            *ret_reply = reply;
            return LK_OK;
        }
        outcome = wait_for_more(link->context, patience);
        if (outcome != LK_OK) {
            return outcome;
        }
        if (redisBufferRead(link->context) != REDIS_OK) {
            return LK_UNAVAILABLE;
        }
    }
}

lk_outcome lk_redis_exchange(struct lk_redis_link *link, const struct lk_redis_words *words,
                             const struct lk_patience *patience, redisReply **ret_reply,
                             lk_error *error) {
    lk_outcome outcome;

    link->has_answer_to_come = true;
    outcome = lk_redis_send(link, words, patience, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = receive(link, patience, ret_reply);
    if (outcome != LK_OK) {
        return fail(link, outcome, error);
    }
    link->has_answer_to_come = false;
    return LK_OK;
}

lk_outcome lk_redis_exchange_text(struct lk_redis_link *link, const char *const *texts,
                                  size_t count, const struct lk_patience *patience,
                                  redisReply **ret_reply, lk_error *error) {
    struct lk_redis_words words = {.count = 0};

    for (size_t i = 0; i < count; i++) {
        lk_redis_words_add(&words, lk_slice_of(texts[i]));
    }
    return lk_redis_exchange(link, &words, patience, ret_reply, error);
}

/* ---- greetings ------------------------------------------------------------------------------- */

/* Explains a refused greeting. */
static lk_outcome judge_refusal(const redisReply *reply, lk_error *error) {
    lk_outcome outcome = LK_UNAVAILABLE;

    if (reply->type != REDIS_REPLY_ERROR) {
        return LK_OK;
    }
    if (strncmp(reply->str, "NOAUTH", 6) == 0) {
        return lk_error_set(error, LK_DENIED,
                            "the Redis server wants a password: redis://:PASSWORD@HOST, "
                            "redis://USER:PASSWORD@HOST, or ?password-file=FILE at the end of the "
                            "URL");
    }
    if (strncmp(reply->str, "WRONGPASS", 9) == 0
        || strstr(reply->str, "invalid password") != NULL) {
        return lk_error_set(error, LK_DENIED,
                            "the Redis server refuses the URL's password, or does not know its "
                            "user (redis://USER:PASSWORD@HOST, special characters as %%XX)");
    }
    if (strstr(reply->str, "without any password") != NULL) {
        return lk_error_set(error, LK_DENIED,
                            "the Redis server has no password: the URL must not have one either");
    }
    if (strncmp(reply->str, "NOPERM", 6) == 0) {
        outcome = LK_DENIED;
    } else if (strstr(reply->str, "DB index") != NULL
               || strstr(reply->str, "not allowed in cluster mode") != NULL) {
        outcome = LK_UNSUPPORTED;
    }
    return lk_error_set(error, outcome, "the Redis server says: %.200s", reply->str);
}

static lk_outcome greet_with(struct lk_redis_link *link, const char *const *texts, size_t count,
                             const struct lk_patience *patience, lk_error *error) {
    redisReply *reply = NULL;
    lk_outcome outcome = lk_redis_exchange_text(link, texts, count, patience, &reply, error);

    if (outcome == LK_OK) {
        outcome = judge_refusal(reply, error);
        freeReplyObject(reply);
    }
    return outcome;
}

void lk_redis_field_read(const char *text, const char *name, char *ret_value, size_t capacity) {
    const char *found = text;
    size_t size = 0;

    while (found != NULL && strncmp(found, name, strlen(name)) != 0) {
        found = strchr(found, '\n');
        found = found != NULL ? found + 1 : NULL;
    }
    if (found != NULL) {
        found += strlen(name);
        size = strcspn(found, "\r\n");
        size = size < capacity - 1 ? size : capacity - 1;
        memcpy(ret_value, found, size);
    }
    ret_value[size] = '\0';
}

static lk_outcome look_at_server(struct lk_redis_link *link, const struct lk_patience *patience,
                                 lk_error *error) {
    static const char *const info[] = {"INFO", "server"};
    redisReply *reply = NULL;
    char mode[16];
    char version[32] = "";
    lk_outcome outcome = lk_redis_exchange_text(link, info, 2, patience, &reply, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = judge_refusal(reply, error);
    if (outcome == LK_OK && reply->str != NULL) {
        lk_redis_field_read(reply->str, "redis_version:", version, sizeof version);
    }
    if (outcome == LK_OK && version[0] == '\0') {
        outcome = lk_error_set(error, LK_UNSUPPORTED, "this is no Redis server");
    }
    if (outcome == LK_OK) {
        lk_redis_field_read(reply->str, "run_id:", link->boot, sizeof link->boot);
        lk_redis_field_read(reply->str, "redis_mode:", mode, sizeof mode);
        link->is_cluster = strcmp(mode, "cluster") == 0;
        link->major = (int)strtol(version, NULL, 10);
    }
    freeReplyObject(reply);
    return outcome;
}

static lk_outcome greet(struct lk_redis_link *link, const struct lk_redis_target *target,
                        const struct lk_patience *patience, lk_error *error) {
    const bool has_user = target->user[0] != '\0';
    const char *const auth[] = {"AUTH", has_user ? target->user : target->password,
                                target->password};
    char database[16];
    const char *const choose[] = {"SELECT", database};
    lk_outcome outcome = LK_OK;

    (void)snprintf(database, sizeof database, "%d", target->database);
    if (target->password[0] != '\0') {
        outcome = greet_with(link, auth, has_user ? 3 : 2, patience, error);
    }
    if (outcome == LK_OK && target->database != 0) {
        outcome = greet_with(link, choose, 2, patience, error);
    }
    return outcome == LK_OK ? look_at_server(link, patience, error) : outcome;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Makes reads and writes wait for a slice; after that, hiredis reports, as before, a retry. */
static bool wait_in_calls(int socket) {
    const struct timeval slice = {.tv_usec = SLICE_MS * 1000};
    int flags = fcntl(socket, F_GETFL);

    return flags >= 0 && fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) == 0
           && setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice) == 0
           && setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &slice, sizeof slice) == 0;
}

static lk_outcome connect_to(struct lk_redis_link *link, const struct lk_redis_address *address,
                             const struct lk_patience *patience, lk_error *error) {
    int failure = 0;
    socklen_t size = sizeof failure;
    const int yes = 1;
    char name[LK_REDIS_ADDRESS_TEXT_BYTES];
    lk_outcome outcome;

    lk_redis_address_write(address, name);
    link->context = address->port == 0 ? redisConnectUnixNonBlock(address->host)
                                       : redisConnectNonBlock(address->host, address->port);
    if (link->context == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a connection");
    }
    if (link->context->err != 0) {
        return lk_error_set(error, LK_UNAVAILABLE, "cannot connect to %s: %s", name,
                            link->context->errstr);
    }
    outcome = wait_for(link->context, POLLOUT, patience);
    if (outcome == LK_OK
        && (getsockopt(link->context->fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0
            || failure != 0)) {
        return lk_error_set(error, LK_UNAVAILABLE, "cannot connect to %s: %s", name,
                            strerror(failure));
    }
    if (outcome == LK_UNAVAILABLE) {
        return lk_error_set(error, outcome, "%s does not answer", name);
    }
    if (outcome == LK_OK && address->port != 0) {
        (void)setsockopt(link->context->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    }
    if (outcome == LK_OK && !wait_in_calls(link->context->fd)) {
        return lk_error_set(error, LK_INTERNAL, "a socket cannot be set up: %s", strerror(errno));
    }
    return outcome;
}

lk_outcome lk_redis_link_open(const struct lk_redis_target *target,
                              const struct lk_redis_address *address,
                              const struct lk_patience *patience, struct lk_redis_link **ret_link,
                              lk_error *error) {
    struct lk_redis_link *link = calloc(1, sizeof *link);
    int64_t until_us = lk_clock_now_us() + CONNECT_US_MAX;
    const struct lk_patience bounded = {
        .until_us = patience->until_us < until_us ? patience->until_us : until_us,
        .waker = patience->waker};
    char name[LK_REDIS_ADDRESS_TEXT_BYTES];
    lk_outcome outcome;

    if (link == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a connection");
    }
    outcome = connect_to(link, address, &bounded, error);
    if (outcome == LK_OK) {
        outcome = greet(link, target, &bounded, error);
        if (outcome == LK_UNAVAILABLE && lk_clock_now_us() >= bounded.until_us) {
            lk_redis_address_write(address, name);
            (void)lk_error_set(error, outcome, "%s: connected, but the server did not answer",
                               name);
        }
    }
    if (outcome != LK_OK) {
        lk_redis_link_close(link);
        return outcome;
    }
    *ret_link = link;
    return LK_OK;
}

void lk_redis_link_close(struct lk_redis_link *link) {
    if (link != NULL) {
        if (link->context != NULL) {
            redisFree(link->context);
        }
        free(link);
    }
}
