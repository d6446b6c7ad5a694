/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools of idle connections, and how a service that does not answer is left for another, or for the
 * leader that it names.
 */
#include "engine/service/connections.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"

/* With several services: after how long one that says nothing is doubted, and left. */
#define SILENCE_US_MIN INT64_C(100000)
#define SILENCE_US_MAX INT64_C(2000000)

enum { SLOWER_MAX = 2 }; /* how often the time to connect is doubled, while no service answers */

bool lk_service_has_several(const struct lk_service *service) {
    return service->hosts.all.count > 1;
}

/* A part of the patience, which leaves enough of it for another service. */
static struct lk_patience part_of(const struct lk_patience *patience, int64_t max_us) {
    int64_t now_us = lk_clock_now_us();
    int64_t third_us = (patience->until_us - now_us) / 3;
    int64_t part_us = lk_min(lk_max(third_us, SILENCE_US_MIN), max_us);
    struct lk_patience part = *patience;

    part.until_us = lk_min(patience->until_us, now_us + part_us);
    return part;
}

/*
 * ---- leaders that another service has named (`-MOVED`) -----------------------------------------
 *
 * A wrong --advertise may name any service, also one with another store, which would grant what is
 * held: so each connection to such a leader begins with INFO.
 */

/* The leader and the service that names it read its address from the same row of their store. */
static bool has_address(struct lk_slice text, const struct lk_service_address *named) {
    struct lk_service_address own;

    return lk_service_address_parse(text, &own, NULL) == LK_OK
           && lk_service_address_equal(&own, named);
}

static lk_outcome check_info(struct lk_slice info, const struct lk_service_address *named,
                             lk_error *error) {
    struct lk_slice leader = lk_service_info_text(info, "leader");

    /* Only a service that shares its store has this field. */
    if (lk_service_info_text(info, "is_leader").size == 0) {
        return lk_error_set(error, LK_UNAVAILABLE, "the service there has a store of its own");
    }
    if (lk_service_info_number(info, "is_leader", 0) != 1) {
        return lk_error_set(error, LK_UNAVAILABLE, "the service there does not lead");
    }
    if (!has_address(leader, named)) {
        return lk_error_set(error, LK_UNAVAILABLE, "the service there is advertised as %.*s",
                            (int)leader.size, leader.bytes);
    }
    return LK_OK;
}

/*
 * LK_OK: the service at the other end leads, and is the one that was named by this address.
 * LK_UNAVAILABLE: it is not, or does not answer; LK_CANCELLED, LK_DENIED, LK_INTERNAL.
 */
static lk_outcome check_leader(struct lk_service_link *link, const struct lk_patience *patience,
                               lk_error *error) {
    static const struct lk_slice info = {.bytes = "*1\r\n$4\r\nINFO\r\n", .size = 14};
    struct lk_service_answer answer = {.link = NULL};
    struct lk_slice reply;
    lk_outcome outcome = lk_service_link_send(link, info, patience);

    if (outcome == LK_OK) {
        outcome = lk_service_link_receive(link, patience, &reply);
    }
    if (outcome != LK_OK) {
        return lk_error_set(error, outcome, "the service there does not answer INFO");
    }
    answer.reader.cursor.reply = reply;
    (void)lk_resp_cursor_next(&answer.reader.cursor, &answer.head);
    if (answer.head.kind != LK_RESP_BULK) {
        outcome = lk_service_answer_outcome(&answer, error);
        return outcome != LK_OK ? outcome : check_info((struct lk_slice){.size = 0}, NULL, error);
    }
    return check_info(answer.head.text, &link->address, error);
}

/* Sets *error to the cause, with the text that `named_by` has named this address before it. */
static lk_outcome explain_leader(const struct lk_service_address *leader,
                                 const struct lk_service_address *named_by, const lk_error *cause,
                                 lk_error *error) {
    char name[LK_SERVICE_ADDRESS_TEXT_BYTES];
    char teller[LK_SERVICE_ADDRESS_TEXT_BYTES];
    const char *text = cause->text;
    size_t size;

    lk_service_address_write(leader, name);
    lk_service_address_write(named_by, teller);
    size = strlen(name);
    if (strncmp(text, name, size) == 0 && strncmp(text + size, ": ", 2) == 0) {
        text += size + 2;
    }
    return lk_error_set(error, cause->outcome,
                        "%s says that %s leads, which cannot be used: %s; is the --advertise of "
                        "the leader right?",
                        teller, name, text);
}

/* ---- pools ----------------------------------------------------------------------------------- */

static struct lk_service_pool *pool_of(struct lk_service *service, bool is_bound) {
    return is_bound ? &service->bound : &service->idle;
}

/* Takes a connection out of the request's own place, or of a pool; NULL: there is none. */
static struct lk_service_link *take_first(struct lk_service_pool *pool,
                                          struct lk_service_link **own) {
    struct lk_service_link *link = own != NULL ? *own : pool->first;

    if (own != NULL) {
        *own = NULL;
    } else if (link != NULL) {
        pool->first = link->next;
        pool->count--;
    }
    return link;
}

/* An idle connection that is still usable; NULL: none. */
static struct lk_service_link *take_idle(struct lk_service *service,
                                         const struct lk_builder *builder) {
    struct lk_service_pool *pool = pool_of(service, builder->is_bound);
    struct lk_service_link *link = NULL;
    uint64_t generation;
    bool is_good = false;

    while (!is_good) {
        lk_service_link_close(link);
        pthread_mutex_lock(&service->mutex);
        link = take_first(pool, builder->own);
        generation = service->hosts.generation;
        pthread_mutex_unlock(&service->mutex);
        is_good =
            link == NULL || (link->generation == generation && lk_service_link_is_quiet(link));
        atomic_fetch_add(&service->interruptions, !is_good);
    }
    return link;
}

void lk_service_link_return(struct lk_service *service, struct lk_service_link *link) {
    struct lk_service_pool *pool = pool_of(service, link->is_bound);

    if (link->own != NULL) {
        *link->own = link;
        return;
    }
    pthread_mutex_lock(&service->mutex);
    if (link->is_bound || pool->count < LK_SERVICE_IDLE_MAX) {
        link->next = pool->first;
        pool->first = link;
        pool->count++;
        link = NULL;
    }
    pthread_mutex_unlock(&service->mutex);
    lk_service_link_close(link);
}

/* ---- new connections ------------------------------------------------------------------------- */

/*
 * Connects to hosts->address. A leader that another service has named is checked, at the cost of a
 * round trip for each new connection to it.
 *
 * A first contact says that an address leads to another program, or to a port with or without TLS.
 * Once the service has been there, such an answer comes from a proxy whose server is away, say: it
 * means that the service does not answer at the moment.
 */
static lk_outcome open_link(struct lk_service *service, const struct lk_service_hosts *hosts,
                            const struct lk_patience *patience, struct lk_service_link **ret_link,
                            lk_error *error) {
    struct lk_service_link *link;
    lk_error cause;
    lk_outcome outcome = lk_service_link_open(&hosts->address, &service->login, service->tls,
                                              patience, &link, &cause);

    if (outcome == LK_OK && hosts->is_named) {
        outcome = check_leader(link, patience, &cause);
        if (outcome != LK_OK) {
            lk_service_link_close(link);
        }
    }
    if (outcome == LK_OK) {
        atomic_store(&service->is_known, true);
        *ret_link = link;
        return lk_error_clear(error, LK_OK);
    }
    if (outcome == LK_UNSUPPORTED && atomic_load(&service->is_known)) {
        outcome = LK_UNAVAILABLE;
    }
    if (hosts->is_named && outcome != LK_CANCELLED) {
        const lk_error trouble = cause;

        (void)explain_leader(&hosts->address, &hosts->named_by, &trouble, &cause);
    }
    return lk_error_set(error, outcome, "%s", cause.text);
}

/* For the message of a call that other services keep sending to that leader. With the mutex. */
static void note_trouble(struct lk_service *service, const struct lk_service_hosts *hosts,
                         const lk_error *cause) {
    if (hosts->is_named && cause->outcome != LK_CANCELLED) {
        service->troubled = hosts->address;
        service->trouble = *cause;
    }
}

/* One attempt, at the address whose turn it is. */
static lk_outcome connect_once(struct lk_service *service, const struct lk_patience *patience,
                               struct lk_service_link **ret_link, lk_error *error) {
    size_t count = service->hosts.all.count;
    struct lk_patience part = *patience;
    struct lk_service_hosts hosts;
    lk_error cause;
    lk_outcome outcome;

    pthread_mutex_lock(&service->mutex);
    hosts = service->hosts;
    pthread_mutex_unlock(&service->mutex);
    if (count > 1) {
        int64_t slower = lk_min((int64_t)(hosts.failures / count), SLOWER_MAX);
        part = part_of(patience, SILENCE_US_MAX << slower);
    }
    outcome = open_link(service, &hosts, &part, ret_link, &cause);
    atomic_fetch_add(&service->interruptions, outcome == LK_UNAVAILABLE);
    pthread_mutex_lock(&service->mutex);
    note_trouble(service, &hosts, &cause);
    if (outcome == LK_OK) {
        (*ret_link)->generation = hosts.generation;
        service->hosts.failures = 0;
    } else if (outcome == LK_UNAVAILABLE || (count > 1 && outcome != LK_CANCELLED)) {
        service->hosts.failures += service->hosts.failures < UINT32_MAX;
        lk_service_hosts_advance(&service->hosts, &hosts.address);
    }
    pthread_mutex_unlock(&service->mutex);
    return lk_error_set(error, outcome, "%s", cause.text);
}

static lk_outcome say_none(lk_outcome outcome, size_t count, int64_t after_us, const char *cause,
                           lk_error *error) {
    const long long tenths = after_us / 100000;
    char after[32] = "";

    if (tenths > 0) { /* one of them was silent */
        (void)snprintf(after, sizeof after, " after %lld.%lld s", tenths / 10, tenths % 10);
    }
    return lk_error_set(error, outcome, "none of the %zu services can be used%s; one of them: %s",
                        count, after, cause);
}

/*
 * One service with a certificate that has ended, say, must not stop those that use another one. So
 * what a service refuses counts only when none of them is merely away. It is told in any case: a
 * wrong password stays wrong.
 */
lk_outcome lk_service_connect(struct lk_service *service, const struct lk_patience *patience,
                              struct lk_service_link **ret_link, lk_error *error) {
    size_t count = service->hosts.all.count;
    bool is_away = false;
    bool is_refused = false;
    lk_error next;
    lk_error cause;
    int64_t since_us = lk_clock_now_us();
    lk_outcome outcome = LK_UNAVAILABLE;

    if (count == 1) {
        return connect_once(service, patience, ret_link, error);
    }
    for (size_t i = 0; i <= count; i++) { /* the leader may be outside of the list */
        outcome = connect_once(service, patience, ret_link, &next);
        if (outcome == LK_OK || outcome == LK_CANCELLED) {
            return lk_error_clear(error, outcome);
        }
        cause = is_refused ? cause : next;
        is_refused = is_refused || outcome != LK_UNAVAILABLE;
        is_away = is_away || outcome == LK_UNAVAILABLE;
        if (lk_clock_now_us() >= patience->until_us) {
            break;
        }
    }
    return say_none(is_away ? LK_UNAVAILABLE : outcome, count, lk_clock_now_us() - since_us,
                    cause.text, error);
}

lk_outcome lk_service_link_take(struct lk_service *service, const struct lk_builder *builder,
                                const struct lk_patience *patience,
                                struct lk_service_link **ret_link, lk_error *error) {
    lk_outcome outcome = LK_OK;

    *ret_link = take_idle(service, builder);
    if (*ret_link == NULL) {
        outcome = lk_service_connect(service, patience, ret_link, error);
        if (outcome == LK_OK) {
            (*ret_link)->is_bound = builder->is_bound;
            (*ret_link)->own = builder->own;
        }
    }
    return outcome;
}

/* ---- services that do not answer ------------------------------------------------------------- */

/* Idle connections are closed with it: they most likely lead to the same service. */
void lk_service_link_give_up(struct lk_service *service, struct lk_service_link *link) {
    struct lk_service_link *idle = NULL;

    pthread_mutex_lock(&service->mutex);
    if (lk_service_has_several(service)) {
        lk_service_hosts_advance(&service->hosts, &link->address);
        idle = service->idle.first;
        service->idle = (struct lk_service_pool){.first = NULL};
    }
    pthread_mutex_unlock(&service->mutex);
    while (idle != NULL) {
        struct lk_service_link *next = idle->next;
        lk_service_link_close(idle);
        idle = next;
    }
    lk_service_link_close(link);
}

/*
 * Whether the service answers over another connection: PING waits for no write. A new connection to
 * a named leader is not kept: it has not been checked, and a service that cannot answer INFO at the
 * moment is alive nevertheless.
 */
static bool is_alive(struct lk_service *service, const struct lk_service_address *address,
                     const struct lk_patience *patience) {
    static const struct lk_slice ping = {.bytes = "*1\r\n$4\r\nPING\r\n", .size = 14};
    const struct lk_builder unbound = {.is_bound = false};
    struct lk_patience part = part_of(patience, SILENCE_US_MAX);
    struct lk_service_link *link = take_idle(service, &unbound);
    struct lk_slice reply;
    bool is_checked = true;

    if (link != NULL && !lk_service_address_equal(&link->address, address)) {
        lk_service_link_return(service, link);
        link = NULL;
    }
    if (link == NULL) {
        is_checked = false;
        if (lk_service_link_open(address, &service->login, service->tls, &part, &link, NULL)
            != LK_OK) {
            return false;
        }
    }
    if (lk_service_link_send(link, ping, &part) != LK_OK
        || lk_service_link_receive(link, &part, &reply) != LK_OK) {
        lk_service_link_close(link);
        return false;
    }
    pthread_mutex_lock(&service->mutex);
    link->generation = service->hosts.generation;
    is_checked = is_checked || !service->hosts.is_named;
    pthread_mutex_unlock(&service->mutex);
    if (is_checked) {
        lk_service_link_return(service, link);
    } else {
        lk_service_link_close(link);
    }
    return true;
}

/* Whether another service has been found to lead meanwhile. */
static bool is_replaced(struct lk_service *service, const struct lk_service_link *link) {
    bool is_other;

    pthread_mutex_lock(&service->mutex);
    is_other = service->hosts.generation != link->generation;
    pthread_mutex_unlock(&service->mutex);
    return is_other;
}

lk_outcome lk_service_link_hear(struct lk_service *service, struct lk_service_link *link,
                                const struct lk_patience *patience, struct lk_slice *ret_reply) {
    struct lk_patience part;
    lk_outcome outcome;

    if (!lk_service_has_several(service)) {
        return lk_service_link_receive(link, patience, ret_reply);
    }
    for (;;) {
        part = part_of(patience, SILENCE_US_MAX);
        outcome = lk_service_link_receive(link, &part, ret_reply);
        if (outcome != LK_UNAVAILABLE || lk_clock_now_us() < part.until_us
            || lk_clock_now_us() >= patience->until_us) {
            return outcome;
        }
        if (is_replaced(service, link) || !is_alive(service, &link->address, patience)) {
            return lk_waker_is_thrown(patience->waker) ? LK_CANCELLED : LK_UNAVAILABLE;
        }
    }
}
