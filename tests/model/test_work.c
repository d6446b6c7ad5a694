/* SPDX-License-Identifier: Apache-2.0 */
/* R16 sentence by sentence, as scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "lockstep.h"
#include "script.h"

/* ---- pushing --------------------------------------------------------------------------------- */

static void an_item_is_added_once(void **state) {
    (void)state;
    SCRIPT("push q 1 value=first -> ok created item=1",
           "push q 1 value=second delay=50 -> ok again", "? item q 1 ready",
           "A claim q -> granted item=1", "push q 1 -> ok again", "? item q 1 claimed owner=A",
           "A retry q 1 delay=100 -> ok", "push q 1 -> ok again", "? item q 1 delayed attempts=1",
           "? queue q pushed=1 duplicates=3 delayed=1", "pass 100 -> ok",
           "A claim q attempts=1 -> granted attempts=2", "A retry q 1 -> ok parked",
           "push q 1 -> ok again", "? item q 1 parked", "? queue q pushed=1 duplicates=4 parked=1",
           "unpark q 1 -> ok", "A claim q -> granted", "A done q 1 -> ok", "push q 1 -> ok created",
           "? queue q pushed=2 duplicates=4");
}

static void an_id_is_one_segment(void **state) {
    (void)state;
    SCRIPT("push q a/b -> invalid", "push q / -> invalid", "push q a/ -> invalid",
           "push q .. -> invalid", "push q a?b -> invalid", "push q a{b -> invalid",
           "A done q a/b -> invalid", "A retry q .. -> invalid", "unpark q a/b -> invalid",
           "push q/deep/er one -> ok created", "A claim q -> busy",
           "A claim q/deep/er -> granted item=one", "? queue q pushed=0 claims=0");
}

static void an_item_is_claimable_after_its_delay(void **state) {
    (void)state;
    SCRIPT("push q late delay=100 -> ok due=100", "push q soon -> ok",
           "? item q late delayed due=99", "? queue q delayed=1 ready=1",
           "A claim q -> granted item=soon", "A claim q -> busy", "pass 95 -> ok",
           "A claim q -> busy", "pass 1 -> ok", "? item q late ready",
           "? queue q delayed=0 ready=1", "A claim q -> granted item=late");
}

/* The age of what is due counts, not since when it is. */
static void the_oldest_due_item_is_claimed_first(void **state) {
    (void)state;
    SCRIPT("push q 1 delay=1000 -> ok", "push q 2 delay=50 -> ok", "push q 3 -> ok",
           "pass 1000 -> ok", "A claim q -> granted item=1", "A claim q -> granted item=2",
           "A claim q -> granted item=3", "A retry q 2 -> ok", "A retry q 1 -> ok",
           "A claim q -> granted item=1 attempts=2", "A claim q -> granted item=2 attempts=2");
}

/* ---- claiming -------------------------------------------------------------------------------- */

static void a_claim_is_an_exclusive_lease(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok",
           "A claim q ttl=500 note=at-work -> granted created left=500 note=at-work",
           "? item q 1 claimed owner=A left=500", "B try q/1 -> busy for=A",
           "B queue q/1/file?shared -> waiting for=A", "B try q/2 -> granted", "A done q 1 -> ok",
           "? B q/1/file held");
}

static void a_claim_of_an_empty_queue_is_busy(void **state) {
    (void)state;
    SCRIPT("A claim q -> busy", "push q 1 -> ok", "A claim q -> granted", "B claim q -> busy",
           "? queue q claims=1", "? live 1", "A done q 1 -> ok", "B claim q -> busy");
}

static void a_lock_on_the_queue_pauses_it(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "O queue q -> granted", "A claim q -> busy",
           "O claim q -> granted item=1", "O release q -> ok", "O done q 1 -> ok");
    /* In line, too; and above; and by readers, since a claim is exclusive. */
    SCRIPT("push q 1 -> ok", "push q 2 -> ok", "A claim q -> granted item=1",
           "O queue q ttl=100 -> waiting for=A", "B claim q -> busy", "A claim q -> busy",
           "pass 100 -> ok", "B claim q -> granted item=2");
    SCRIPT("push db/q 1 -> ok", "O queue db -> granted", "A claim db/q -> busy",
           "O release db -> ok", "O queue db/q?shared -> granted", "A claim db/q -> busy",
           "O release db/q -> ok", "A claim db/q -> granted");
}

static void a_locked_item_is_skipped(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "push q 2 -> ok", "push q 3 -> ok", "O queue q/1 -> granted",
           "O queue q/2/part?shared -> granted", "A claim q -> granted item=3", "B claim q -> busy",
           "O release q/2/part -> ok", "B claim q -> granted item=2", "O claim q -> granted item=1",
           "? O q/1 held", "? item q 1 claimed owner=O");
    /* Also for a request that is queued there. */
    SCRIPT("push q 1 -> ok", "A claim q -> granted", "O queue q/1 -> waiting for=A",
           "P queue q/1 -> waiting for=A,O", "A retry q 1 -> ok", "? O q/1 held",
           "B claim q -> busy", "O release q/1 -> ok", "? P q/1 held", "P release q/1 -> ok",
           "B claim q -> granted");
}

static void r3_does_not_apply_to_claims(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "A claim q -> granted keep=a", "? A q/1 gone",
           "A queue q/1 -> granted created token>$a keep=b", "? live 2",
           "A renew q/1 token=$a ttl=500 -> ok left=500 token=$a",
           "A renew q/1 token=$b ttl=700 -> ok left=700 token=$b", "A release q/1 token=$a -> lost",
           "A release q/1 -> ok", "? item q 1 claimed owner=A", "A release q/1 -> lost",
           "? item q 1 claimed owner=A token=$a", "A done q 1 -> ok");
    /* It is queued behind others as any request is. */
    SCRIPT("push q 1 -> ok", "A claim q -> granted", "B queue q/1 -> waiting for=A",
           "A try q/1 -> busy for=B");
}

static void r8_does_not_apply_to_claims(void **state) {
    (void)state;
    /* A lease that covers the item does not let the claim pass requests that are queued for what
     * it needs. */
    SCRIPT("push q 1 needs=p -> ok", "A queue q -> granted", "A queue p?shared -> granted",
           "B queue p -> waiting for=A", "A claim q -> busy", "A queue p -> granted",
           "A claim q -> busy", "B release p -> ok", "A claim q -> granted");
    /* Nor does a claim cover what its owner asks for below the item. */
    SCRIPT("push q 1 -> ok", "A claim q -> granted", "B queue q/1/x -> waiting for=A",
           "A try q/1/x -> busy for=B");
    SCRIPT("push q 1 needs=p?shared -> ok", "A claim q -> granted", "B queue p -> waiting for=A",
           "A try p?shared -> busy for=B");
}

static void an_ask_number_gives_the_same_item(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "push q 2 -> ok", "push s 1 -> ok",
           "A claim q ask=7 ttl=500 -> granted created item=1 attempts=1 keep=a",
           "A claim q ask=7 ttl=900 -> granted again item=1 attempts=1 token=$a left=900",
           "? queue q claims=1", "A claim s ask=7 -> granted created item=1",
           "B claim q ask=7 -> granted created item=2", "A claim q ask=8 -> busy",
           "A retry q 1 -> ok", "A claim q ask=7 -> granted created item=1 attempts=2 token>$a",
           "? queue q claims=3");
    SCRIPT("push q 1 -> ok", "push q 2 -> ok", "A claim q -> granted item=1",
           "A claim q -> granted item=2");
    /* One that is broken is the same still, and is not renewed by it. */
    SCRIPT("push q 1 -> ok", "A claim q ask=1 ttl=500 -> granted", "break q/1 -> ok broken=1",
           "A claim q ask=1 ttl=500 -> granted again item=1 left=498 revoked");
}

/* ---- keeping and ending ---------------------------------------------------------------------- */

static void a_claim_is_renewed_by_its_path(void **state) {
    (void)state;
    SCRIPT("push q 1 needs=p?limit=2,o -> ok", "A claim q ttl=200 -> granted keep=a",
           "A renew q/1 ttl=300 -> ok left=300", "A renew o q/1 p -> ok left=300",
           "A renew q/1 token=$a -> ok", "A renew q/1 token=1 -> lost", "A renew q/1 o -> lost",
           "A renew p -> lost", "B renew q/1 -> lost", "B renew q/1 o p -> lost", "pass 300 -> ok",
           "A renew q/1 -> lost", "? item q 1 ready");
}

static void only_the_claimant_can_end_a_claim(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "A done q 1 -> lost", "A claim q -> granted keep=a",
           "B done q 1 -> lost", "B retry q 1 -> lost", "A done q 1 token=1 -> lost",
           "A retry q 1 token=1 -> lost", "A done q 2 -> lost", "A done s 1 -> lost",
           "? item q 1 claimed owner=A", "A done q 1 token=$a -> ok", "A done q 1 -> lost");
}

static void a_repeated_end_with_its_token_succeeds(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "A claim q -> granted keep=a", "A done q 1 token=$a -> ok",
           "A done q 1 token=$a -> ok", "B done q 1 token=$a -> lost", "? queue q done=1",
           "push q 1 -> ok created", "B claim q -> granted", "A done q 1 token=$a -> ok",
           "? item q 1 claimed owner=B", "pass 300000 -> ok", "A done q 1 token=$a -> lost");
    SCRIPT("push q 1 -> ok", "A claim q -> granted keep=a", "A retry q 1 token=$a -> ok",
           "A retry q 1 token=$a -> ok", "? queue q retried=1", "? item q 1 ready attempts=1");
}

static void a_retried_item_keeps_its_age(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "push q 2 -> ok", "A claim q -> granted item=1",
           "A retry q 1 delay=100 -> ok due=100", "B claim q -> granted item=2",
           "B retry q 2 -> ok", "C claim q -> granted item=2", "C retry q 2 -> ok",
           "pass 100 -> ok", "C claim q -> granted item=1 attempts=2",
           "? queue q retried=3 steals=0 claims=4");
}

static void an_item_is_claimable_when_its_claim_expires(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "A claim q ttl=100 -> granted",
           "+100000/100000 B claim q ttl=100 -> granted item=1 stolen", "pass 100 -> ok",
           "? item q 1 ready attempts=2", "C claim q -> granted stolen", "C retry q 1 -> ok",
           "D claim q -> granted", "? queue q claims=4 steals=2 retried=1");
}

static void the_end_of_a_claim_admits_waiters(void **state) {
    (void)state;
    SCRIPT("push q 1 needs=p -> ok", "A claim q ttl=100 -> granted", "B queue p -> waiting for=A",
           "C queue q/1 -> waiting for=A", "pass 100 -> ok", "? B p held", "? C q/1 held",
           "? item q 1 ready", "D claim q -> busy");
}

/* ---- too many attempts ----------------------------------------------------------------------- */

static void an_item_is_parked_after_too_many_attempts(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "A claim q attempts=2 -> granted", "A retry q 1 -> ok",
           "A claim q attempts=2 ttl=100 -> granted attempts=2", "pass 100 -> ok",
           "? item q 1 parked attempts=2", "A claim q -> busy", "pass 100000 -> ok",
           "A claim q -> busy", "? queue q parked=1 parked_now=1 retried=1",
           "unpark q 1 -> ok item=1", "? item q 1 ready attempts=0", "unpark q 1 -> lost",
           "A claim q attempts=1 -> granted attempts=1", "A retry q 1 delay=50 -> ok parked",
           "? item q 1 parked", "? queue q parked=2");
    /* What counts is the maximum of the claim that ends, not of one before. */
    SCRIPT("push q 1 -> ok", "A claim q attempts=1 -> granted", "break q/1 now -> ok broken=1",
           "? item q 1 parked", "unpark q 1 -> ok", "A claim q attempts=1 -> granted",
           "A done q 1 -> ok", "? queue q done=1 parked=1 parked_now=0");
    SCRIPT("push q 1 -> ok", "A claim q attempts=3 -> granted", "A retry q 1 -> ok",
           "A claim q -> granted attempts=2", "A retry q 1 -> ok",
           "A claim q -> granted attempts=3", "A retry q 1 -> ok", "? item q 1 ready attempts=3",
           "A claim q attempts=3 -> granted attempts=4", "A retry q 1 -> ok parked");
}

/* A retry that does not count gives the attempt back, and never parks. */
static void an_uncounted_retry_gives_the_attempt_back(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "A claim q attempts=1 -> granted attempts=1 keep=a",
           "A retry q 1 token=$a uncounted -> ok", "? item q 1 ready attempts=0",
           "A retry q 1 token=$a uncounted -> ok", "? item q 1 ready attempts=0",
           "A claim q attempts=1 -> granted attempts=1",
           "A retry q 1 uncounted delay=50 exit=3 -> ok due=50", "A claim q -> busy",
           "pass 50 -> ok", "A claim q attempts=1 -> granted attempts=1",
           "A retry q 1 -> ok parked", "? queue q parked=1 retried=3 claims=3");
    /* Nor does it where attempts before it have counted past the maximum of this claim. */
    SCRIPT("push q 1 -> ok", "A claim q -> granted", "A retry q 1 -> ok", "A claim q -> granted",
           "A retry q 1 -> ok", "A claim q attempts=1 -> granted attempts=3",
           "A retry q 1 uncounted -> ok", "? item q 1 ready attempts=2",
           "A claim q ttl=100 attempts=9 -> granted attempts=3", "pass 100 -> ok",
           "A retry q 1 uncounted -> lost", "? item q 1 ready attempts=3",
           "A claim q -> granted stolen", "A retry q 1 uncounted -> ok",
           "A claim q -> granted attempts=4");
}

static void only_a_parked_item_can_be_unparked(void **state) {
    (void)state;
    SCRIPT("unpark q 1 -> lost", "push q 1 delay=50 -> ok", "unpark q 1 -> lost", "pass 50 -> ok",
           "unpark q 1 -> lost", "A claim q -> granted", "unpark q 1 -> lost", "A done q 1 -> ok",
           "unpark q 1 -> lost");
}

/* ---- breaking -------------------------------------------------------------------------------- */

static void a_broken_claim(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "A claim q ttl=100 -> granted", "break q/1 -> ok broken=1",
           "A renew q/1 -> lost", "B claim q -> busy", "pass 100 -> ok",
           "B claim q -> granted stolen");
    SCRIPT("push q 1 -> ok", "A claim q -> granted", "break q/1 -> ok broken=1", "A done q 1 -> ok",
           "? item q 1 gone");
    SCRIPT("push q 1 -> ok", "A claim q -> granted", "break q/1 -> ok", "A retry q 1 -> ok",
           "? item q 1 ready");
    SCRIPT("push q 1 -> ok", "A claim q -> granted", "break q/1 now owner=B -> ok broken=0",
           "break q now -> ok broken=0", "break q/1 now owner=A -> ok broken=1",
           "A done q 1 -> lost", "B claim q -> granted stolen attempts=2");
    /* With all else at the path, and by what it needs. */
    SCRIPT("push q 1 needs=p?limit=1 -> ok", "A claim q -> granted", "A queue q/1 -> granted",
           "B queue q/1 -> waiting", "break q/1 now -> ok broken=3", "? live 0",
           "A claim q -> granted stolen", "break p now -> ok broken=1", "? item q 1 ready");
}

/* ---- needs ----------------------------------------------------------------------------------- */

static void needs_are_locked_with_the_item(void **state) {
    (void)state;
    SCRIPT("push q 1 needs=p?limit=1 -> ok", "push q 2 needs=p?limit=1 -> ok", "push q 3 -> ok",
           "A claim q -> granted item=1", "B claim q -> granted item=3", "C claim q -> busy",
           "C try p -> busy for=A", "A done q 1 -> ok", "C claim q -> granted item=2",
           "C retry q 2 -> ok", "D try p -> granted", "C claim q -> busy", "D release p -> ok",
           "C claim q -> granted item=2");
    /* All or nothing. */
    SCRIPT("push q 1 needs=a,b -> ok", "O queue b -> granted", "A claim q -> busy",
           "P try a -> granted", "O release b -> ok", "A claim q -> busy", "P release a -> ok",
           "A claim q -> granted", "P try a -> busy for=A", "P try b -> busy for=A");
    /* A request that is queued for it is not overtaken. */
    SCRIPT("push q 1 needs=p?shared -> ok", "R queue p?shared -> granted",
           "W queue p -> waiting for=R", "A claim q -> busy", "R release p -> ok",
           "W release p -> ok", "A claim q -> granted");
    /* Units held and waited for count, the claimant's own included. */
    SCRIPT("push q 1 needs=p?limit=3&units=2 -> ok", "A queue p?limit=3&units=2 -> granted",
           "A claim q -> busy", "A release p -> ok", "A claim q -> granted",
           "A try p?limit=3 -> granted in_use=3", "B try p?limit=3 -> busy");
}

static void needs_are_checked_at_the_push(void **state) {
    (void)state;
    SCRIPT("push q 1 needs=q/1 -> invalid", "push q 1 needs=p,p?shared -> invalid",
           "push q 1 needs=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p -> invalid",
           "push q 1 needs=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o -> ok created",
           "A claim q -> granted item=1", "B try o -> busy for=A", "push q 2 needs=q/1,q -> ok",
           "? queue q pushed=2");
}

/* The first of two that need the same strictly has come back: the second one waits for its end. */
static void a_strict_need_keeps_the_order(void **state) {
    (void)state;
    /* while the first one is claimed, delayed, ready again, parked, and unparked */
    SCRIPT("push q 1 needs=p?strict -> ok", "push q 2 needs=p?strict -> ok", "push q 3 -> ok",
           "A claim q -> granted item=1", "B claim q -> granted item=3", "B claim q -> busy",
           "A retry q 1 delay=100 -> ok", "C claim q -> busy", "pass 100 -> ok",
           "C claim q -> granted item=1", "D claim q -> busy", "C retry q 1 parks -> ok",
           "D claim q -> busy", "unpark q 1 -> ok", "D claim q -> granted item=1",
           "D done q 1 -> ok", "D claim q -> granted item=2");
    /* A claim that has perished, and an attempt that does not count, change nothing. */
    SCRIPT("push q 1 needs=p?strict -> ok", "push q 2 needs=p?strict -> ok",
           "A claim q ttl=100 -> granted", "pass 100 -> ok", "B claim q -> granted item=1",
           "B retry q 1 delay=100 uncounted -> ok", "B claim q -> busy", "drop q 1 -> ok",
           "B claim q -> granted item=2");
    /* What is claimed before it, and then by its needs, comes behind it, too. */
    SCRIPT("push q 1 needs=p?strict,o -> ok", "A claim q -> granted", "A retry q 1 -> ok",
           "push q 2 priority=9 needs=p?strict -> ok", "push q 3 priority=9 needs=p?strict,o -> ok",
           "B queue o -> granted", "C claim q -> busy", "B release o -> ok",
           "C claim q -> granted item=1", "C done q 1 -> ok", "C claim q -> granted item=2",
           "C done q 2 -> ok", "C claim q -> granted item=3");
}

/* The order is that of the items of one queue with the same strict need. */
static void a_strict_need_is_of_its_queue(void **state) {
    (void)state;
    SCRIPT("push q 1 needs=p?strict -> ok", "push q 2 needs=p -> ok",
           "push q 3 needs=p/x?strict -> ok", "push r 4 needs=p?strict -> ok",
           "A claim q -> granted item=1", "A retry q 1 parks -> ok", "A claim q -> granted item=2",
           "A done q 2 -> ok", "A claim q -> granted item=3", "A done q 3 -> ok",
           "A claim r -> granted item=4");
    /* Several: the head of all of them, or of none. */
    SCRIPT("push q 1 needs=p?strict -> ok", "push q 2 needs=p?strict,o?strict -> ok",
           "push q 3 needs=o?strict -> ok", "A claim q -> granted item=1",
           "A retry q 1 parks -> ok", "A claim q -> granted item=3", "A done q 3 -> ok",
           "A claim q -> busy", "break q/1 cancel -> ok", "A claim q -> granted item=2");
}

/* An item that is replaced is as a new one. */
static void a_replaced_item_is_no_head(void **state) {
    (void)state;
    SCRIPT("push q 1 needs=p?strict -> ok", "push q 2 needs=p?strict -> ok",
           "A claim q -> granted item=1", "A retry q 1 parks -> ok", "A claim q -> busy",
           "push q 1 again delay=100 needs=p?strict -> ok", "A claim q -> granted item=2",
           "A retry q 2 delay=1000 -> ok", "pass 100 -> ok", "A claim q -> busy");
    SCRIPT("push q 1 needs=p?strict -> ok", "push q 2 needs=p?strict -> ok",
           "A claim q -> granted item=1", "push q 1 again needs=p?strict -> ok",
           "B claim q -> busy", "A done q 1 -> ok", "B claim q -> granted item=2",
           "B done q 2 -> ok", "B claim q -> granted item=1");
}

static void a_strict_need_is_exclusive(void **state) {
    struct lk_part part;

    (void)state;
    assert_int_equal(lk_need_parse(lk_slice_of("p?strict"), &part, NULL), LK_OK);
    assert_true(part.strict && part.mode == LK_EXCLUSIVE);
    assert_int_equal(lk_need_parse(lk_slice_of("p?strict&shared"), &part, NULL), LK_INVALID);
    assert_int_equal(lk_need_parse(lk_slice_of("p?limit=2&strict"), &part, NULL), LK_INVALID);
    assert_int_equal(lk_need_parse(lk_slice_of("?strict"), &part, NULL), LK_INVALID);
    assert_int_equal(lk_part_parse(lk_slice_of("p?strict"), NULL, &part, NULL), LK_INVALID);
}

/* R13: an item whose claim would close a cycle is passed over. */
static void a_claim_never_closes_a_cycle(void **state) {
    (void)state;
    SCRIPT("push q 1 needs=p?limit=9 -> ok", "push q 2 -> ok", "B queue p?shared -> granted",
           "C queue y -> granted", "C queue p?limit=1 -> waiting for=B",
           "A queue y -> waiting for=C", "A claim q -> granted item=2",
           "D claim q -> granted item=1", "C release y -> ok", "D retry q 1 -> ok",
           "A claim q -> granted item=1");
    SCRIPT("push q 1 -> ok", "A queue x -> granted", "B queue x q/1 -> waiting for=A",
           "A claim q -> busy", "B claim q -> granted item=1");
}

/* ---- quotas and bounds ----------------------------------------------------------------------- */

static void a_claim_is_a_request_among_others(void **state) {
    struct lk_quotas of_root = {.live_per_root_max = 1};
    struct lk_quotas in_all = {.live_max = 1};
    struct lk_quotas of_owner = {.live_per_owner_max = 1};
    static const char *const roots[] = {
        "push q 1 needs=p -> ok",      "push q 2 -> ok",    "B queue p/x -> granted",
        "A claim q -> granted item=2", "A claim q -> busy", "B release p/x -> ok",
        "A claim q -> full",           "A done q 2 -> ok",  "A claim q -> granted item=1"};
    static const char *const all[] = {
        "A claim q -> busy", "push q 1 -> ok",   "push q 2 -> ok",       "A claim q -> granted",
        "B claim q -> full", "A done q 1 -> ok", "B claim q -> granted", "A claim q -> busy"};
    static const char *const owners[] = {"push q 1 -> ok",       "push q 2 -> ok",
                                         "A claim q -> granted", "A claim q -> full",
                                         "A try x -> full",      "B claim q -> granted"};

    (void)state;
    script_run(&of_root, roots, sizeof roots / sizeof *roots);
    script_run(&in_all, all, sizeof all / sizeof *all);
    script_run(&of_owner, owners, sizeof owners / sizeof *owners);
}

static void a_claim_has_bounds(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "A claim q ttl=49 -> invalid", "A claim q attempts=1000001 -> invalid",
           "A claim q attempts=1000000 -> granted", "A retry q 1 delay=31622400001 -> invalid",
           "push q 2 delay=31622400001 -> invalid", "push q 2 delay=31622400000 -> ok",
           "A retry q 1 delay=31622400000 -> ok");
}

/* A value of an item or a path has at most 65536 bytes. */
static void the_size_of_values_is_limited(void **state) {
    static char bytes[LK_VALUE_BYTES_MAX + 1];
    struct lk_part part = {.mode = LK_EXCLUSIVE};
    struct lk_command command = {.kind = LK_COMMAND_PUSH, .times = {.now_us = 1, .wall_us = 1000}};
    struct lockstep lockstep;

    (void)state;
    assert_int_equal(lk_path_parse(lk_slice_of("q"), &part.path, NULL), LK_OK);
    lockstep_open(&lockstep, NULL, 0, NULL);
    for (size_t size = LK_VALUE_BYTES_MAX; size <= LK_VALUE_BYTES_MAX + 1; size++) {
        lk_outcome expected = size <= LK_VALUE_BYTES_MAX ? LK_OK : LK_INVALID;
        struct lk_slice value = {bytes, size};
        command.kind = LK_COMMAND_PUSH;
        command.push = (struct lk_push){.queue = part.path, .id = lk_slice_of("1"), .value = value};
        assert_null(lockstep_step(&lockstep, &command));
        assert_int_equal(lockstep.effects->answer.outcome, expected);
        command.kind = LK_COMMAND_PUT;
        command.put = (struct lk_put){.path = part.path, .bytes = value};
        assert_null(lockstep_step(&lockstep, &command));
        assert_int_equal(lockstep.effects->answer.outcome, expected);
        command.kind = LK_COMMAND_ASK;
        command.ask = (struct lk_ask){.owner = lk_slice_of("A"), .parts = &part, .part_count = 1};
        assert_null(lockstep_step(&lockstep, &command));
        assert_int_equal(lockstep.effects->answer.outcome, LK_GRANTED);
        command.kind = LK_COMMAND_RELEASE;
        command.release = (struct lk_release){
            .target = {.owner = lk_slice_of("A"), .parts = &part, .part_count = 1},
            .puts = &(const struct lk_release_put){.part = 0, .bytes = value},
            .put_count = 1};
        assert_null(lockstep_step(&lockstep, &command));
        assert_int_equal(lockstep.effects->answer.outcome, expected);
    }
    lockstep_close(&lockstep);
}

/* ---- priorities ------------------------------------------------------------------------------ */

static void the_greatest_priority_is_claimed_first(void **state) {
    (void)state;
    SCRIPT("push q low priority=-1 -> ok priority=-1", "push q 1 -> ok priority=0",
           "push q high priority=5 -> ok", "push q 2 -> ok", "push q top priority=32767 -> ok",
           "push q high2 priority=5 -> ok", "push q 1 priority=9 -> ok again priority=0",
           "A claim q -> granted item=top", "A claim q -> granted item=high",
           "A claim q -> granted item=high2", "A claim q -> granted item=1",
           "A claim q -> granted item=2", "A retry q 2 -> ok", "A retry q high2 -> ok",
           "A claim q -> granted item=high2 priority=5", "A claim q -> granted item=2",
           "A claim q -> granted item=low", "A claim q -> busy");
    SCRIPT("push q 1 priority=32768 -> invalid", "push q 1 priority=-32769 -> invalid",
           "push q 1 priority=-32768 -> ok", "? item q 1 ready priority=-32768");
}

/* What is not due, or not free, is passed over, whatever its priority. */
static void a_priority_counts_among_what_can_be_claimed(void **state) {
    (void)state;
    SCRIPT("push q late priority=9 delay=100 -> ok", "push q locked priority=8 -> ok",
           "push q 1 -> ok", "push q 2 -> ok", "O try q/locked -> granted",
           "A claim q -> granted item=1", "pass 100 -> ok", "A claim q -> granted item=late",
           "O release q/locked -> ok", "A claim q -> granted item=locked",
           "A claim q -> granted item=2");
}

/* ---- failures -------------------------------------------------------------------------------- */

static void the_last_failure_is_kept_with_the_item(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok noexit error=", "A claim q attempts=4 -> granted",
           "A retry q 1 exit=-3 error=disk-full -> ok exit=-3 error=disk-full",
           "A claim q attempts=4 -> granted exit=-3 error=disk-full", "A retry q 1 -> ok",
           "? item q 1 ready exit=-3 error=disk-full", "A claim q attempts=4 ttl=50 -> granted",
           "pass 50 -> ok", "? item q 1 ready exit=-3 error=disk-full",
           "A claim q attempts=4 -> granted",
           "A retry q 1 exit=0 -> ok parked exit=0 error=", "unpark q 1 -> ok exit=0",
           "A claim q -> granted", "A retry q 1 error=again token=1 -> lost",
           "? item q 1 claimed exit=0 error=", "A retry q 1 error=again -> ok noexit error=again");
}

/* ---- results --------------------------------------------------------------------------------- */

/* A result takes the place of the value, for the time that the push has named. */
static void a_result_is_kept_for_a_time(void **state) {
    (void)state;
    SCRIPT("push q 1 value=in keep=100 -> ok", "A claim q -> granted with=in",
           "A done q 1 result=out -> ok with=out due=100", "? item q 1 done with=out attempts=1",
           "? queue q pushed=1 done=1 claimed=0 done_now=1", "B claim q -> busy",
           "B try q/1 -> granted", "pass 50 -> ok", "? item q 1 done with=out",
           "pass 50 -> ok forgotten", "? item q 1 gone", "? queue q done=1 done_now=0",
           "push q 1 -> ok created");
    /* The longer of two times counts; without one the item is gone, and with it the result. */
    SCRIPT("push q 1 keep=100 -> ok", "push q 2 keep=100 -> ok", "push q 3 -> ok",
           "A claim q -> granted", "A done q 1 keep=50 -> ok due=100 with=", "A claim q -> granted",
           "A done q 2 keep=150 result=x -> ok due=150", "A claim q -> granted",
           "A done q 3 result=x -> ok", "? item q 3 gone");
}

/* A push finds an item that is done as any other; another run makes of it a new item. */
static void a_push_finds_what_is_done(void **state) {
    (void)state;
    SCRIPT("push q 1 keep=100 value=in -> ok", "A claim q attempts=9 -> granted",
           "A done q 1 result=out -> ok", "push q 1 value=new -> ok again with=out",
           "push q 1 value=new replaces -> ok with=out", "? item q 1 done with=out",
           "push q 1 value=new again -> ok with=new", "A claim q -> granted with=new attempts=1",
           "A done q 1 result=out2 -> ok", "? item q 1 gone");
    /* What is over when it is pushed is not there, whether a step has taken it away or not. */
    SCRIPT("push q 1 keep=100 -> ok", "A claim q -> granted", "A done q 1 result=out -> ok",
           "+100000/100000 push q 1 value=new -> ok created forgotten with=new",
           "? item q 1 ready");
}

static void what_is_done_can_only_go(void **state) {
    (void)state;
    SCRIPT("push q 1 keep=100 -> ok", "A claim q -> granted keep=a",
           "A done q 1 token=$a result=x -> ok", "A done q 1 token=$a result=y -> ok",
           "? item q 1 done with=x", "A retry q 1 token=$a -> ok", "A retry q 1 -> lost",
           "unpark q 1 -> lost", "drop q 1 parked -> lost", "drop q 1 -> ok dropped",
           "? item q 1 gone");
    SCRIPT("push q 1 keep=100 -> ok", "A claim q -> granted", "A done q 1 -> ok",
           "break q/1 cancel -> ok dropped", "? item q 1 gone");
    /* The last one that is forgotten leaves an idle queue. */
    SCRIPT("push q 1 keep=100 -> ok", "push q 2 keep=100 -> ok", "A claim q -> granted",
           "A done q 1 -> ok", "A claim q -> granted", "pass 50 -> ok", "A done q 2 -> ok",
           "pass 50 -> ok forgotten", "? item q 2 done", "pass 50 -> ok forgotten",
           "? queue q pushed=2 done=2 done_now=0");
}

/* A claim that is cancelled, and one whose item is pushed again, leave no result. */
static void a_result_is_that_of_the_last_run(void **state) {
    (void)state;
    SCRIPT("push q 1 keep=100 -> ok", "A claim q -> granted", "break q/1 cancel -> ok",
           "A done q 1 result=x -> ok", "? item q 1 gone");
    SCRIPT("push q 1 keep=100 -> ok", "A claim q -> granted",
           "push q 1 again value=new keep=50 -> ok", "A done q 1 result=x -> ok with=new",
           "? item q 1 ready with=new", "A claim q -> granted", "A done q 1 result=y -> ok due=50");
}

/* What is done keeps no other item back: it is the head of no strict need any more. */
static void what_is_done_is_no_head(void **state) {
    (void)state;
    SCRIPT("push q 1 keep=100 needs=p?strict -> ok", "push q 2 needs=p?strict -> ok",
           "A claim q -> granted item=1", "B claim q -> busy", "A done q 1 result=x -> ok",
           "B claim q -> granted item=2");
}

static void times_and_sizes_of_results_are_limited(void **state) {
    static char bytes[LK_VALUE_BYTES_MAX + 1];
    struct lk_command done = {.kind = LK_COMMAND_FINISH, .times = {.now_us = 1, .wall_us = 1000}};
    struct lockstep lockstep;

    (void)state;
    SCRIPT("push q 1 keep=31622400000 -> ok", "push q 2 keep=31622400001 -> invalid",
           "A claim q -> granted", "A done q 1 keep=31622400001 -> invalid",
           "A done q 1 keep=31622400000 -> ok");
    assert_int_equal(lk_path_parse(lk_slice_of("q"), &done.finish.queue, NULL), LK_OK);
    done.finish.id = lk_slice_of("1");
    done.finish.owner = lk_slice_of("A");
    lockstep_open(&lockstep, NULL, 0, NULL);
    done.finish.result = (struct lk_slice){bytes, LK_VALUE_BYTES_MAX};
    assert_null(lockstep_step(&lockstep, &done));
    assert_int_equal(lockstep.effects->answer.outcome, LK_LOST);
    done.finish.result.size++;
    assert_null(lockstep_step(&lockstep, &done));
    assert_int_equal(lockstep.effects->answer.outcome, LK_INVALID);
    done.finish.result.size = 0;
    done.finish.kind = LK_FINISH_PROGRESS;
    done.finish.progress = (struct lk_slice){bytes, LK_FAILURE_BYTES_MAX};
    assert_null(lockstep_step(&lockstep, &done));
    assert_int_equal(lockstep.effects->answer.outcome, LK_LOST);
    done.finish.progress.size++;
    assert_null(lockstep_step(&lockstep, &done));
    assert_int_equal(lockstep.effects->answer.outcome, LK_INVALID);
    lockstep_close(&lockstep);
}

/* ---- progress -------------------------------------------------------------------------------- */

static void a_progress_is_that_of_the_last_claim(void **state) {
    (void)state;
    SCRIPT("push q 1 keep=100 -> ok progress=", "A progress q 1 text=early -> lost",
           "A claim q ttl=100 -> granted keep=a", "A progress q 1 text=half -> ok progress=half",
           "? item q 1 claimed progress=half", "A progress q 1 token=1 text=x -> lost",
           "B progress q 1 text=x -> lost", "A progress q 1 token=$a text=most -> ok",
           "A retry q 1 token=$a -> ok", "? item q 1 ready progress=most",
           "A progress q 1 token=$a text=x -> lost",
           "A claim q -> granted progress=", "A progress q 1 text=x -> ok",
           "A progress q 1 -> ok progress=", "A progress q 1 text=x -> ok", "A done q 1 -> ok",
           "? item q 1 done progress=");
}

/* ---- dropping -------------------------------------------------------------------------------- */

static void an_unclaimed_item_can_be_dropped(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "push q 2 delay=50 -> ok", "push q 3 -> ok",
           "drop q 1 -> ok item=1 dropped", "drop q 2 -> ok", "drop q 1 -> lost",
           "drop q a/b -> invalid", "drop u 1 -> lost", "A claim q attempts=1 -> granted item=3",
           "drop q 3 -> lost", "drop q 3 parked -> lost", "A retry q 3 -> ok parked",
           "? queue q pushed=3 ready=0 delayed=0 claimed=0 parked_now=1", "drop q 3 parked -> ok",
           "? item q 3 gone", "? queue q pushed=3 done=0 parked=1 parked_now=0",
           "push q 1 -> ok created", "drop q 1 parked -> lost", "? item q 1 ready");
}

/* ---- several in one decision ----------------------------------------------------------------- */

static void claims_of_one_decision_share_a_token(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "push q 2 -> ok", "push q 3 -> ok",
           "A claim q ask=256 -> granted item=1 keep=a",
           "A claim q ask=257 share=$a -> granted item=2 token=$a created",
           "A claim q ask=258 share=$a -> granted item=3 token=$a",
           "A claim q ask=259 share=$a -> busy",
           "A claim q ask=257 share=$a -> granted again item=2 token=$a",
           "A done q 2 token=$a -> ok", "? item q 3 claimed token=$a", "A done q 2 token=$a -> ok",
           "A done q 1 token=$a -> ok", "B try q -> busy for=A", "A retry q 3 token=$a -> ok");
}

/* R4: not where the token would not be greater than all that were drawn before. */
static void a_token_that_is_overtaken_is_not_shared(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "push q 2 needs=p?limit=2 -> ok", "push q 3 -> ok",
           "A claim q -> granted keep=a", "O try p?limit=2 -> granted token>$a",
           "A claim q share=$a -> busy", "? item q 2 ready", "O release p -> ok",
           "A claim q share=$a -> busy", "A claim q -> granted item=2 token>$a keep=b",
           "A claim q share=$a -> busy", "A claim q share=$b -> granted item=3 token=$b");
}

/* The size of the text of a failure is bounded. */
static void the_size_of_failures_is_limited(void **state) {
    static char bytes[LK_FAILURE_BYTES_MAX + 1];
    struct lk_command push = {.kind = LK_COMMAND_PUSH, .times = {.now_us = 1, .wall_us = 1000}};
    struct lk_command take = {.kind = LK_COMMAND_TAKE, .times = {.now_us = 2, .wall_us = 2000}};
    struct lk_command retry = {.kind = LK_COMMAND_FINISH, .times = {.now_us = 3, .wall_us = 3000}};
    struct lk_path queue;
    struct lockstep lockstep;

    (void)state;
    assert_int_equal(lk_path_parse(lk_slice_of("q"), &queue, NULL), LK_OK);
    push.push = (struct lk_push){.queue = queue, .id = lk_slice_of("1")};
    take.take = (struct lk_take){.queue = queue, .owner = lk_slice_of("A")};
    retry.finish = (struct lk_finish){.queue = queue,
                                      .id = lk_slice_of("1"),
                                      .owner = lk_slice_of("A"),
                                      .kind = LK_FINISH_RETRY,
                                      .failure.text = {bytes, sizeof bytes}};
    lockstep_open(&lockstep, NULL, 0, NULL);
    assert_null(lockstep_step(&lockstep, &push));
    assert_null(lockstep_step(&lockstep, &take));
    assert_null(lockstep_step(&lockstep, &retry));
    assert_int_equal(lockstep.effects->answer.outcome, LK_INVALID);
    retry.finish.failure.text.size--;
    assert_null(lockstep_step(&lockstep, &retry));
    assert_int_equal(lockstep.effects->answer.outcome, LK_OK);
    assert_int_equal(lk_model_kept_bytes(lockstep.model),
                     LK_KEPT_COST_BYTES + LK_FAILURE_BYTES_MAX);
    lockstep_close(&lockstep);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_item_is_added_once),
        cmocka_unit_test(an_id_is_one_segment),
        cmocka_unit_test(an_item_is_claimable_after_its_delay),
        cmocka_unit_test(the_oldest_due_item_is_claimed_first),
        cmocka_unit_test(a_claim_is_an_exclusive_lease),
        cmocka_unit_test(a_claim_of_an_empty_queue_is_busy),
        cmocka_unit_test(a_lock_on_the_queue_pauses_it),
        cmocka_unit_test(a_locked_item_is_skipped),
        cmocka_unit_test(r3_does_not_apply_to_claims),
        cmocka_unit_test(r8_does_not_apply_to_claims),
        cmocka_unit_test(an_ask_number_gives_the_same_item),
        cmocka_unit_test(a_claim_is_renewed_by_its_path),
        cmocka_unit_test(only_the_claimant_can_end_a_claim),
        cmocka_unit_test(a_repeated_end_with_its_token_succeeds),
        cmocka_unit_test(a_retried_item_keeps_its_age),
        cmocka_unit_test(an_item_is_claimable_when_its_claim_expires),
        cmocka_unit_test(the_end_of_a_claim_admits_waiters),
        cmocka_unit_test(an_item_is_parked_after_too_many_attempts),
        cmocka_unit_test(an_uncounted_retry_gives_the_attempt_back),
        cmocka_unit_test(only_a_parked_item_can_be_unparked),
        cmocka_unit_test(a_broken_claim),
        cmocka_unit_test(needs_are_locked_with_the_item),
        cmocka_unit_test(needs_are_checked_at_the_push),
        cmocka_unit_test(a_strict_need_keeps_the_order),
        cmocka_unit_test(a_strict_need_is_of_its_queue),
        cmocka_unit_test(a_replaced_item_is_no_head),
        cmocka_unit_test(a_strict_need_is_exclusive),
        cmocka_unit_test(a_claim_never_closes_a_cycle),
        cmocka_unit_test(a_claim_is_a_request_among_others),
        cmocka_unit_test(a_claim_has_bounds),
        cmocka_unit_test(the_size_of_values_is_limited),
        cmocka_unit_test(the_greatest_priority_is_claimed_first),
        cmocka_unit_test(a_priority_counts_among_what_can_be_claimed),
        cmocka_unit_test(the_last_failure_is_kept_with_the_item),
        cmocka_unit_test(a_result_is_kept_for_a_time),
        cmocka_unit_test(a_push_finds_what_is_done),
        cmocka_unit_test(what_is_done_can_only_go),
        cmocka_unit_test(a_result_is_that_of_the_last_run),
        cmocka_unit_test(what_is_done_is_no_head),
        cmocka_unit_test(times_and_sizes_of_results_are_limited),
        cmocka_unit_test(a_progress_is_that_of_the_last_claim),
        cmocka_unit_test(an_unclaimed_item_can_be_dropped),
        cmocka_unit_test(claims_of_one_decision_share_a_token),
        cmocka_unit_test(a_token_that_is_overtaken_is_not_shared),
        cmocka_unit_test(the_size_of_failures_is_limited),
    };

    return cmocka_run_group_tests_name("work", tests, NULL, NULL);
}
