/* SPDX-License-Identifier: Apache-2.0 */
/* Connections. The waits are done here, so that they end with the time budget. */
#include "engine/redis/client/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/socket.h"

#define CONNECT_US_MAX INT64_C(3000000) /* for one server: another one may be reachable */
enum { SLICE_MS = 50 };                 /* how often a waker is checked */
enum { RECEIVE_BYTES = 16 * 1024, TLS_RECORD_OF_ALERT = 0x15 };

/* ---- what fails ------------------------------------------------------------------------------ */

/* Of lk_socket_await(): LK_UNAVAILABLE: the time is up. */
static lk_outcome outcome_of(int problem) {
    return problem == 0 ? LK_OK : problem == ECANCELED ? LK_CANCELLED : LK_UNAVAILABLE;
}

static lk_outcome wait_for(const struct lk_redis_link *link, short events,
                           const struct lk_patience *patience) {
    return outcome_of(
        lk_socket_await(link->descriptor, events, patience->until_us, patience->waker));
}

static void note(struct lk_redis_link *link, const char *problem) {
    (void)snprintf(link->problem, sizeof link->problem, "%s", problem);
}

/* Of the socket: EPIPE is its end. */
static void note_failure(struct lk_redis_link *link, int problem) {
    const char *reason = link->tls != NULL ? lk_tls_session_reason(link->tls) : "";

    if (reason[0] != '\0') {
        (void)snprintf(link->problem, sizeof link->problem, "speaks no TLS that can be read: %s",
                       reason);
    } else if (problem == EPIPE) {
        note(link, "has closed the connection");
    } else {
        (void)snprintf(link->problem, sizeof link->problem, "cannot be reached any more: %s",
                       strerror(problem));
    }
}

static lk_outcome fail(const struct lk_redis_link *link, lk_outcome outcome, lk_error *error) {
    if (outcome == LK_CANCELLED) {
        return lk_error_set(error, outcome, "the wait was cancelled");
    }
    return lk_error_set(error, LK_UNAVAILABLE, "the Redis server %s",
                        link->problem[0] != '\0' ? link->problem : "does not answer in time");
}

/* ---- exchanges ------------------------------------------------------------------------------- */

static lk_outcome send_all(struct lk_redis_link *link, struct lk_slice bytes,
                           const struct lk_patience *patience) {
    int problem = lk_tls_client_send_all(link->tls, link->descriptor, bytes, patience->until_us,
                                         patience->waker);

    if (problem != 0 && problem != ETIMEDOUT && problem != ECANCELED) {
        note_failure(link, problem);
    }
    return outcome_of(problem);
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
    outcome = send_all(link, (struct lk_slice){text, (size_t)size}, patience);
    redisFreeCommand(text);
    return outcome == LK_OK ? LK_OK : fail(link, outcome, error);
}

/* What TLS has decrypted already does not make the socket readable again: all of it is taken. */
bool lk_redis_link_fill(struct lk_redis_link *link) {
    char bytes[RECEIVE_BYTES];
    short events;

    do {
        ssize_t count =
            lk_tls_client_receive(link->tls, link->descriptor, bytes, sizeof bytes, &events);

        if (count < 0 && errno == EAGAIN) {
            return true;
        }
        if (count <= 0) {
            note_failure(link, count == 0 ? EPIPE : errno);
            return false;
        }
        if (link->first_byte == 0) {
            link->first_byte = (unsigned char)bytes[0];
        }
        if (redisReaderFeed(link->reader, bytes, (size_t)count) != REDIS_OK) {
            note(link, link->reader->errstr);
            return false;
        }
    } while (link->tls != NULL && lk_tls_session_has_more(link->tls));
    return true;
}

bool lk_redis_link_next(struct lk_redis_link *link, redisReply **ret_reply) {
    void *reply = NULL;

    if (redisReaderGetReply(link->reader, &reply) != REDIS_OK) {
        (void)snprintf(link->problem, sizeof link->problem, "sends no reply: %.100s",
                       link->reader->errstr);
        return false;
    }
    *ret_reply = reply;
    return true;
}

/*
 * Waits until there may be data to read. A read waits for a slice by itself (wait_in_calls()),
 * which saves a system call. If less time than a slice is left, this function polls instead.
 */
static lk_outcome wait_for_more(const struct lk_redis_link *link,
                                const struct lk_patience *patience) {
    if (patience->until_us - lk_clock_now_us() <= SLICE_MS * INT64_C(1000)) {
        return wait_for(link, POLLIN, patience);
    }
    return lk_waker_is_thrown(patience->waker) ? LK_CANCELLED : LK_OK;
}

static lk_outcome receive(struct lk_redis_link *link, const struct lk_patience *patience,
                          redisReply **ret_reply) {
    for (;;) {
        lk_outcome outcome;

        if (!lk_redis_link_next(link, ret_reply)) {
            return LK_UNAVAILABLE;
        }
        if (*ret_reply != NULL) {
            return LK_OK;
        }
        outcome = wait_for_more(link, patience);
        if (outcome != LK_OK) {
            return outcome;
        }
        if (!lk_redis_link_fill(link)) {
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
static lk_outcome judge_refusal(const redisReply *reply, const char *scheme, lk_error *error) {
    lk_outcome outcome = LK_UNAVAILABLE;

    if (reply->type != REDIS_REPLY_ERROR) {
        return LK_OK;
    }
    if (strncmp(reply->str, "NOAUTH", 6) == 0) {
        return lk_error_set(error, LK_DENIED,
                            "the Redis server wants a password: %s://:PASSWORD@HOST, "
                            "%s://USER:PASSWORD@HOST, or ?password-file=FILE at the end of the "
                            "URL",
                            scheme, scheme);
    }
    if (strncmp(reply->str, "WRONGPASS", 9) == 0
        || strstr(reply->str, "invalid password") != NULL) {
        return lk_error_set(error, LK_DENIED,
                            "the Redis server refuses the URL's password, or does not know its "
                            "user (%s://USER:PASSWORD@HOST, special characters as %%XX)",
                            scheme);
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

static lk_outcome greet_with(struct lk_redis_link *link, const char *scheme,
                             const char *const *texts, size_t count,
                             const struct lk_patience *patience, lk_error *error) {
    redisReply *reply = NULL;
    lk_outcome outcome = lk_redis_exchange_text(link, texts, count, patience, &reply, error);

    if (outcome == LK_OK) {
        outcome = judge_refusal(reply, scheme, error);
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

static lk_outcome look_at_server(struct lk_redis_link *link, const char *scheme,
                                 const struct lk_patience *patience, lk_error *error) {
    static const char *const info[] = {"INFO", "server"};
    redisReply *reply = NULL;
    char mode[16];
    char version[32] = "";
    lk_outcome outcome = lk_redis_exchange_text(link, info, 2, patience, &reply, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = judge_refusal(reply, scheme, error);
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
    const char *scheme = lk_redis_scheme(target);
    const bool has_user = target->user[0] != '\0';
    const char *const auth[] = {"AUTH", has_user ? target->user : target->password,
                                target->password};
    char database[16];
    const char *const choose[] = {"SELECT", database};
    lk_outcome outcome = LK_OK;

    (void)snprintf(database, sizeof database, "%d", target->database);
    if (target->password[0] != '\0') {
        outcome = greet_with(link, scheme, auth, has_user ? 3 : 2, patience, error);
    }
    if (outcome == LK_OK && target->database != 0) {
        outcome = greet_with(link, scheme, choose, 2, patience, error);
    }
    return outcome == LK_OK ? look_at_server(link, scheme, patience, error) : outcome;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Makes reads and writes wait for a slice; after that they report, as before, a retry. */
static bool wait_in_calls(int socket) {
    const struct timeval slice = {.tv_usec = SLICE_MS * 1000};
    int flags = fcntl(socket, F_GETFL);

    return flags >= 0 && fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) == 0
           && setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice) == 0
           && setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &slice, sizeof slice) == 0;
}

/* Returns an errno with *ret_why, or 0 with *ret_descriptor. */
static int dial(const struct lk_redis_address *address, const struct lk_patience *patience,
                int *ret_descriptor, const char **ret_why) {
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    char port[8];
    int problem;

    if (address->port != 0) {
        (void)snprintf(port, sizeof port, "%d", address->port);
        return lk_socket_dial(address->host, port, patience->until_us, patience->waker,
                              ret_descriptor, ret_why);
    }
    memcpy(place.sun_path, address->host, sizeof place.sun_path - 1); /* target.c: no longer path */
    problem = lk_socket_connect((const struct sockaddr *)&place, sizeof place, patience->until_us,
                                patience->waker, ret_descriptor);
    *ret_why = strerror(problem);
    return problem;
}

static struct lk_tls_peer peer_of(const char *name) {
    return (struct lk_tls_peer){.name = name,
                                .kind = "the Redis server",
                                .scheme = "rediss",
                                .plain = "redis",
                                .authorities = "tls-ca-cert-file"};
}

static lk_outcome begin_tls(struct lk_redis_link *link, struct lk_tls_context *context,
                            const char *host, const char *name, const struct lk_patience *patience,
                            lk_error *error) {
    const struct lk_tls_peer peer = peer_of(name);

    link->tls = lk_tls_session_connect(context, link->descriptor, host);
    return link->tls != NULL ? lk_tls_client_begin(link->tls, link->descriptor, &peer,
                                                   patience->until_us, patience->waker, error)
                             : lk_error_set(error, LK_INTERNAL, "no memory for a connection");
}

static lk_outcome connect_to(struct lk_redis_link *link, const struct lk_redis_address *address,
                             struct lk_tls_context *context, const char *name,
                             const struct lk_patience *patience, lk_error *error) {
    const char *why = "";
    int problem = dial(address, patience, &link->descriptor, &why);
    lk_outcome outcome = LK_OK;

    if (problem == ECANCELED) {
        return lk_error_clear(error, LK_CANCELLED);
    }
    if (problem == ETIMEDOUT) {
        return lk_error_set(error, LK_UNAVAILABLE, "%s does not answer", name);
    }
    if (problem != 0) {
        return lk_error_set(error, LK_UNAVAILABLE, "cannot connect to %s: %s", name, why);
    }
    if (context != NULL) {
        outcome = begin_tls(link, context, address->host, name, patience, error);
    }
    if (outcome == LK_OK && !wait_in_calls(link->descriptor)) {
        return lk_error_set(error, LK_INTERNAL, "a socket cannot be set up: %s", strerror(errno));
    }
    return outcome;
}

/* The server has not answered the greeting: the outcome, and what is known of the reason. */
static lk_outcome explain_silence(const struct lk_redis_link *link,
                                  const struct lk_redis_address *address, const char *name,
                                  bool is_time_up, lk_error *error) {
    const struct lk_tls_peer peer = peer_of(name);
    lk_outcome known = lk_tls_client_explain(link->tls, &peer, error);

    if (known != LK_OK) {
        return known;
    }
    if (link->tls == NULL && link->first_byte == TLS_RECORD_OF_ALERT) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "%s: this port is TLS: use rediss:// in place of redis://", name);
    }
    if (is_time_up) {
        return lk_error_set(error, LK_UNAVAILABLE, "%s: connected, but the server did not answer",
                            name);
    }
    if (link->tls == NULL && link->first_byte == 0 && address->port != 0) {
        return lk_error_set(error, LK_UNAVAILABLE,
                            "%s: the server closes the connection without an answer: if this port "
                            "is TLS, use rediss:// in place of redis://",
                            name);
    }
    return LK_UNAVAILABLE;
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

    if (link == NULL || (link->reader = redisReaderCreate()) == NULL) {
        free(link);
        return lk_error_set(error, LK_INTERNAL, "no memory for a connection");
    }
    link->descriptor = -1;
    lk_redis_address_write(address, name);
    outcome = connect_to(link, address, target->tls, name, &bounded, error);
    if (outcome == LK_OK) {
        outcome = greet(link, target, &bounded, error);
        if (outcome == LK_UNAVAILABLE) {
            outcome =
                explain_silence(link, address, name, lk_clock_now_us() >= bounded.until_us, error);
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
        lk_tls_session_free(link->tls);
        if (link->descriptor >= 0) {
            (void)close(link->descriptor);
        }
        redisReaderFree(link->reader);
        free(link);
    }
}
