/* SPDX-License-Identifier: Apache-2.0 */
/* The client of a service against a scripted service: requests, replies, and repeated calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
/* cmocka.h needs those four before it. */
#include <cmocka.h>

#include "base/clock.h"
#include "base/random.h"
#include "engine/engine.h"
#include "engine/reply/reply.h"
#include "lockkeeper/lockkeeper.h"
#include "peer.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define LONG_US INT64_C(20000000)

#define GRANTED_A                                                                                  \
    "%7\r\n$6\r\nstatus\r\n$7\r\ngranted\r\n$6\r\nticket\r\n:41\r\n$5\r\ntoken\r\n:42\r\n"         \
    "$6\r\nttl_ms\r\n:60000\r\n$13\r\nexpires_in_ms\r\n:59999\r\n$7\r\ncreated\r\n#t\r\n"          \
    "$6\r\nin_use\r\n:0\r\n"

static lk_store *open_peer(const struct peer *peer) {
    lk_store *store = NULL;
    lk_error error;

    if (lk_open(peer->url, &store, &error) != LK_OK) {
        fail_msg("%s: %s", peer->url, error.text);
    }
    return store;
}

/* ---- introductions --------------------------------------------------------------------------- */

static void test_other_servers_are_refused(void **state) {
    struct peer peer;
    lk_store *store;
    lk_error error;

    (void)state;
    peer_start(&peer, "%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n", NULL, 0);
    assert_int_equal(lk_open(peer.url, &store, &error), LK_UNSUPPORTED);
    assert_non_null(strstr(error.text, "not a Lockkeeper service"));
    peer_end(&peer);
    peer_start(&peer, "-WRONGPASS invalid user or password\r\n", NULL, 0);
    assert_int_equal(lk_open(peer.url, &store, &error), LK_DENIED);
    peer_end(&peer);
    peer_start(&peer, "SSH-2.0-OpenSSH_9.2\r\n", NULL, 0);
    assert_int_equal(lk_open(peer.url, &store, &error), LK_UNSUPPORTED);
    assert_non_null(strstr(error.text, "not a Lockkeeper service"));
    peer_end(&peer);
    peer_start(&peer, "HTTP/1.1 400 Bad Request\r\n\r\n", NULL, 0);
    assert_int_equal(lk_open(peer.url, &store, &error), LK_UNSUPPORTED);
    assert_non_null(strstr(error.text, "this is HTTP"));
    peer_end(&peer);
    assert_int_equal(lk_open(peer.url, &store, &error), LK_UNAVAILABLE); /* no address is left */
}

static void test_version_2_is_understood(void **state) {
    static const struct step steps[] = {
        {.expects = TRY_A,
         .replies = "*10\r\n$6\r\nstatus\r\n$4\r\nbusy\r\n$8\r\nposition\r\n$1\r\n3\r\n"
                    "$7\r\nunknown\r\n*2\r\n:1\r\n*-1\r\n$7\r\ncreated\r\n:0\r\n"
                    "$5\r\nvalue\r\n$-1\r\n",
         .cut_at = PEER_WHOLE},
    };
    struct peer peer;
    lk_store *store;
    lk_result *result;

    (void)state;
    peer_start(&peer, peer_hello_2, steps, COUNT(steps));
    store = open_peer(&peer);
    assert_int_equal(try_a(store, 0, &result), LK_BUSY);
    assert_int_equal(result->position, 3);
    lk_result_free(result);
    lk_close(store);
    peer_end(&peer);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void test_a_grant_is_read(void **state) {
    static const struct step steps[] = {
        {.expects = "ACQUIRE a ALSO b?shared ALSO c?limit=3&units=2 OWNER ana TTL 5000 NOTE for me "
                    "VALUE BLOCKERS 16 META QUEUE",
         .replies = "%5\r\n$6\r\nstatus\r\n$7\r\nwaiting\r\n$6\r\nticket\r\n:41\r\n"
                    "$13\r\nexpires_in_ms\r\n:4000\r\n$8\r\nposition\r\n:1\r\n"
                    "$8\r\nblockers\r\n*1\r\n%4\r\n$4\r\npath\r\n$1\r\na\r\n$5\r\nowner\r\n"
                    "$3\r\nbob\r\n$5\r\nstate\r\n$4\r\nheld\r\n$4\r\nnote\r\n$1\r\nx\r\n",
         .cut_at = PEER_WHOLE},
        {.expects = TRY_A,
         .replies = "%3\r\n$6\r\nstatus\r\n$8\r\ndeadlock\r\n$5\r\nerror\r\n$3\r\noh!\r\n"
                    "$5\r\ncycle\r\n*2\r\n$3\r\nana\r\n$3\r\nbob\r\n",
         .cut_at = PEER_WHOLE},
        {.expects = TRY_A, .replies = "-FULL a bound of 3\r\n", .cut_at = PEER_WHOLE},
        {.expects = TRY_A, .replies = "-ERR unknown command 'ACQUIRE'\r\n", .cut_at = PEER_WHOLE},
        {.expects = TRY_A, .replies = "-NOAUTH first\r\n", .cut_at = PEER_WHOLE},
    };
    const char *parts[] = {"a", "b?shared", "c?limit=3&units=2"};
    lk_request request = lk_request_init(parts, 3);
    struct peer peer;
    lk_store *store;
    lk_result *result;

    (void)state;
    peer_start(&peer, peer_hello_3, steps, COUNT(steps));
    store = open_peer(&peer);
    request.owner = "ana";
    request.style = LK_QUEUE;
    request.ttl_ms = 5000;
    request.note = "for me";
    request.value = true;
    assert_int_equal(lk_ask(store, &request, &result, NULL), LK_WAITING);
    assert_int_equal(result->ticket, 41);
    assert_int_equal(result->expires_in_ms, 4000);
    assert_true(result->fixed); /* it lives, and has no ttl */
    assert_int_equal(result->blocker_count, 1);
    assert_string_equal(result->blockers[0].owner, "bob");
    assert_true(result->blockers[0].held);
    lk_result_free(result);
    assert_int_equal(try_a(store, 0, &result), LK_DEADLOCK);
    assert_int_equal(result->cycle_count, 2);
    assert_string_equal(result->cycle[1], "bob");
    assert_string_equal(result->error, "oh!");
    lk_result_free(result);
    assert_int_equal(try_a(store, 0, &result), LK_FULL);
    assert_string_equal(result->error, "a bound of 3");
    lk_result_free(result);
    assert_int_equal(try_a(store, 0, NULL), LK_UNSUPPORTED);
    assert_int_equal(try_a(store, 0, NULL), LK_DENIED);
    lk_close(store);
    assert_int_equal(peer.connections, 1); /* one thread, one connection */
    peer_end(&peer);
}

static void test_pages_become_one_listing(void **state) {
    static const struct step steps[] = {
        {.expects = "LIST /db COUNT 1000",
         .replies = "*2\r\n$2\r\n17\r\n*2\r\n"
                    "%3\r\n$4\r\npath\r\n$4\r\ndb/1\r\n$5\r\nowner\r\n$1\r\nA\r\n"
                    "$6\r\nticket\r\n:7\r\n"
                    "%3\r\n$4\r\npath\r\n$4\r\ndb/2\r\n$5\r\nowner\r\n$1\r\nA\r\n"
                    "$6\r\nticket\r\n:7\r\n",
         .cut_at = PEER_WHOLE},
        {.expects = "LIST /db COUNT 1000 CURSOR 17",
         .replies = "*2\r\n$1\r\n0\r\n*1\r\n"
                    "%4\r\n$4\r\npath\r\n$4\r\ndb/3\r\n$5\r\nowner\r\n$1\r\nB\r\n"
                    "$6\r\nticket\r\n:9\r\n$7\r\nrevoked\r\n#t\r\n",
         .cut_at = PEER_WHOLE},
    };
    struct peer peer;
    lk_store *store;
    lk_listing *listing;

    (void)state;
    peer_start(&peer, peer_hello_3, steps, COUNT(steps));
    store = open_peer(&peer);
    assert_int_equal(lk_list(store, "db", &listing, NULL), LK_OK);
    assert_int_equal(listing->count, 3);
    assert_int_equal(listing->entries[1].request_index, 0);
    assert_int_equal(listing->entries[2].request_index, 1);
    assert_true(listing->entries[2].revoked);
    lk_listing_free(listing);
    lk_close(store);
    peer_end(&peer);
}

#define BREAK_OF_A                                                                                 \
    "%4\r\n$2\r\nby\r\n$3\r\nadm\r\n$6\r\nreason\r\n$3\r\nold\r\n$4\r\npath\r\n$1\r\na\r\n"        \
    "$5\r\nowner\r\n$3\r\nana\r\n"

static void test_an_audit_is_read_in_pages(void **state) {
    static const struct step steps[] = {
        {.expects = "AUDIT COUNT 1000",
         .replies = "*2\r\n$1\r\n1\r\n*1\r\n" BREAK_OF_A,
         .cut_at = PEER_WHOLE},
        {.expects = "AUDIT COUNT 1000 CURSOR 1",
         .replies = "*2\r\n$1\r\n0\r\n*2\r\n" BREAK_OF_A BREAK_OF_A,
         .cut_at = PEER_WHOLE},
    };
    struct peer peer;
    lk_store *store;
    lk_audit *audit;

    (void)state;
    peer_start(&peer, peer_hello_3, steps, COUNT(steps));
    store = open_peer(&peer);
    assert_int_equal(lk_audit_read(store, NULL, &audit, NULL), LK_OK);
    assert_int_equal(audit->count, 3);
    assert_string_equal(audit->entries[2].by, "adm");
    lk_audit_free(audit);
    lk_close(store);
    peer_end(&peer);
}

/* Its answers are read whole, and an answer that cannot be decoded is blamed on the service. */
static void test_an_older_service_without_pages_is_supported(void **state) {
    static const char refusal[] = "-INVALID AUDIT does not know the word \"COUNT\"\r\n";
    static const struct step steps[] = {
        {.expects = "AUDIT /a COUNT 1000", .replies = refusal, .cut_at = PEER_WHOLE},
        {.expects = "AUDIT /a", .replies = "*1\r\n" BREAK_OF_A, .cut_at = PEER_WHOLE},
        {.expects = "AUDIT /a COUNT 1000", .replies = refusal, .cut_at = PEER_WHOLE},
        {.expects = "AUDIT /a", .replies = BREAK_OF_A, .cut_at = PEER_WHOLE},
    };
    struct peer peer;
    lk_store *store;
    lk_audit *audit;
    lk_error error;

    (void)state;
    peer_start(&peer, peer_hello_3, steps, COUNT(steps));
    store = open_peer(&peer);
    assert_int_equal(lk_audit_read(store, "a", &audit, NULL), LK_OK);
    assert_int_equal(audit->count, 1);
    lk_audit_free(audit);
    assert_int_equal(lk_audit_read(store, "a", &audit, &error), LK_UNSUPPORTED);
    assert_non_null(strstr(error.text, "upgrade"));
    lk_close(store);
    peer_end(&peer);
}

/* ---- what breaks ----------------------------------------------------------------------------- */

static void test_a_truncated_answer_is_asked_for_again(void **state) {
    (void)state;
    for (int cut_at = 0; cut_at < (int)strlen(GRANTED_A); cut_at++) {
        const struct step steps[] = {
            {.expects = TRY_A, .replies = GRANTED_A, .cut_at = cut_at},
            {.expects = TRY_A, .replies = GRANTED_A, .cut_at = PEER_WHOLE},
        };
        struct peer peer;
        lk_store *store;
        lk_result *result;

        peer_start(&peer, peer_hello_3, steps, COUNT(steps));
        store = open_peer(&peer);
        assert_int_equal(try_a(store, 0, &result), LK_GRANTED);
        assert_int_equal(result->token, 42);
        assert_int_equal(result->ttl_ms, 60000);
        lk_result_free(result);
        lk_close(store);
        peer_end(&peer);
    }
}

static void test_calls_that_are_not_idempotent_are_not_repeated(void **state) {
    static const struct step steps[] = {
        {.expects = "PUT p v", .replies = "+OK\r\n", .cut_at = 2},
        {.expects = "BREAK p REASON r BY me", .replies = ":1\r\n", .cut_at = 1},
        {.expects = "PUSH q 1 META", .replies = ":1\r\n", .cut_at = 0},
        {.expects = "RELEASE a OWNER ana PUT v", .replies = "+OK\r\n", .cut_at = 0},
        {.expects = "RELEASE a OWNER ana TOKEN 7 PUT v", .replies = "+OK\r\n", .cut_at = 0},
        {.expects = "RELEASE a OWNER ana TOKEN 7 PUT v",
         .replies = "+OK\r\n",
         .cut_at = PEER_WHOLE},
        {.expects = "RELEASE a OWNER ana", .replies = "+OK\r\n", .cut_at = 4},
        {.expects = "RELEASE a OWNER ana", .replies = "-LOST gone\r\n", .cut_at = PEER_WHOLE},
        {.expects = "RELEASE a OWNER ana", .replies = "-LOST gone\r\n", .cut_at = PEER_WHOLE},
    };
    const lk_break_request broken = {.size = sizeof broken, .path = "p", .reason = "r", .by = "me"};
    const lk_push_request push = {.size = sizeof push, .queue = "q", .id = "1"};
    const char *parts[] = {"a"};
    lk_request request = lk_request_init(parts, 1);
    struct peer peer;
    lk_store *store;

    (void)state;
    peer_start(&peer, peer_hello_3, steps, COUNT(steps));
    store = open_peer(&peer);
    request.owner = "ana";
    assert_int_equal(lk_value_put(store, "p", NULL, 0, "v", 1, NULL), LK_UNAVAILABLE);
    assert_int_equal(lk_break(store, &broken, NULL, NULL), LK_UNAVAILABLE);
    assert_int_equal(lk_push(store, &push, NULL, NULL), LK_UNAVAILABLE);
    assert_int_equal(lk_release_put(store, &request, 0, "v", 1, NULL, NULL), LK_UNAVAILABLE);
    assert_int_equal(lk_release_put(store, &request, 7, "v", 1, NULL, NULL), LK_OK);
    assert_int_equal(lk_release(store, &request, 0, NULL, NULL), LK_UNAVAILABLE); /* or was it? */
    assert_int_equal(lk_release(store, &request, 0, NULL, NULL), LK_LOST);
    lk_close(store);
    peer_end(&peer);
}

static void test_a_restart_of_the_service_is_waited_for(void **state) {
    static const struct step steps[] = {
        {.expects = TRY_A, .replies = "-UNAVAILABLE stopping\r\n", .cut_at = PEER_WHOLE},
        {.expects = TRY_A, .replies = "-UNAVAILABLE stopping\r\n", .cut_at = PEER_WHOLE},
        {.expects = TRY_A, .replies = GRANTED_A, .cut_at = PEER_WHOLE},
    };
    struct peer peer;
    lk_store *store;

    (void)state;
    peer_start(&peer, peer_hello_3, steps, COUNT(steps));
    store = open_peer(&peer);
    assert_int_equal(try_a(store, 0, NULL), LK_GRANTED);
    lk_close(store);
    peer_end(&peer);
}

/* The answer of a leader to INFO. */
static void write_info(char *text, size_t bytes, int port) {
    char info[128];

    (void)snprintf(info, sizeof info, "is_leader:1\r\nleader:127.0.0.1:%d\r\n", port);
    (void)snprintf(text, bytes, "$%zu\r\n%s\r\n", strlen(info), info);
}

/* The new connection is checked with INFO once. */
static void test_a_redirection_to_the_leader_is_followed(void **state) {
    char info[160];
    const struct step there[] = {
        {.expects = "INFO", .replies = info, .cut_at = PEER_WHOLE},
        {.expects = TRY_A, .replies = GRANTED_A, .cut_at = PEER_WHOLE},
        {.expects = TRY_A, .replies = GRANTED_A, .cut_at = PEER_WHOLE},
    };
    struct step here[] = {{.expects = TRY_A, .cut_at = PEER_WHOLE}};
    char moved[64];
    struct peer leader;
    struct peer follower;
    lk_store *store;

    (void)state;
    peer_start_on_loopback(&leader, peer_hello_3, there, COUNT(there));
    write_info(info, sizeof info, leader.port);
    (void)snprintf(moved, sizeof moved, "-MOVED 0 127.0.0.1:%d\r\n", leader.port);
    here[0].replies = moved;
    peer_start(&follower, peer_hello_3, here, COUNT(here));
    store = open_peer(&follower);
    assert_int_equal(try_a(store, 0, NULL), LK_GRANTED);
    assert_int_equal(try_a(store, 0, NULL), LK_GRANTED); /* it is remembered */
    lk_close(store);
    peer_end(&follower);
    peer_end(&leader);
}

/* ---- nonsense -------------------------------------------------------------------------------- */

/* Any outcome will do, as long as the client lives and does not believe in a grant that is none. */
static void test_malformed_replies_are_refused(void **state) {
    const char *seed = getenv("LK_TEST_SEED");
    struct lk_random random = {.state = seed != NULL ? strtoull(seed, NULL, 10) : lk_random_draw()};

    (void)state;
    print_message("# LK_TEST_SEED=%llu\n", (unsigned long long)random.state);
    for (int turn = 0; turn < 300; turn++) {
        char reply[sizeof GRANTED_A];
        struct step steps[] = {{.expects = NULL, .replies = reply, .size = sizeof reply - 1}};
        struct peer peer;
        lk_store *store;

        memcpy(reply, GRANTED_A, sizeof reply);
        for (int i = 0; i < 1 + turn % 4; i++) {
            int64_t at = lk_random_between(&random, 0, (int64_t)sizeof reply - 2);
            reply[at] = (char)lk_random_between(&random, 0, 255);
        }
        steps[0].cut_at = (int)steps[0].size; /* and then the connection ends */
        peer_start(&peer, peer_hello_3, steps, COUNT(steps));
        store = open_peer(&peer);
        if (turn % 3 == 0) {
            lk_listing *listing = NULL;
            if (lk_show(store, "a", &listing, NULL) == LK_OK) {
                lk_listing_free(listing);
            }
        } else if (turn % 3 == 1) {
            (void)try_a(store, 1, NULL);
        } else {
            lk_value *value = NULL;
            if (lk_value_get(store, "a", &value, NULL) == LK_OK) {
                lk_value_free(value);
            }
        }
        lk_close(store);
        peer_end_whatever_came(&peer); /* it may have been asked again, or in vain */
    }
}

/* ---- waiting --------------------------------------------------------------------------------- */

static const struct lk_engine_ops *operations(void) {
    for (size_t i = 0; lk_engines[i] != NULL; i++) {
        if (strcmp(lk_engines[i]->scheme, "lk+unix") == 0) {
            return lk_engines[i];
        }
    }
    fail_msg("lk+unix: is not in this build");
    return NULL;
}

struct waiting {
    struct peer peer;
    struct lk_engine *engine;
    struct lk_waker waker;
    struct lk_part part;
    struct lk_command command;
    struct lk_wait_cursor cursor;
};

static void begin_waiting(struct waiting *waiting, const struct step *steps, size_t count) {
    const struct lk_patience patience = {.until_us = lk_clock_now_us() + LONG_US};

    peer_start(&waiting->peer, peer_hello_3, steps, count);
    assert_int_equal(
        operations()->open(lk_slice_of(waiting->peer.path), &patience, &waiting->engine, NULL),
        LK_OK);
    assert_true(lk_waker_init(&waiting->waker));
    assert_int_equal(lk_part_parse(lk_slice_of("a"), NULL, &waiting->part, NULL), LK_OK);
    waiting->command = (struct lk_command){.kind = LK_COMMAND_ASK,
                                           .ask = {.owner = lk_slice_of("ana"),
                                                   .parts = &waiting->part,
                                                   .part_count = 1,
                                                   .style = LK_WAIT}};
    waiting->cursor = (struct lk_wait_cursor){.command = &waiting->command};
}

static void end_waiting(struct waiting *waiting) {
    waiting->engine->ops->close(waiting->engine);
    lk_waker_done(&waiting->waker);
    peer_end(&waiting->peer);
}

static void *await_grant(void *context) {
    struct waiting *waiting = context;

    return (void *)(intptr_t)operations()->await(waiting->engine, &waiting->cursor,
                                                 lk_clock_now_us() + LONG_US, &waiting->waker);
}

static void test_a_waker_ends_a_wait(void **state) {
    static const struct step steps[] = {{.is_silent = true}};
    struct waiting waiting;
    int64_t begun_us = lk_clock_now_us();
    pthread_t thread;
    void *outcome;

    (void)state;
    begin_waiting(&waiting, steps, COUNT(steps));
    assert_int_equal(pthread_create(&thread, NULL, await_grant, &waiting), 0);
    peer_await_step(&waiting.peer, 1);
    lk_waker_throw(&waiting.waker);
    assert_int_equal(pthread_join(thread, &outcome), 0);
    assert_int_equal((intptr_t)outcome, LK_CANCELLED);
    assert_true(lk_clock_now_us() - begun_us < LONG_US);
    end_waiting(&waiting);
}

static void test_a_grant_ends_a_wait(void **state) {
    static const struct step steps[] = {
        {.replies = GRANTED_A, .cut_at = PEER_WHOLE},
        {.replies = GRANTED_A, .cut_at = 0}, /* the service is killed */
    };
    struct waiting waiting;

    (void)state;
    begin_waiting(&waiting, steps, COUNT(steps));
    assert_int_equal((intptr_t)await_grant(&waiting), LK_OK);
    assert_int_equal((intptr_t)await_grant(&waiting), LK_UNAVAILABLE);
    end_waiting(&waiting);
}

/* ---- a claim that is given up ---------------------------------------------------------------- */

struct claiming {
    lk_store *store;
    lk_cancel *cancel;
    lk_outcome outcome;
};

static void *claim_next(void *context) {
    struct claiming *claiming = context;
    lk_claim_request request = {.size = sizeof request,
                                .queue = "q",
                                .owner = "ana",
                                .wait_ms = 60000,
                                .cancel = claiming->cancel};
    lk_claim_info *claim = NULL;

    claiming->outcome = lk_claim_next(claiming->store, &request, &claim, NULL);
    return NULL;
}

#define CLAIMED                                                                                    \
    "%6\r\n$6\r\nstatus\r\n$7\r\ngranted\r\n$5\r\nqueue\r\n$1\r\nq\r\n$2\r\nid\r\n$1\r\n1\r\n"     \
    "$7\r\nattempt\r\n:1\r\n$5\r\ntoken\r\n:7\r\n$5\r\nowner\r\n$3\r\nana\r\n"

/*
 * R3: what the blocked claim got in the moment of the cancellation is found, and given back. The
 * claim is over before the take that looks for it is sent, or an item would come behind that.
 */
static void test_an_abandoned_claim_is_given_back(void **state) {
    static const struct step steps[] = {
        {.replies = "%1\r\n$6\r\nstatus\r\n$4\r\nbusy\r\n", .cut_at = PEER_WHOLE},
        {.replies = CLAIMED, .is_late = true},
        {.replies = CLAIMED, .cut_at = PEER_WHOLE},
        {.expects = "RETRY q 1 OWNER ana TOKEN 7 UNCOUNTED",
         .replies = "+OK\r\n",
         .cut_at = PEER_WHOLE},
    };
    struct claiming claiming = {.cancel = lk_cancel_new()};
    struct peer peer;
    pthread_t thread;

    (void)state;
    peer_start(&peer, peer_hello_3, steps, COUNT(steps));
    assert_int_equal(lk_open(peer.url, &claiming.store, NULL), LK_OK);
    assert_int_equal(pthread_create(&thread, NULL, claim_next, &claiming), 0);
    peer_await_step(&peer, 2);
    lk_cancel_now(claiming.cancel);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(claiming.outcome, LK_CANCELLED);
    lk_close(claiming.store);
    lk_cancel_free(claiming.cancel);
    peer_end(&peer);
}

#define STOLEN(is)                                                                                 \
    "%8\r\n$6\r\nstatus\r\n$7\r\ngranted\r\n$5\r\nqueue\r\n$1\r\nq\r\n$2\r\nid\r\n$1\r\n1\r\n"     \
    "$7\r\nattempt\r\n:2\r\n$6\r\nstolen\r\n#" is                                                  \
    "\r\n$5\r\ntoken\r\n:7\r\n$5\r\nowner\r\n$3\r\nana\r\n$13\r\nexpires_in_ms\r\n:60000\r\n"

/* R16: only the answer to the wait says that its item is stolen, not that to the take behind it. */
static void test_a_stolen_item_is_known_after_a_wait(void **state) {
    static const struct step steps[] = {
        {.replies = "%1\r\n$6\r\nstatus\r\n$4\r\nbusy\r\n", .cut_at = PEER_WHOLE},
        {.replies = STOLEN("t"), .cut_at = PEER_WHOLE},
        {.replies = STOLEN("f"), .cut_at = PEER_WHOLE},
    };
    const lk_claim_request request = {
        .size = sizeof request, .queue = "q", .owner = "ana", .wait_ms = 60000};
    lk_claim_info *claim = NULL;
    lk_store *store = NULL;
    struct peer peer;

    (void)state;
    peer_start(&peer, peer_hello_3, steps, COUNT(steps));
    assert_int_equal(lk_open(peer.url, &store, NULL), LK_OK);
    assert_int_equal(lk_claim_next(store, &request, &claim, NULL), LK_GRANTED);
    assert_true(claim->is_stolen);
    lk_claim_free(claim);
    lk_close(store);
    peer_end(&peer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_servers_are_refused),
        cmocka_unit_test(test_version_2_is_understood),
        cmocka_unit_test(test_a_grant_is_read),
        cmocka_unit_test(test_pages_become_one_listing),
        cmocka_unit_test(test_an_audit_is_read_in_pages),
        cmocka_unit_test(test_an_older_service_without_pages_is_supported),
        cmocka_unit_test(test_a_truncated_answer_is_asked_for_again),
        cmocka_unit_test(test_calls_that_are_not_idempotent_are_not_repeated),
        cmocka_unit_test(test_a_restart_of_the_service_is_waited_for),
        cmocka_unit_test(test_a_redirection_to_the_leader_is_followed),
        cmocka_unit_test(test_malformed_replies_are_refused),
        cmocka_unit_test(test_a_waker_ends_a_wait),
        cmocka_unit_test(test_a_grant_ends_a_wait),
        cmocka_unit_test(test_an_abandoned_claim_is_given_back),
        cmocka_unit_test(test_a_stolen_item_is_known_after_a_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
