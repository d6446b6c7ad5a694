/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the script. */
#include "engine/redis/call.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/program.h"
#include "base/random.h"
#include "script_text.h"

#define PAUSE_FIRST_US INT64_C(5000)
#define PAUSE_MAX_US INT64_C(200000)
#define REPLICAS_US_MAX INT64_C(1000000)
enum { REDIRECTS_MAX = 16 };

/* ---- putting together ------------------------------------------------------------------------ */

void lk_redis_call_add(struct lk_redis_call *call, struct lk_slice word) {
    lk_redis_words_add(&call->words, word);
}

void lk_redis_call_add_number(struct lk_redis_call *call, int64_t number) {
    char *room = call->room[call->words.count];

    (void)snprintf(room, sizeof call->room[0], "%" PRId64, number);
    lk_redis_words_add(&call->words, lk_slice_of(room));
}

static void add_key(struct lk_redis_call *call, const struct lk_redis_prefix *prefix,
                    const char *suffix, char *room) {
    memcpy(room, prefix->bytes, prefix->size);
    memcpy(room + prefix->size, suffix, strlen(suffix) + 1);
    lk_redis_call_add(call, lk_slice_of(room));
}

/* The smallest number that, as a hash tag, is in the slot. It makes the name of the floor's key. */
static unsigned tag_in(struct lk_redis *store, unsigned slot) {
    uint32_t tag = store->tags[slot];
    char text[16];

    if (tag == 0) {
        do {
            (void)snprintf(text, sizeof text, "%" PRIu32, tag++);
        } while (lk_redis_slot_of(lk_slice_of(text)) != slot);
        store->tags[slot] = tag;
    }
    return tag - 1;
}

/* Adds the keys: {root}:lk:h; in a cluster also {root}:lk:- and the slot's floor (opening.lua). */
static void add_keys(struct lk_redis *store, struct lk_redis_call *call) {
    bool is_cluster = store->topology.is_cluster;
    struct lk_redis_prefix prefix;

    lk_redis_prefix_make(call->root, &prefix);
    lk_redis_call_add(call, lk_slice_of(is_cluster ? "3" : "1"));
    add_key(call, &prefix, ":lk:h", call->key);
    if (is_cluster) {
        unsigned slot = lk_redis_slot_of(call->root);

        add_key(call, &prefix, ":lk:-", call->absent);
        (void)snprintf(call->floor, sizeof call->floor, "{%u}:lk:f", tag_in(store, slot));
        lk_redis_call_add(call, lk_slice_of(call->floor));
    }
}

/* EVALSHA sha COUNT KEY... operation boot shift ... */
static void begin(struct lk_redis *store, const char *operation, const struct lk_path *path,
                  struct lk_redis_call *call) {
    call->words.count = 0;
    call->is_repeatable = false;
    call->grants = false;
    call->is_unconfirmed = false;
    call->root = lk_path_root(path);
    lk_redis_call_add(call, lk_slice_of("EVALSHA"));
    lk_redis_call_add(call, lk_slice_of(script_sha));
    add_keys(store, call);
    lk_redis_call_add(call, lk_slice_of(operation));
    call->boot_at = call->words.count;
    lk_redis_call_add(call, lk_slice_of("")); /* set from the link */
    lk_redis_call_add_number(call, store->shift_us);
}

/* ... channel alone ... */
void lk_redis_call_begin(struct lk_redis *store, const char *operation, const struct lk_path *path,
                         bool is_attended, struct lk_redis_call *call) {
    begin(store, operation, path, call);
    call->channel[0] = '\0';
    if (is_attended) {
        lk_redis_subscriber_channel(&store->subscriber, call->root, call->channel);
    }
    lk_redis_call_add(call, lk_slice_of(call->channel));
    lk_redis_call_add(call, lk_slice_of(store->topology.is_cluster ? "0" : "1"));
}

/* ... ALONE STYLE NOTE_GIVEN BLOCKERS channel ... */
void lk_redis_call_begin_plain(struct lk_redis *store, const char *operation,
                               const struct lk_path *path, const struct lk_ask *ask,
                               struct lk_redis_call *call) {
    int size;

    begin(store, operation, path, call);
    call->channel[0] = '\0';
    if (ask != NULL && ask->style == LK_WAIT) {
        lk_redis_subscriber_channel(&store->subscriber, call->root, call->channel);
    }
    size =
        ask == NULL
            ? snprintf(call->said, sizeof call->said, "%d000 ", !store->topology.is_cluster)
            : snprintf(call->said, sizeof call->said, "%d%d%d%zu %s", !store->topology.is_cluster,
                       (int)ask->style, ask->note_given, ask->blockers_max, call->channel);
    lk_redis_call_add(call, (struct lk_slice){call->said, (size_t)size});
}

void lk_redis_call_add_identity(struct lk_redis_call *call, struct lk_slice owner,
                                const struct lk_path *path) {
    memcpy(call->identity, owner.bytes, owner.size);
    call->identity[owner.size] = '\0';
    memcpy(call->identity + owner.size + 1, path->bytes, path->size);
    lk_redis_call_add(call, (struct lk_slice){call->identity, owner.size + 1 + path->size});
}

/* struct.unpack('<BdI4I4') of the script. */
void lk_redis_call_add_terms(struct lk_redis_call *call, const struct lk_ask *ask) {
    char *room = call->room[call->words.count];
    double ttl_ms = (double)ask->ttl_ms;
    uint32_t limit = htole32(ask->parts[0].limit);
    uint32_t units = htole32(ask->parts[0].units);
    uint64_t bits;

    memcpy(&bits, &ttl_ms, sizeof bits);
    bits = htole64(bits);
    room[0] = ask->style == LK_WAIT;
    memcpy(room + 1, &bits, sizeof bits);
    memcpy(room + 9, &limit, sizeof limit);
    memcpy(room + 13, &units, sizeof units);
    lk_redis_call_add(call, (struct lk_slice){room, 17});
}

/* ---- reading --------------------------------------------------------------------------------- */

int64_t lk_redis_integer_at(const redisReply *reply, size_t index) {
    return index < reply->elements && reply->element[index]->type == REDIS_REPLY_INTEGER
               ? reply->element[index]->integer
               : 0;
}

struct lk_slice lk_redis_text_at(const redisReply *reply, size_t index) {
    if (index >= reply->elements || reply->element[index]->type != REDIS_REPLY_STRING) {
        return (struct lk_slice){NULL, 0};
    }
    return (struct lk_slice){reply->element[index]->str, (size_t)reply->element[index]->len};
}

const redisReply *lk_redis_array_at(const redisReply *reply, size_t index) {
    static const redisReply nothing = {.type = REDIS_REPLY_ARRAY};

    return index < reply->elements && reply->element[index]->type == REDIS_REPLY_ARRAY
               ? reply->element[index]
               : &nothing;
}

/* ---- meaning of replies ---------------------------------------------------------------------- */

enum verdict {
    VERDICT_ANSWER, /* the script's answer */
    VERDICT_AGAIN,  /* retry at once: more requests had perished than one call handles */
    VERDICT_LOAD,   /* the server does not have the script */
    VERDICT_MOVED,  /* MOVED: another node has the slot */
    VERDICT_ASK,    /* ASK: another node has it for this call */
    VERDICT_LATER,  /* the server or the cluster is not ready */
    VERDICT_ELSEWHERE /* this server cannot serve the store */,
    VERDICT_FAILED,
};

static bool starts_with(const char *text, const char *beginning) {
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static enum verdict judge_error(const char *text, lk_outcome *ret_outcome) {
    static const char *const later[] = {"TRYAGAIN", "CLUSTERDOWN", "LOADING", "BUSY "};
    static const char *const elsewhere[] = {"READONLY", "MASTERDOWN", "UNBLOCKED"};

    if (starts_with(text, "NOSCRIPT")) {
        return VERDICT_LOAD;
    }
    if (starts_with(text, "MOVED")) {
        return VERDICT_MOVED;
    }
    if (starts_with(text, "ASK ")) {
        return VERDICT_ASK;
    }
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
        if (starts_with(text, later[i])) {
            return VERDICT_LATER;
        }
    }
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++) {
        if (strstr(text, elsewhere[i]) != NULL) {
            return VERDICT_ELSEWHERE; /* also when a script met the error */
        }
    }
    if (starts_with(text, "NOAUTH") || starts_with(text, "NOPERM") || starts_with(text, "WRONGP")
        || strstr(text, "ACL failure") != NULL
        || strstr(text, "user executing the script") != NULL) {
        *ret_outcome = LK_DENIED;
    } else if (strstr(text, "OOM ") != NULL) {
        *ret_outcome = LK_FULL;
    } else if (strstr(text, "MISCONF") != NULL || strstr(text, "NOREPLICAS") != NULL) {
        *ret_outcome = LK_UNAVAILABLE;
    } else if (starts_with(text, "ERR unknown command")) {
        *ret_outcome = LK_UNSUPPORTED;
    } else {
        *ret_outcome = LK_INTERNAL;
    }
    return VERDICT_FAILED;
}

static enum verdict judge(const redisReply *reply, lk_outcome *ret_outcome) {
    *ret_outcome = LK_INTERNAL;
    if (reply->type == REDIS_REPLY_ERROR) {
        return judge_error(reply->str, ret_outcome);
    }
    if (reply->type == REDIS_REPLY_INTEGER) {
        return VERDICT_ANSWER; /* in short form */
    }
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2) {
        return VERDICT_FAILED;
    }
    return lk_redis_integer_at(reply, 0) == LK_REDIS_AGAIN ? VERDICT_AGAIN : VERDICT_ANSWER;
}

/* ---- one attempt ----------------------------------------------------------------------------- */

struct attempt {
    struct lk_redis *store;
    struct lk_redis_call *call;
    const struct lk_patience *patience;
    int asked_node; /* node that ASK named, for the next try; else LK_REDIS_NO_NODE */
    int redirects;
    uint32_t pauses;
    lk_error said; /* the error of a server that was not ready */
    bool has_said;
};

/*
 * Sleeps briefly before the next attempt. Returns false if the time is up or the waker is thrown.
 */
static bool pause(struct attempt *attempt) {
    int64_t left_us = attempt->patience->until_us - lk_clock_now_us();
    int64_t pause_us = lk_backoff_delay(PAUSE_FIRST_US, PAUSE_MAX_US, attempt->pauses++);

    return pause_us < left_us && !lk_waker_sleep(attempt->patience->waker, pause_us);
}

static lk_outcome load_script(struct attempt *attempt, struct lk_redis_link *link,
                              lk_error *error) {
    const char *const words[] = {"SCRIPT", "LOAD", script_text};
    redisReply *reply = NULL;
    lk_outcome outcome = lk_redis_exchange_text(link, words, 3, attempt->patience, &reply, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        outcome =
            lk_error_set(error, starts_with(reply->str, "NOPERM") ? LK_DENIED : LK_UNAVAILABLE,
                         "the server does not take the script: %.200s", reply->str);
    }
    freeReplyObject(reply);
    return outcome;
}

/* ?replicas=N: waits until N replicas have the grant, for a second at most. */
static lk_outcome await_replicas(struct attempt *attempt, struct lk_redis_link *link,
                                 lk_error *error) {
    int64_t half_us =
        (attempt->patience->until_us - lk_clock_now_us()) / 2; /* the answer takes time */
    int64_t wait_us = half_us < REPLICAS_US_MAX ? half_us : REPLICAS_US_MAX;
    int replicas = attempt->store->topology.target.replicas;
    char count[16];
    char time_ms[24];
    const char *const words[] = {"WAIT", count, time_ms};
    redisReply *reply = NULL;
    lk_outcome outcome;

    (void)snprintf(count, sizeof count, "%d", replicas);
    (void)snprintf(time_ms, sizeof time_ms, "%" PRId64, wait_us > 1000 ? wait_us / 1000 : 1);
    outcome = lk_redis_exchange_text(link, words, 3, attempt->patience, &reply, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    attempt->call->is_unconfirmed = reply->type != REDIS_REPLY_INTEGER || reply->integer < replicas;
    freeReplyObject(reply);
    return LK_OK;
}

static lk_outcome say_asking(struct attempt *attempt, struct lk_redis_link *link, lk_error *error) {
    static const char *const words[] = {"ASKING"};
    redisReply *reply = NULL;
    lk_outcome outcome = LK_OK;

    if (attempt->asked_node != LK_REDIS_NO_NODE) {
        outcome = lk_redis_exchange_text(link, words, 1, attempt->patience, &reply, error);
        attempt->asked_node = LK_REDIS_NO_NODE;
        if (outcome == LK_OK) {
            freeReplyObject(reply);
        }
    }
    return outcome;
}

static lk_outcome take_link(struct attempt *attempt, struct lk_redis_link **ret_link,
                            lk_error *error) {
    struct lk_redis_topology *topology = &attempt->store->topology;

    return attempt->asked_node != LK_REDIS_NO_NODE
               ? lk_redis_topology_take_node(topology, attempt->asked_node, attempt->patience,
                                             ret_link, error)
               : lk_redis_topology_take(topology, lk_redis_slot_of(attempt->call->root),
                                        attempt->patience, ret_link, error);
}

static bool is_grant(const redisReply *reply) {
    return reply->type == REDIS_REPLY_INTEGER || lk_redis_integer_at(reply, 0) == LK_GRANTED;
}

/* Sends the call over the link. On any outcome but LK_OK, the link is closed. */
static lk_outcome send_call(struct attempt *attempt, struct lk_redis_link *link,
                            redisReply **ret_reply, lk_error *error) {
    struct lk_redis_words *words = &attempt->call->words;
    lk_outcome outcome = say_asking(attempt, link, error);

    words->bytes[attempt->call->boot_at] = link->boot;
    words->sizes[attempt->call->boot_at] = strlen(link->boot);
    if (outcome == LK_OK) {
        lk_patience_note_sent(attempt->patience);
        outcome = lk_redis_exchange(link, words, attempt->patience, ret_reply, error);
    }
    if (outcome == LK_OK && attempt->call->grants && attempt->store->topology.target.replicas > 0
        && is_grant(*ret_reply)) {
        outcome = await_replicas(attempt, link, error);
        if (outcome != LK_OK) {
            freeReplyObject(*ret_reply);
            attempt->call->is_repeatable = false;
        }
    }
    if (outcome != LK_OK) {
        lk_redis_topology_drop(&attempt->store->topology, link);
    }
    return outcome;
}

/* Handles a reply that is no answer. LK_OK: try again. */
static lk_outcome react(struct attempt *attempt, enum verdict verdict, struct lk_redis_link *link,
                        const redisReply *reply, lk_outcome failed, lk_error *error) {
    struct lk_redis_topology *topology = &attempt->store->topology;
    const char *text = reply->str != NULL ? reply->str : "an answer that is none of the script's";

    switch (verdict) {
    case VERDICT_AGAIN:
        return LK_OK;
    case VERDICT_LOAD:
        return load_script(attempt, link, error);
    case VERDICT_MOVED:
    case VERDICT_ASK:
        attempt->asked_node =
            lk_redis_topology_redirect(topology, reply->str, link, verdict == VERDICT_MOVED);
        if (verdict == VERDICT_MOVED) {
            attempt->asked_node = LK_REDIS_NO_NODE;
            lk_redis_topology_mark_stale(topology, link->node);
        }
        return ++attempt->redirects < REDIRECTS_MAX || pause(attempt) ? LK_OK : LK_UNAVAILABLE;
    case VERDICT_ELSEWHERE:
    case VERDICT_LATER:
        lk_redis_topology_mark_stale(topology, link->node);
        (void)lk_error_set(&attempt->said, LK_UNAVAILABLE, "the Redis server says: %.200s", text);
        attempt->has_said = true;
        lk_patience_note_failure(attempt->patience, &attempt->said);
        return pause(attempt) ? LK_OK : LK_UNAVAILABLE;
    default:
        if (failed == LK_INTERNAL) {
            return lk_error_set(error, failed,
                                "keys of {%.*s}:lk: or {}:lk: are damaged, or not Lockkeeper's: "
                                "when no lock is held there, delete them. The Redis server "
                                "says: %.300s",
                                (int)attempt->call->root.size, attempt->call->root.bytes, text);
        }
        return lk_error_set(error, failed, "the Redis server says: %.300s", text);
    }
}

/* Makes one attempt. LK_WAITING: try again. */
static lk_outcome try_call(struct attempt *attempt, redisReply **ret_reply, lk_error *error) {
    struct lk_redis_link *link;
    redisReply *reply = NULL;
    enum verdict verdict;
    lk_outcome failed;
    lk_outcome outcome = take_link(attempt, &link, error);

    if (outcome == LK_UNAVAILABLE) { /* nothing was sent */
        attempt->asked_node = LK_REDIS_NO_NODE;
        lk_patience_note_failure(attempt->patience, error);
        return pause(attempt) ? LK_WAITING : LK_UNAVAILABLE;
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = send_call(attempt, link, &reply, error);
    if (outcome == LK_UNAVAILABLE && attempt->call->is_repeatable) {
        attempt->asked_node = LK_REDIS_NO_NODE;
        lk_patience_note_failure(attempt->patience, error);
        return pause(attempt) ? LK_WAITING : LK_UNAVAILABLE;
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    verdict = judge(reply, &failed);
    if (verdict == VERDICT_ANSWER) {
        lk_redis_topology_give(&attempt->store->topology, link);
        *ret_reply = reply;
        return LK_OK;
    }
    outcome = react(attempt, verdict, link, reply, failed, error);
    freeReplyObject(reply);
    lk_redis_topology_give(&attempt->store->topology, link);
    return outcome == LK_OK ? LK_WAITING : outcome;
}

lk_outcome lk_redis_call_make(struct lk_redis *store, struct lk_redis_call *call,
                              const struct lk_patience *patience, redisReply **ret_reply,
                              lk_error *error) {
    struct attempt attempt = {
        .store = store, .call = call, .patience = patience, .asked_node = LK_REDIS_NO_NODE};
    lk_outcome outcome;

    do {
        outcome = try_call(&attempt, ret_reply, error);
    } while (outcome == LK_WAITING);
    if (outcome == LK_UNAVAILABLE && attempt.has_said) {
        (void)lk_error_copy(error, &attempt.said); /* says more than that the time is up */
    }
    if (outcome == LK_UNAVAILABLE && lk_waker_is_thrown(patience->waker)) {
        outcome = lk_error_set(error, LK_CANCELLED, "the wait was cancelled");
    }
    if (call->grants) {
        store->lacks_replicas = call->is_unconfirmed;
    }
    if (outcome == LK_OK) {
        store->last_now_us = (*ret_reply)->type == REDIS_REPLY_INTEGER
                                 ? (*ret_reply)->integer
                                 : lk_redis_integer_at(*ret_reply, 1);
    }
    return outcome;
}

lk_outcome lk_redis_call_refuse(const struct lk_redis *store, const char *what_became,
                                lk_error *error) {
    return lk_error_set(
        error, LK_UNAVAILABLE,
        "too few replicas have confirmed the grant in time (?replicas=%d), see %s doctor; %s",
        store->topology.target.replicas, lk_program(), what_became);
}
