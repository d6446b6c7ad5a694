/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of etcd: which node is asked, and what errors mean. */
#include "server/store/etcd/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "server/store/etcd/grpc.h"

enum { TOKEN_BYTES_MAX = 2048, VERSION_MAJOR = 3, VERSION_MINOR = 4 };

#define AUTHENTICATE "/etcdserverpb.Auth/Authenticate"
#define STATUS "/etcdserverpb.Maintenance/Status"
#define COMPACT "/etcdserverpb.KV/Compact"

#define PAUSE_US INT64_C(20000)         /* before all nodes are tried once more */
#define ANSWER_US_LEAST INT64_C(250000) /* that a node has for it, if the lease has room */
#define COMPACT_US INT64_C(200000)      /* for a call that need not succeed */

struct lk_etcd_client {
    struct lk_etcd_url url;
    struct lk_tls_context *tls; /* NULL: none */
    struct lk_grpc *grpc;
    int64_t lease_us;
    bool is_hasty;               /* each node is tried once */
    size_t endpoint;             /* the one that has answered last */
    char token[TOKEN_BYTES_MAX]; /* of authentication; empty: none yet */
};

static lk_outcome set_up(struct lk_etcd_client *client, const char *url, lk_error *error) {
    lk_outcome outcome = lk_etcd_url_parse(url, &client->url, error);

    if (outcome == LK_OK && client->url.has_tls) {
        const struct lk_tls_files files = {.certificate = client->url.certificate,
                                           .key = client->url.key,
                                           .authorities = client->url.ca};

        outcome = lk_tls_client_new(&files, &client->tls, error);
    }
    if (outcome == LK_OK) {
        client->grpc = lk_grpc_new(client->tls);
        outcome =
            client->grpc != NULL ? LK_OK : lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    return outcome;
}

lk_outcome lk_etcd_client_new(const char *url, int64_t lease_us, struct lk_etcd_client **ret_client,
                              lk_error *error) {
    lk_outcome outcome = lk_nghttp2_load(error);
    struct lk_etcd_client *client;

    if (outcome != LK_OK) {
        return outcome;
    }
    client = calloc(1, sizeof *client);
    if (client == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    client->lease_us = lease_us;
    client->is_hasty = true;
    outcome = set_up(client, url, error);
    if (outcome != LK_OK) {
        lk_etcd_client_free(client);
        return outcome;
    }
    *ret_client = client;
    return LK_OK;
}

void lk_etcd_client_free(struct lk_etcd_client *client) {
    if (client != NULL) {
        lk_grpc_free(client->grpc);
        lk_tls_context_free(client->tls);
        lk_etcd_url_done(&client->url);
        free(client);
    }
}

void lk_etcd_client_insist(struct lk_etcd_client *client, int64_t lease_us) {
    client->lease_us = lease_us;
    client->is_hasty = false;
}

const char *lk_etcd_client_prefix(const struct lk_etcd_client *client) {
    return client->url.prefix;
}

/* ---- what errors mean ------------------------------------------------------------------------ */

enum verdict { DONE, TRY_NEXT, FAILED };

static const char no_etcd[] =
    "what answers there is no etcd 3.4 or later; name hosts of etcd 3.4 or "
    "later, at the port for clients";

static enum verdict fail(lk_outcome outcome, const char *text, lk_error *error) {
    (void)lk_error_set(error, outcome, "%s", text);
    return FAILED;
}

/* An error of etcd's. Those that come of a node that is away, or of an election, pass. */
static enum verdict judge_error(unsigned code, const char *message, lk_error *error) {
    if (strstr(message, "database space exceeded") != NULL) {
        return fail(LK_UNAVAILABLE,
                    "etcd has reached its quota and takes no writes; compact it and defragment it, "
                    "or start it with a larger --quota-backend-bytes, and end the alarm: etcdctl "
                    "alarm disarm",
                    error);
    }
    if (strstr(message, "request is too large") != NULL
        || strstr(message, "received message larger than max") != NULL) {
        return fail(LK_INVALID,
                    "etcd refuses a request of 1 MiB: start it with --max-request-bytes 1572864, "
                    "which is its default, or more",
                    error);
    }
    if (strstr(message, "authentication is not enabled") != NULL) {
        return fail(LK_DENIED, "etcd asks for no user: leave USER:PASSWORD@ out of the URL", error);
    }
    if (code == LK_GRPC_DENIED || code == LK_GRPC_STRANGER
        || strstr(message, "authentication") != NULL
        || strstr(message, "user name is empty") != NULL) {
        (void)lk_error_set(error, LK_DENIED,
                           "etcd: %.100s; name a user of etcd with the right to read and write "
                           "below the prefix, as etcd://USER:PASSWORD@HOST",
                           message);
        return FAILED;
    }
    if (code == LK_GRPC_UNIMPLEMENTED) {
        return fail(LK_UNSUPPORTED, no_etcd, error);
    }
    (void)lk_error_set(error, LK_UNAVAILABLE, "etcd: %.200s", message);
    return code == LK_GRPC_UNAVAILABLE || code == LK_GRPC_DEADLINE || code == LK_GRPC_CANCELLED
                   || code == LK_GRPC_ABORTED || code == LK_GRPC_UNKNOWN
                   || code == LK_GRPC_EXHAUSTED
               ? TRY_NEXT
               : FAILED;
}

/* ---- asking one node ------------------------------------------------------------------------- */

static enum verdict ask(struct lk_etcd_client *client, const struct lk_grpc_call *call,
                        struct lk_grpc_answer *ret_answer, lk_error *error) {
    switch (lk_grpc_do(client->grpc, call, ret_answer)) {
    case LK_GRPC_ANSWERED:
        return ret_answer->code == LK_GRPC_OK
                   ? DONE
                   : judge_error(ret_answer->code, ret_answer->text, error);
    case LK_GRPC_NO_GRPC:
        return fail(LK_UNSUPPORTED, no_etcd, error);
    case LK_GRPC_NO_ANSWER:
        break;
    }
    (void)lk_error_set(error, LK_UNAVAILABLE, "etcd cannot be reached; is it there? %s: %s",
                       call->endpoint->text, ret_answer->text);
    return TRY_NEXT;
}

/* Gets a token for the user of the URL. */
static enum verdict authenticate(struct lk_etcd_client *client, const struct lk_grpc_call *wanted,
                                 lk_error *error) {
    struct lk_buffer login = {.max = 0};
    struct lk_grpc_call call = {
        .endpoint = wanted->endpoint, .path = AUTHENTICATE, .until_us = wanted->until_us};
    struct lk_grpc_answer answer;
    struct lk_slice token;
    enum verdict verdict;

    lk_etcd_add_login(&login, client->url.user, client->url.password);
    call.message = (struct lk_slice){login.bytes, login.size};
    verdict = login.failed ? fail(LK_INTERNAL, "memory is exhausted", error)
                           : ask(client, &call, &answer, error);
    lk_buffer_done(&login);
    if (verdict != DONE) {
        return verdict;
    }
    token = lk_etcd_read_text(answer.message);
    if (token.size == 0 || token.size >= sizeof client->token
        || memchr(token.bytes, '\0', token.size) != NULL) {
        return fail(LK_UNAVAILABLE, "etcd has answered with no token for its user", error);
    }
    (void)snprintf(client->token, sizeof client->token, "%.*s", (int)token.size, token.bytes);
    return DONE;
}

/* Whether the token has expired; one that is signed does so when users or roles change, too. */
static bool has_expired(const struct lk_grpc_answer *answer) {
    return answer->code == LK_GRPC_STRANGER
           || strstr(answer->text, "revision of auth store is old") != NULL;
}

/* With a token that has expired another one is asked for, once. */
static enum verdict ask_as_user(struct lk_etcd_client *client, struct lk_grpc_call *call,
                                struct lk_slice *ret_answer, lk_error *error) {
    bool had_token = client->token[0] != '\0';
    struct lk_grpc_answer answer = {.code = LK_GRPC_OK};
    enum verdict verdict = DONE;

    if (client->url.user != NULL && !had_token) {
        verdict = authenticate(client, call, error);
    }
    if (verdict == DONE) {
        call->token = client->token[0] != '\0' ? client->token : NULL;
        verdict = ask(client, call, &answer, error);
    }
    if (verdict == FAILED && had_token && has_expired(&answer)) {
        client->token[0] = '\0';
        return ask_as_user(client, call, ret_answer, error);
    }
    *ret_answer = answer.message;
    return verdict;
}

/* ---- asking until it is answered ------------------------------------------------------------- */

static void pause_for(int64_t pause_us) {
    const struct timespec pause = {.tv_nsec = (long)(pause_us * 1000)};

    (void)nanosleep(&pause, NULL);
}

/* What is left to be run; nothing, once it was. */
static void run_once(void *context) {
    struct lk_etcd_meanwhile *left = context;

    if (left->run != NULL) {
        left->run(left->context);
    }
    left->run = NULL;
}

/*
 * How long one node is waited for. All are asked twice in the time of a lease: while the cluster
 * elects another leader, a node that is well has no answer, and later it has. A short lease has the
 * time for one answer of each.
 */
static int64_t share_of(const struct lk_etcd_client *client) {
    int64_t share_us = client->lease_us / (int64_t)client->url.endpoint_count;

    return client->is_hasty ? share_us : lk_max(share_us / 2, lk_min(share_us, ANSWER_US_LEAST));
}

lk_outcome lk_etcd_call(struct lk_etcd_client *client, const char *method, struct lk_slice message,
                        const struct lk_etcd_meanwhile *meanwhile, struct lk_slice *ret_answer,
                        lk_error *error) {
    int64_t until_us = lk_clock_now_us() + client->lease_us;
    int64_t share_us = share_of(client);
    struct lk_etcd_meanwhile left = {.run = meanwhile != NULL ? meanwhile->run : NULL,
                                     .context = meanwhile != NULL ? meanwhile->context : NULL};
    struct lk_grpc_call call = {
        .path = method, .message = message, .meanwhile = run_once, .context = &left};
    enum verdict verdict;
    lk_error local;

    error = error != NULL ? error : &local;
    for (unsigned i = 1;; i++) {
        call.endpoint = &client->url.endpoints[client->endpoint];
        call.until_us = lk_min(until_us, lk_clock_now_us() + share_us);
        verdict = ask_as_user(client, &call, ret_answer, error);
        if (verdict == DONE) {
            run_once(&left);
            return LK_OK;
        }
        if (verdict == FAILED) {
            return error->outcome;
        }
        client->endpoint = (client->endpoint + 1) % client->url.endpoint_count;
        if (lk_clock_now_us() + PAUSE_US >= until_us) {
            return error->outcome;
        }
        if (i % client->url.endpoint_count == 0) {
            if (client->is_hasty) {
                return error->outcome;
            }
            pause_for(PAUSE_US);
        }
    }
}

void lk_etcd_compact(struct lk_etcd_client *client, uint64_t revision) {
    struct lk_buffer message = {.max = 0};
    struct lk_grpc_call call = {.endpoint = &client->url.endpoints[client->endpoint],
                                .path = COMPACT,
                                .until_us = lk_clock_now_us() + COMPACT_US};
    struct lk_slice answer;
    lk_error error;

    lk_etcd_add_compaction(&message, revision);
    call.message = (struct lk_slice){message.bytes, message.size};
    if (!message.failed) {
        (void)ask_as_user(client, &call, &answer, &error);
    }
    lk_buffer_done(&message);
}

lk_outcome lk_etcd_check_version(struct lk_etcd_client *client, lk_error *error) {
    enum { VERSION_BYTES = 32 };
    struct lk_slice answer;
    struct lk_slice version;
    char text[VERSION_BYTES];
    int major = 0;
    int minor = 0;
    lk_outcome outcome =
        lk_etcd_call(client, STATUS, (struct lk_slice){NULL, 0}, NULL, &answer, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    version = lk_etcd_read_text(answer);
    (void)snprintf(text, sizeof text, "%.*s", (int)version.size, version.bytes);
    if (sscanf(text, "%d.%d", &major, &minor) != 2) {
        return lk_error_set(error, LK_UNSUPPORTED, "%s", no_etcd);
    }
    if (major < VERSION_MAJOR || (major == VERSION_MAJOR && minor < VERSION_MINOR)) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "what answers there is etcd %d.%d; services need %d.%d or later", major,
                            minor, VERSION_MAJOR, VERSION_MINOR);
    }
    return LK_OK;
}

/* ---- keys ------------------------------------------------------------------------------------ */

lk_outcome lk_etcd_range(struct lk_etcd_client *client, const char *from, const char *to,
                         unsigned limit, struct lk_buffer *answer, lk_error *error) {
    struct lk_buffer message = {.max = 0};
    struct lk_slice received;
    lk_outcome outcome;

    lk_etcd_add_range(&message, from, to, limit);
    outcome = message.failed ? lk_error_set(error, LK_INTERNAL, "memory is exhausted")
                             : lk_etcd_call(client, LK_ETCD_RANGE,
                                            (struct lk_slice){message.bytes, message.size}, NULL,
                                            &received, error);
    lk_buffer_done(&message);
    if (outcome == LK_OK && !lk_etcd_is_answer(received)) {
        outcome = lk_error_set(error, LK_UNAVAILABLE,
                               "what etcd has answered to a question is no answer");
    }
    if (outcome == LK_OK) {
        lk_buffer_cut(answer, 0);
        lk_buffer_add_slice(answer, received);
        if (answer->failed) {
            outcome = lk_error_set(error, LK_INTERNAL, "memory is exhausted");
        }
    }
    return outcome;
}
