/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of etcd: which node is asked, what errors mean, and what bodies and answers look like. */
#include "server/store/etcd/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "form/text.h"
#include "server/store/etcd/http.h"
#include "server/store/etcd/libcurl.h"

enum { TOKEN_BYTES_MAX = 2048, VERSION_MAJOR = 3, VERSION_MINOR = 4 };

/* What gRPC calls the causes of failures. */
enum {
    CODE_CANCELLED = 1,
    CODE_UNKNOWN = 2,
    CODE_INVALID = 3,
    CODE_DEADLINE = 4,
    CODE_DENIED = 7,
    CODE_EXHAUSTED = 8,
    CODE_ABORTED = 10,
    CODE_UNAVAILABLE = 14,
    CODE_STRANGER = 16,
};

#define PAUSE_US INT64_C(20000) /* before all nodes are tried once more */

struct lk_etcd_client {
    struct lk_etcd_url url;
    struct lk_etcd_http *http;
    int64_t lease_us;
    bool is_hasty;               /* each node is tried once */
    size_t endpoint;             /* the one that has answered last */
    char token[TOKEN_BYTES_MAX]; /* of authentication; empty: none yet */
};

lk_outcome lk_etcd_client_new(const char *url, int64_t lease_us, struct lk_etcd_client **ret_client,
                              lk_error *error) {
    lk_outcome outcome = lk_libcurl_load(error);
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
    outcome = lk_etcd_url_parse(url, &client->url, error);
    if (outcome == LK_OK) {
        client->http = lk_etcd_http_new(&client->url);
        if (client->http != NULL) {
            *ret_client = client;
            return LK_OK;
        }
        outcome = lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    lk_etcd_client_free(client);
    return outcome;
}

void lk_etcd_client_free(struct lk_etcd_client *client) {
    if (client != NULL) {
        lk_etcd_http_free(client->http);
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

static enum verdict fail(lk_outcome outcome, const char *text, lk_error *error) {
    (void)lk_error_set(error, outcome, "%s", text);
    return FAILED;
}

/* An error of etcd's. Those that come of a node that is away, or of an election, pass. */
static enum verdict judge_error(json_int_t code, const char *message, lk_error *error) {
    if (strstr(message, "database space exceeded") != NULL) {
        return fail(LK_UNAVAILABLE,
                    "etcd has reached its quota and takes no writes; compact it, defragment it, "
                    "and end the alarm: etcdctl alarm disarm",
                    error);
    }
    if (strstr(message, "request is too large") != NULL) {
        return fail(LK_INVALID,
                    "etcd refuses a request of 1 MiB: start it with --max-request-bytes 1572864, "
                    "which is its default, or more",
                    error);
    }
    if (code == CODE_DENIED || code == CODE_STRANGER || strstr(message, "authentication") != NULL
        || strstr(message, "user name is empty") != NULL) {
        (void)lk_error_set(error, LK_DENIED,
                           "etcd: %.100s; name a user of etcd with the right to read and write "
                           "below the prefix, as etcd://USER:PASSWORD@HOST",
                           message);
        return FAILED;
    }
    (void)lk_error_set(error, LK_UNAVAILABLE, "etcd: %.200s", message);
    return code == CODE_UNAVAILABLE || code == CODE_DEADLINE || code == CODE_CANCELLED
                   || code == CODE_ABORTED || code == CODE_UNKNOWN || code == CODE_EXHAUSTED
               ? TRY_NEXT
               : FAILED;
}

static enum verdict judge(long status, struct lk_slice body, json_t **ret_answer,
                          json_int_t *ret_code, lk_error *error) {
    json_t *answer = json_loadb(body.bytes != NULL ? body.bytes : "", body.size, 0, NULL);
    const json_t *message = json_object_get(answer, "error");
    enum verdict verdict = DONE;

    *ret_code = 0;
    if (status == 404) {
        verdict = fail(LK_UNSUPPORTED,
                       "what answers there has no gateway of etcd 3.4 or later; name hosts of "
                       "etcd 3.4 or later, at the port for clients",
                       error);
    } else if (status == 200 && json_is_object(answer)) {
        *ret_answer = answer;
        return DONE;
    } else if (json_is_string(message)) {
        *ret_code = json_integer_value(json_object_get(answer, "code"));
        verdict = judge_error(*ret_code, json_string_value(message), error);
    } else {
        (void)lk_error_set(error, LK_UNAVAILABLE, "etcd has answered with status %ld", status);
        verdict = TRY_NEXT;
    }
    json_decref(answer);
    return verdict;
}

/* ---- asking one node ------------------------------------------------------------------------- */

static enum verdict ask(struct lk_etcd_client *client, struct lk_etcd_exchange *exchange,
                        json_t **ret_answer, json_int_t *ret_code, lk_error *error) {
    struct lk_slice body;
    char why[LK_ETCD_WHY_BYTES];
    long status = 0;

    *ret_code = 0;
    if (!lk_etcd_http_do(client->http, exchange, &status, &body, why)) {
        (void)lk_error_set(error, LK_UNAVAILABLE, "etcd cannot be reached; is it there? %s: %s",
                           exchange->endpoint, why);
        return TRY_NEXT;
    }
    return judge(status, body, ret_answer, ret_code, error);
}

/* Gets a token for the user of the URL. */
static enum verdict authenticate(struct lk_etcd_client *client,
                                 const struct lk_etcd_exchange *wanted, lk_error *error) {
    struct lk_buffer body = {.max = 0};
    struct lk_etcd_exchange exchange = {.endpoint = wanted->endpoint,
                                        .path = "/v3/auth/authenticate",
                                        .until_us = wanted->until_us};
    json_t *answer = NULL;
    json_int_t code;
    enum verdict verdict;
    const char *token;

    lk_buffer_add_text(&body, "{\"name\":");
    lk_form_put_string(&body, lk_slice_of(client->url.user));
    lk_buffer_add_text(&body, ",\"password\":");
    lk_form_put_string(&body, lk_slice_of(client->url.password));
    lk_buffer_add_text(&body, "}");
    if (body.failed) {
        lk_buffer_done(&body);
        return fail(LK_INTERNAL, "memory is exhausted", error);
    }
    exchange.body = (struct lk_slice){body.bytes, body.size};
    verdict = ask(client, &exchange, &answer, &code, error);
    lk_buffer_done(&body);
    if (verdict != DONE) {
        return verdict;
    }
    token = json_string_value(json_object_get(answer, "token"));
    if (token == NULL || strlen(token) >= sizeof client->token || strpbrk(token, "\r\n") != NULL) {
        verdict = fail(LK_UNAVAILABLE, "etcd has answered with no token for its user", error);
    } else {
        (void)snprintf(client->token, sizeof client->token, "%s", token);
    }
    json_decref(answer);
    return verdict;
}

/* A token may have expired: then another one is asked for, once. */
static enum verdict ask_as_user(struct lk_etcd_client *client, struct lk_etcd_exchange *exchange,
                                json_t **ret_answer, lk_error *error) {
    bool had_token = client->token[0] != '\0';
    json_int_t code = 0;
    enum verdict verdict = DONE;

    if (client->url.user != NULL && !had_token) {
        verdict = authenticate(client, exchange, error);
    }
    if (verdict == DONE) {
        exchange->token = client->token[0] != '\0' ? client->token : NULL;
        verdict = ask(client, exchange, ret_answer, &code, error);
    }
    if (verdict == FAILED && had_token && code == CODE_STRANGER) {
        client->token[0] = '\0';
        exchange->meanwhile = NULL;
        return ask_as_user(client, exchange, ret_answer, error);
    }
    return verdict;
}

/* ---- asking until it is answered ------------------------------------------------------------- */

static void pause_for(int64_t pause_us) {
    const struct timespec pause = {.tv_nsec = (long)(pause_us * 1000)};

    (void)nanosleep(&pause, NULL);
}

lk_outcome lk_etcd_call(struct lk_etcd_client *client, const char *path, struct lk_slice body,
                        const struct lk_etcd_meanwhile *meanwhile, json_t **ret_answer,
                        lk_error *error) {
    int64_t until_us = lk_clock_now_us() + client->lease_us;
    int64_t share_us = client->lease_us / (int64_t)client->url.endpoint_count;
    struct lk_etcd_exchange exchange = {.path = path, .body = body};
    enum verdict verdict;
    lk_error local;

    error = error != NULL ? error : &local;
    if (meanwhile != NULL) {
        exchange.meanwhile = meanwhile->run;
        exchange.context = meanwhile->context;
    }
    for (unsigned i = 1;; i++) {
        exchange.endpoint = client->url.endpoints[client->endpoint];
        exchange.until_us = lk_min(until_us, lk_clock_now_us() + share_us);
        verdict = ask_as_user(client, &exchange, ret_answer, error);
        exchange.meanwhile = NULL;
        if (verdict != TRY_NEXT) {
            return verdict == DONE ? LK_OK : error->outcome;
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

lk_outcome lk_etcd_check_version(struct lk_etcd_client *client, lk_error *error) {
    json_t *answer = NULL;
    lk_outcome outcome =
        lk_etcd_call(client, "/version", (struct lk_slice){NULL, 0}, NULL, &answer, error);
    const char *version;
    int major = 0;
    int minor = 0;

    if (outcome != LK_OK) {
        return outcome;
    }
    version = json_string_value(json_object_get(answer, "etcdcluster"));
    /* A cluster that is being formed has no version yet; then that of the node counts. */
    if (version == NULL || sscanf(version, "%d.%d", &major, &minor) != 2) {
        version = json_string_value(json_object_get(answer, "etcdserver"));
    }
    if (version == NULL || sscanf(version, "%d.%d", &major, &minor) != 2) {
        outcome = lk_error_set(error, LK_UNSUPPORTED,
                               "what answers there is no etcd; name hosts of etcd %d.%d or later",
                               VERSION_MAJOR, VERSION_MINOR);
    } else if (major < VERSION_MAJOR || (major == VERSION_MAJOR && minor < VERSION_MINOR)) {
        outcome = lk_error_set(error, LK_UNSUPPORTED,
                               "the cluster runs etcd %d.%d; services need %d.%d or later", major,
                               minor, VERSION_MAJOR, VERSION_MINOR);
    }
    json_decref(answer);
    return outcome;
}

/* ---- bodies and answers ---------------------------------------------------------------------- */

static void add_name(struct lk_buffer *body, const char *name) {
    lk_buffer_add_text(body, "\"");
    lk_buffer_add_text(body, name);
    lk_buffer_add_text(body, "\":\"");
}

void lk_etcd_add_bytes(struct lk_buffer *body, const char *name, struct lk_slice bytes) {
    add_name(body, name);
    lk_form_put_base64(body, bytes);
    lk_buffer_add_text(body, "\"");
}

void lk_etcd_add_text(struct lk_buffer *body, const char *name, const char *text) {
    lk_etcd_add_bytes(body, name, lk_slice_of(text));
}

void lk_etcd_add_put(struct lk_buffer *operations, const char *key, struct lk_slice value) {
    lk_buffer_add_text(operations, ",{\"request_put\":{");
    lk_etcd_add_text(operations, "key", key);
    lk_buffer_add_text(operations, ",");
    lk_etcd_add_bytes(operations, "value", value);
    lk_buffer_add_text(operations, "}}");
}

void lk_etcd_add_delete(struct lk_buffer *operations, const char *from, const char *to) {
    lk_buffer_add_text(operations, ",{\"request_delete_range\":{");
    lk_etcd_add_text(operations, "key", from);
    lk_buffer_add_text(operations, ",");
    lk_etcd_add_text(operations, "range_end", to);
    lk_buffer_add_text(operations, "}}");
}

uint64_t lk_etcd_number(const json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

lk_outcome lk_etcd_range(struct lk_etcd_client *client, const char *from, const char *to,
                         unsigned limit, json_t **ret_rows, lk_error *error) {
    struct lk_buffer body = {.max = 0};
    json_t *answer = NULL;
    lk_outcome outcome;

    lk_buffer_add_text(&body, "{");
    lk_etcd_add_text(&body, "key", from);
    if (to != NULL) {
        lk_buffer_add_text(&body, ",");
        lk_etcd_add_text(&body, "range_end", to);
    }
    lk_buffer_add_text(&body, ",\"limit\":\"");
    lk_buffer_add_number(&body, limit);
    lk_buffer_add_text(&body, "\"}");
    outcome = body.failed
                  ? lk_error_set(error, LK_INTERNAL, "memory is exhausted")
                  : lk_etcd_call(client, "/v3/kv/range", (struct lk_slice){body.bytes, body.size},
                                 NULL, &answer, error);
    lk_buffer_done(&body);
    if (outcome == LK_OK) {
        *ret_rows = json_incref(json_object_get(answer, "kvs"));
        json_decref(answer);
    }
    return outcome;
}

bool lk_etcd_read(const json_t *row, const char *name, struct lk_buffer *bytes) {
    const json_t *text = json_object_get(row, name);
    size_t size = json_string_length(text);

    lk_buffer_cut(bytes, 0);
    lk_buffer_add(bytes, json_string_value(text), size);
    return size > 0 && !bytes->failed && lk_form_read_base64(bytes->bytes, size, &bytes->size);
}
