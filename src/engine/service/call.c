/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are retried over new connections, and to the service that leads. */
#include "engine/service/call.h"

#include <stdlib.h>
#include <strings.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/random.h"
#include "engine/service/connections.h"

#define BACKOFF_MIN_US INT64_C(10000)
#define BACKOFF_MAX_US INT64_C(250000)

/* For a service to drop a cancelled call. Leaves a caller time to take back what it has made. */
#define HANG_UP_US INT64_C(2000000)

/* Redirects that are followed without a pause; then the next service of the URL is tried. */
enum { HOPS_MAX = 4 };

void lk_service_status(struct lk_engine *engine, struct lk_engine_status *status) {
    status->interruptions = atomic_load(&lk_service_of(engine)->interruptions);
}

/* ---- one attempt ----------------------------------------------------------------------------- */

static void abandon(struct lk_service *service, struct lk_service_link *link,
                    const struct lk_builder *builder, lk_outcome outcome) {
    if (outcome == LK_UNAVAILABLE) {
        lk_service_link_give_up(service, link);
    } else if (outcome == LK_CANCELLED && builder->hangs_up) {
        lk_service_link_hang_up(link, lk_clock_now_us() + HANG_UP_US);
    } else {
        lk_service_link_close(link);
    }
}

/*
 * LK_OK: *answer has a reply of any kind. *is_sent: the service may have seen the command.
 * may_leave: for another service, before the patience ends.
 */
static lk_outcome attempt(struct lk_service *service, struct lk_slice request,
                          const struct lk_builder *builder, bool may_leave,
                          const struct lk_patience *patience, struct lk_service_answer *answer,
                          bool *is_sent, lk_error *error) {
    struct lk_service_link *link;
    struct lk_slice reply;
    lk_outcome outcome = lk_service_link_take(service, builder, patience, &link, error);

    *is_sent = outcome == LK_OK;
    if (outcome != LK_OK) {
        return outcome;
    }
    lk_patience_note_sent(patience);
    outcome = lk_service_link_send(link, request, patience);
    if (outcome == LK_OK) {
        outcome = may_leave ? lk_service_link_hear(service, link, patience, &reply)
                            : lk_service_link_receive(link, patience, &reply);
    }
    if (outcome != LK_OK) {
        abandon(service, link, builder, outcome);
        atomic_fetch_add(&service->interruptions, outcome == LK_UNAVAILABLE);
        return lk_error_set(error, outcome, "%s",
                            outcome == LK_UNAVAILABLE ? "the service did not answer"
                            : outcome == LK_INTERNAL
                                ? "the service's answer is not RESP, or is too large"
                                : "");
    }
    *answer = (struct lk_service_answer){
        .service = service, .link = link, .reader = {.cursor = {.reply = reply}}};
    (void)lk_resp_cursor_next(&answer->reader.cursor,
                              &answer->head); /* a measured reply has a first value */
    return LK_OK;
}

void lk_service_answer_done(struct lk_service_answer *answer) {
    if (answer->link != NULL) {
        lk_service_link_return(answer->service, answer->link);
    }
    *answer = (struct lk_service_answer){.link = NULL};
}

void lk_service_answer_give_up(struct lk_service_answer *answer) {
    if (answer->link != NULL && lk_service_has_several(answer->service)) {
        lk_service_link_give_up(answer->service, answer->link);
        answer->link = NULL;
    }
    lk_service_answer_done(answer);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* Splits `WORD text`. */
static struct lk_slice first_word(struct lk_slice *text) {
    const char *blank = text->size > 0 ? memchr(text->bytes, ' ', text->size) : NULL;
    struct lk_slice word = *text;

    if (blank != NULL) {
        word.size = (size_t)(blank - text->bytes);
    }
    text->bytes += word.size + (blank != NULL);
    text->size -= word.size + (blank != NULL);
    return word;
}

/* Maps an error's first word (docs/wire.md) to its outcome. */
static lk_outcome outcome_of_word(struct lk_slice word) {
    static const char *const denials[] = {"NOAUTH", "WRONGPASS", "NOPERM"};

    for (int outcome = 0; outcome < LK_OUTCOME_COUNT; outcome++) {
        const char *name = lk_outcome_name((lk_outcome)outcome);
        if (strlen(name) == word.size && strncasecmp(name, word.bytes, word.size) == 0) {
            return (lk_outcome)outcome;
        }
    }
    for (size_t i = 0; i < sizeof denials / sizeof denials[0]; i++) {
        if (lk_slice_equal(word, lk_slice_of(denials[i]))) {
            return LK_DENIED;
        }
    }
    return LK_INTERNAL;
}

static lk_outcome read_error(struct lk_slice text, lk_error *error) {
    static const char unknown[] = "ERR unknown command";
    struct lk_slice rest = text;
    struct lk_slice word = first_word(&rest);
    lk_outcome outcome = outcome_of_word(word);

    if (lk_slice_equal(word, lk_slice_of("MOVED"))) {
        (void)first_word(&rest);
        return lk_error_set(error, LK_UNAVAILABLE, "another service leads: %.*s", (int)rest.size,
                            rest.bytes);
    }

    if (text.size >= strlen(unknown) && memcmp(text.bytes, unknown, strlen(unknown)) == 0) {
        outcome = LK_UNSUPPORTED; /* the service is of an older version */
    }
    if (outcome == LK_INTERNAL || outcome == LK_OK) {
        rest = text;
        outcome = outcome == LK_OK ? LK_INTERNAL : outcome;
    }
    return lk_error_set(error, outcome, "%.*s", (int)rest.size, rest.bytes);
}

/* The address of an error `MOVED 0 host:port`. false: it is another error. */
static bool read_redirect(struct lk_slice text, struct lk_service_address *ret_leader) {
    if (!lk_slice_equal(first_word(&text), lk_slice_of("MOVED"))) {
        return false;
    }
    (void)first_word(&text);
    return lk_service_address_parse(text, ret_leader, NULL) == LK_OK;
}

/* The password of a socket's URL was not meant for the network, so it does not go there. */
static bool may_follow(const struct lk_service *service) {
    return !service->hosts.all.each[0].is_local || service->login.password[0] == '\0';
}

bool lk_service_answer_follow(struct lk_service_answer *answer) {
    struct lk_service *service = answer->service;
    struct lk_service_address leader;

    if (answer->head.kind != LK_RESP_ERROR || !read_redirect(answer->head.text, &leader)
        || !may_follow(service)) {
        return false;
    }
    pthread_mutex_lock(&service->mutex);
    lk_service_hosts_redirect(&service->hosts, &leader, &answer->link->address);
    pthread_mutex_unlock(&service->mutex);
    atomic_fetch_add(&service->interruptions, 1); /* it may have led until now */
    lk_service_link_close(answer->link);
    *answer = (struct lk_service_answer){.link = NULL};
    return true;
}

/* The error of a call that has followed redirects, and has found no service that leads. */
static lk_outcome explain_redirect(struct lk_service *service, lk_error *error) {
    char name[LK_SERVICE_ADDRESS_TEXT_BYTES];
    lk_error trouble = {.outcome = LK_OK};

    pthread_mutex_lock(&service->mutex);
    lk_service_address_write(&service->hosts.address, name);
    if (lk_service_address_equal(&service->troubled, &service->hosts.address)) {
        trouble = service->trouble;
    }
    pthread_mutex_unlock(&service->mutex);
    return trouble.outcome != LK_OK
               ? lk_error_set(error, LK_UNAVAILABLE, "%s", trouble.text)
               : lk_error_set(error, LK_UNAVAILABLE,
                              "each service says that another leads, and the last one names %s",
                              name);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The state of a call that is retried. */
struct retrying {
    const struct lk_patience *patience;
    uint32_t pauses;
    int hops;      /* redirects since the last pause */
    bool is_moved; /* the last attempt was redirected */
    bool may_repeat;
    bool is_repeated; /* an earlier attempt may have taken effect */
    bool is_new;      /* nothing has failed yet */
};

/*
 * Whether to retry after an attempt with this outcome, after a pause; *outcome becomes LK_CANCELLED
 * when the caller has given up meanwhile.
 */
static bool may_retry(struct retrying *retrying, bool is_sent, lk_outcome *outcome) {
    int64_t left_us;
    int64_t pause_us;

    if (*outcome != LK_UNAVAILABLE || (is_sent && !retrying->may_repeat)) {
        return false;
    }
    retrying->is_repeated = retrying->is_repeated || is_sent;
    if (retrying->is_moved && retrying->hops < HOPS_MAX) {
        return lk_clock_now_us() < retrying->patience->until_us;
    }
    if (retrying->is_new && is_sent) {
        retrying->is_new =
            false; /* most likely the service was restarted and is up again: no pause */
        return lk_clock_now_us() < retrying->patience->until_us;
    }
    left_us = retrying->patience->until_us - lk_clock_now_us();
    pause_us = lk_backoff_delay(BACKOFF_MIN_US, BACKOFF_MAX_US, retrying->pauses++);
    retrying->hops = 0;
    if (lk_waker_sleep(retrying->patience->waker, lk_min(pause_us, left_us))) {
        *outcome = LK_CANCELLED;
        return false;
    }
    return pause_us < left_us;
}

lk_outcome lk_service_call(struct lk_service *service, struct lk_builder *builder,
                           enum lk_service_repeat repeat, const struct lk_patience *patience,
                           struct lk_service_answer *ret_answer, lk_error *error) {
    struct retrying retrying = {
        .patience = patience,
        .may_repeat = repeat != LK_SERVICE_ONCE,
        .is_new = true,
    };
    struct lk_slice request;
    bool is_sent = false;
    lk_outcome outcome;

    *ret_answer = (struct lk_service_answer){.link = NULL};
    if (!lk_builder_end(builder, &request)) {
        lk_builder_done(builder);
        return lk_error_set(error, LK_INTERNAL, "no memory for a command");
    }
    do {
        lk_service_answer_done(ret_answer);
        retrying.is_moved = false;
        outcome = attempt(service, request, builder, retrying.may_repeat, patience, ret_answer,
                          &is_sent, error);
        if (outcome == LK_OK && lk_service_answer_follow(ret_answer)) {
            is_sent = false; /* a redirecting service has done nothing */
            retrying.is_moved = true;
            retrying.hops++;
            outcome = explain_redirect(service, error);
        } else if (outcome == LK_OK && ret_answer->head.kind == LK_RESP_ERROR) {
            outcome = read_error(ret_answer->head.text, error);
            if (outcome == LK_UNAVAILABLE && !builder->is_bound) {
                lk_service_answer_give_up(ret_answer);
            }
        }
        if (outcome == LK_UNAVAILABLE) {
            lk_patience_note_failure(patience, error);
        }
    } while (may_retry(&retrying, is_sent, &outcome));
    lk_builder_done(builder);
    if (outcome == LK_LOST && retrying.is_repeated && repeat == LK_SERVICE_AGAIN_UNLESS_LOST) {
        return lk_error_set(error, LK_UNAVAILABLE,
                            "the lease has ended, but it is unknown whether by this call");
    }
    return outcome == LK_OK ? lk_error_clear(error, LK_OK) : outcome;
}

lk_outcome lk_service_exchange(struct lk_service *service, struct lk_slice request,
                               enum lk_service_repeat repeat, const struct lk_patience *patience,
                               struct lk_service_answer *ret_answer, lk_error *error) {
    const struct lk_builder unbound = {.is_bound = false};
    lk_outcome outcome;
    bool is_sent;
    int hops = 0;

    do {
        outcome = attempt(service, request, &unbound, repeat != LK_SERVICE_ONCE, patience,
                          ret_answer, &is_sent, error);
        if (outcome != LK_OK || !lk_service_answer_follow(ret_answer)) {
            return outcome;
        }
    } while (++hops < HOPS_MAX);
    return explain_redirect(service, error);
}

lk_outcome lk_service_answer_outcome(const struct lk_service_answer *answer, lk_error *error) {
    return answer->head.kind == LK_RESP_ERROR ? read_error(answer->head.text, error)
                                              : lk_error_clear(error, LK_OK);
}

static bool is_map(const struct lk_service_answer *answer) {
    return answer->head.kind == LK_RESP_MAP || answer->head.kind == LK_RESP_ARRAY;
}

lk_outcome lk_service_call_blocking(struct lk_service *service, struct lk_builder *builder,
                                    const struct lk_patience *patience, const struct lk_form *form,
                                    void *record) {
    struct lk_service_answer answer = {.link = NULL};
    struct lk_slice request;
    bool is_sent;
    lk_outcome outcome = lk_builder_end(builder, &request) ? LK_OK : LK_INTERNAL;

    if (outcome == LK_OK) {
        outcome = attempt(service, request, builder, true, patience, &answer, &is_sent, NULL);
    }
    if (outcome == LK_OK && !lk_service_answer_follow(&answer)) {
        if (answer.head.kind == LK_RESP_ERROR) {
            outcome = read_error(answer.head.text, NULL);
        } else if (form != NULL && is_map(&answer)) {
            lk_reader_read_map(&answer.reader, &answer.head, form, record);
        }
    }
    lk_service_answer_done(&answer);
    lk_builder_done(builder);
    return outcome;
}

lk_outcome lk_service_read_end(const struct lk_reader *reader, lk_error *error) {
    if (reader->is_out_of_memory) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the answer");
    }
    return reader->is_damaged
               ? lk_error_set(error, LK_INTERNAL, "the service's answer has an unexpected form")
               : LK_OK;
}

/* ---- plain answers --------------------------------------------------------------------------- */

struct plain {
    lk_outcome outcome;
    char *text;
};

static const struct lk_field plain_fields[] = {
    {.name = "status", .kind = LK_FIELD_OUTCOME, .at = offsetof(struct plain, outcome)},
    {.name = "error", .kind = LK_FIELD_TEXT, .at = offsetof(struct plain, text)},
    {.name = NULL},
};
static const struct lk_form plain_form = {.fields = plain_fields};

static lk_outcome read_outcome(struct lk_service_answer *answer, lk_error *error) {
    struct plain plain = {.outcome = LK_OK};
    lk_outcome outcome;

    lk_reader_read_map(&answer->reader, &answer->head, &plain_form, &plain);
    outcome = lk_service_read_end(&answer->reader, error);
    if (outcome == LK_OK) {
        outcome = lk_error_set(error, plain.outcome, "%s", plain.text != NULL ? plain.text : "");
    }
    free(plain.text);
    return outcome;
}

lk_outcome lk_service_call_for_outcome(struct lk_service *service, struct lk_builder *builder,
                                       enum lk_service_repeat repeat,
                                       const struct lk_patience *patience, lk_error *error) {
    struct lk_service_answer answer;
    lk_outcome outcome = lk_service_call(service, builder, repeat, patience, &answer, error);

    if (outcome == LK_OK && is_map(&answer)) {
        outcome = read_outcome(&answer, error);
    }
    lk_service_answer_done(&answer);
    return outcome;
}

lk_outcome lk_service_call_for_map(struct lk_service *service, struct lk_builder *builder,
                                   enum lk_service_repeat repeat,
                                   const struct lk_patience *patience, const struct lk_form *form,
                                   void *record, lk_error *error) {
    struct lk_service_answer answer;
    lk_outcome outcome = lk_service_call(service, builder, repeat, patience, &answer, error);

    if (outcome == LK_OK && answer.head.kind == LK_RESP_NULL) {
        outcome = lk_error_clear(error, LK_NONE);
    } else if (outcome == LK_OK) {
        lk_reader_read_map(&answer.reader, &answer.head, form, record);
        outcome = lk_service_read_end(&answer.reader, error);
    }
    lk_service_answer_done(&answer);
    return outcome;
}

lk_outcome lk_service_call_for_number(struct lk_service *service, struct lk_builder *builder,
                                      const struct lk_patience *patience, int64_t *ret_number,
                                      lk_error *error) {
    struct lk_service_answer answer;
    lk_outcome outcome =
        lk_service_call(service, builder, LK_SERVICE_ONCE, patience, &answer, error);

    if (outcome == LK_OK) {
        int64_t number = lk_reader_number(&answer.reader, &answer.head);

        outcome = lk_service_read_end(&answer.reader, error);
        if (outcome == LK_OK) {
            *ret_number = number;
        }
    }
    lk_service_answer_done(&answer);
    return outcome;
}
