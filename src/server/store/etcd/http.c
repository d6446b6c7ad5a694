/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP by libcurl's interface that does not block, so that something else can be done while a
 * request is under way. One handle is used again and again: its connections are kept.
 */
#include "server/store/etcd/http.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "server/store/etcd/libcurl.h"

enum { ANSWER_BYTES_MAX = 256 * 1024 * 1024, ENDPOINT_BYTES_MAX = 400, HEADER_BYTES_MAX = 4096 };

struct lk_etcd_http {
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers; /* without a token */
    struct lk_buffer answer;
    char reason[CURL_ERROR_SIZE];
};

/* libcurl's type. Less than the whole size makes it fail. */
static size_t receive(char *bytes, size_t one, size_t size, void *context) {
    struct lk_etcd_http *http = context;

    lk_buffer_add(&http->answer, bytes, one * size);
    return http->answer.failed ? 0 : one * size;
}

static void set_up(struct lk_etcd_http *http, const struct lk_etcd_url *url) {
    CURL *easy = http->easy;

    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* of the environment: not for a database */
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, http);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, http->reason);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    if (url->ca != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, url->ca);
        (void)curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    if (url->certificate != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_SSLCERT, url->certificate);
    }
    if (url->key != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_SSLKEY, url->key);
    }
}

/* No `Expect`: etcd takes a large body at once, and libcurl would wait a second for its leave. */
static struct curl_slist *make_headers(const char *token) {
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    struct curl_slist *longer = headers != NULL ? curl_slist_append(headers, "Expect:") : NULL;
    char text[HEADER_BYTES_MAX];

    if (longer != NULL && token != NULL) {
        (void)snprintf(text, sizeof text, "Authorization: %s", token);
        longer = curl_slist_append(longer, text);
    }
    if (longer == NULL) {
        curl_slist_free_all(headers);
    }
    return longer;
}

struct lk_etcd_http *lk_etcd_http_new(const struct lk_etcd_url *url) {
    struct lk_etcd_http *http = calloc(1, sizeof *http);

    if (http == NULL) {
        return NULL;
    }
    http->answer.max = ANSWER_BYTES_MAX;
    http->multi = curl_multi_init();
    http->easy = curl_easy_init();
    http->headers = make_headers(NULL);
    if (http->multi == NULL || http->easy == NULL || http->headers == NULL) {
        lk_etcd_http_free(http);
        return NULL;
    }
    set_up(http, url);
    return http;
}

void lk_etcd_http_free(struct lk_etcd_http *http) {
    if (http == NULL) {
        return;
    }
    if (http->easy != NULL) {
        curl_easy_cleanup(http->easy);
    }
    if (http->multi != NULL) {
        (void)curl_multi_cleanup(http->multi);
    }
    curl_slist_free_all(http->headers);
    lk_buffer_done(&http->answer);
    free(http);
}

/* Until the transfer has ended, or its time. */
static CURLcode wait_for(struct lk_etcd_http *http, const struct lk_etcd_exchange *exchange) {
    bool has_time = exchange->meanwhile != NULL;
    int running = 1;
    int left;
    CURLMsg *message;

    while (curl_multi_perform(http->multi, &running) == CURLM_OK && running > 0) {
        int64_t left_us = exchange->until_us - lk_clock_now_us();

        if (has_time) {
            exchange->meanwhile(exchange->context);
            has_time = false;
        } else if (left_us <= 0) {
            return CURLE_OPERATION_TIMEDOUT;
        } else {
            (void)curl_multi_poll(http->multi, NULL, 0, (int)(left_us / 1000 + 1), NULL);
        }
    }
    if (has_time) {
        exchange->meanwhile(exchange->context);
    }
    message = curl_multi_info_read(http->multi, &left);
    return message != NULL && message->msg == CURLMSG_DONE ? message->data.result
                                                           : CURLE_FAILED_INIT;
}

bool lk_etcd_http_do(struct lk_etcd_http *http, const struct lk_etcd_exchange *exchange,
                     long *ret_status, struct lk_slice *ret_body, char why[LK_ETCD_WHY_BYTES]) {
    struct curl_slist *headers;
    int64_t left_us = exchange->until_us - lk_clock_now_us();
    char url[ENDPOINT_BYTES_MAX];
    CURLcode code = CURLE_OUT_OF_MEMORY;

    if (left_us <= 0) {
        (void)snprintf(why, LK_ETCD_WHY_BYTES, "no time is left");
        return false;
    }
    (void)snprintf(url, sizeof url, "%s%s", exchange->endpoint, exchange->path);
    headers = exchange->token != NULL ? make_headers(exchange->token) : http->headers;
    lk_buffer_done(&http->answer);
    http->answer = (struct lk_buffer){.max = ANSWER_BYTES_MAX};
    http->reason[0] = '\0';
    (void)curl_easy_setopt(http->easy, CURLOPT_URL, url);
    (void)curl_easy_setopt(http->easy, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(http->easy, CURLOPT_CONNECTTIMEOUT_MS,
                           (long)(left_us > 1000 ? left_us / 1000 : 1));
    if (exchange->body.size > 0) {
        (void)curl_easy_setopt(http->easy, CURLOPT_POSTFIELDS, exchange->body.bytes);
        (void)curl_easy_setopt(http->easy, CURLOPT_POSTFIELDSIZE_LARGE,
                               (curl_off_t)exchange->body.size);
    } else {
        (void)curl_easy_setopt(http->easy, CURLOPT_HTTPGET, 1L);
    }
    if (headers != NULL && curl_multi_add_handle(http->multi, http->easy) == CURLM_OK) {
        code = wait_for(http, exchange);
        (void)curl_multi_remove_handle(http->multi, http->easy);
    }
    if (headers != http->headers) {
        (void)curl_easy_setopt(http->easy, CURLOPT_HTTPHEADER, http->headers);
        curl_slist_free_all(headers);
    }
    if (code != CURLE_OK) {
        (void)snprintf(why, LK_ETCD_WHY_BYTES, "%.150s",
                       http->reason[0] != '\0' ? http->reason : curl_easy_strerror(code));
        return false;
    }
    (void)curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, ret_status);
    *ret_body = (struct lk_slice){http->answer.bytes, http->answer.size};
    return true;
}
