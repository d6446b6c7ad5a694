/* SPDX-License-Identifier: Apache-2.0 */
/* The worked examples of docs/rules.md as scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "script.h"

static void tests_and_a_reset(void **state) {
    (void)state;
    SCRIPT("A queue db/t1 -> granted", "B queue db/t2 -> granted", "R queue db -> waiting for=A,B",
           "C queue db/t3 -> waiting for=R", "A release db/t1 -> ok", "? R db waiting",
           "R queue db -> waiting for=B", "B release db/t2 -> ok", "? R db held",
           "? C db/t3 waiting", "R release db -> ok", "? C db/t3 held", "? live 1");
}

static void a_dead_head(void **state) {
    (void)state;
    SCRIPT("A queue x ttl=200 -> granted keep=a", "B queue x -> waiting for=A", "pass 250 -> ok",
           "? B x held", "A renew x -> lost", "A renew x token=$a -> lost", "A release x -> lost",
           "A release x token=$a -> lost", "? B x held token>$a");
}

static void a_dead_waiter(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted", "B queue x ttl=200 -> waiting for=A",
           "C queue x -> waiting for=A,B", "pass 250 -> ok", "? B x gone",
           "C queue x -> waiting for=A", "A release x -> ok", "? C x held");
}

static void limits_that_move(void **state) {
    (void)state;
    SCRIPT("A queue p?limit=3 -> granted in_use=1", "B queue p?limit=3 -> granted in_use=2",
           "C queue p?limit=3 -> granted in_use=3", "D try p?limit=3 -> busy for=A,B,C in_use=3",
           "D try p?limit=6 -> granted in_use=4", "E try p?limit=3 -> busy", "A release p -> ok",
           "E try p?limit=3 -> busy in_use=3", "B release p -> ok",
           "E try p?limit=3 -> granted in_use=3", "? live 3");
}

static void ten_holders_and_a_limit_of_five(void **state) {
    (void)state;
    SCRIPT("A queue p?limit=10 -> granted", "B queue p?limit=10 -> granted",
           "C queue p?limit=10 -> granted", "D queue p?limit=10 -> granted",
           "E queue p?limit=10 -> granted", "F queue p?limit=10 -> granted",
           "G queue p?limit=10 -> granted", "H queue p?limit=10 -> granted",
           "I queue p?limit=10 -> granted", "J queue p?limit=10 -> granted in_use=10",
           "K try p?limit=5 -> busy", "A release p -> ok", "B release p -> ok", "C release p -> ok",
           "D release p -> ok", "E release p -> ok", "K try p?limit=5 -> busy in_use=5",
           "F release p -> ok", "K try p?limit=5 -> granted in_use=5");
}

static void readers_and_a_writer(void **state) {
    (void)state;
    SCRIPT("A queue t?shared -> granted", "B queue t?shared -> granted",
           "W queue t -> waiting for=A,B", "C queue t?shared -> waiting for=W", "A release t -> ok",
           "? W t waiting", "B release t -> ok", "? W t held", "? C t waiting", "W release t -> ok",
           "? C t held");
}

static void a_reader_of_a_tree(void **state) {
    (void)state;
    SCRIPT("A queue db?shared -> granted", "B queue db/t1 -> waiting for=A",
           "C queue db/t1?shared -> waiting for=B", "D try db/t2?shared -> granted");
}

static void reentrance(void **state) {
    (void)state;
    SCRIPT("A queue db -> granted", "B queue db/t1 -> waiting for=A",
           "A queue db/t1 -> granted created", "A release db -> ok", "? B db/t1 waiting",
           "B queue db/t1 -> waiting for=A", "A release db/t1 -> ok", "? B db/t1 held");
}

static void two_converters(void **state) {
    (void)state;
    SCRIPT("A queue t?shared -> granted keep=a", "B queue t?shared -> granted keep=b",
           "A queue t -> busy for=B", "? A t held token=$a", "B queue t -> busy for=A",
           "B release t -> ok", "A queue t -> granted again token>$a",
           "A queue t -> granted token>$b", "C try t?shared -> busy for=A");
}

static void a_deadlock(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted", "B queue y -> granted", "A queue y -> waiting for=B",
           "B queue x -> deadlock cycle=B,A", "? B x gone", "? A y waiting", "B release y -> ok",
           "? A y held");
}

static void all_or_nothing(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted", "B queue x y -> waiting for=A", "C try y -> busy for=B",
           "A release x -> ok", "? B x y held", "? B y x held", "C try y -> busy for=B");
}

static void the_same_ask_twice(void **state) {
    (void)state;
    SCRIPT("A queue x ttl=1000 -> granted created keep=a left=1000", "? A x held left=1000",
           "A queue x ttl=2000 -> granted again token=$a left=2000", "? live 1");
}

static void weighted(void **state) {
    (void)state;
    SCRIPT("A queue p?limit=10&units=6 -> granted in_use=6",
           "B try p?limit=10&units=5 -> busy for=A",
           "B try p?limit=10&units=4 -> granted in_use=10");
}

static void a_paused_queue(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok created", "push q 2 -> ok created", "A claim q -> granted item=1",
           "O queue q -> waiting for=A", "B claim q -> busy", "A done q 1 -> ok item=1",
           "? O q held", "B claim q -> busy", "O release q -> ok", "B claim q -> granted item=2",
           "? queue q pushed=2 claims=2 done=1 claimed=1 ready=0");
}

static void a_stolen_claim(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "A claim q ttl=200 -> granted item=1 attempts=1 keep=a",
           "pass 250 -> ok", "? item q 1 ready", "B claim q -> granted item=1 attempts=2 stolen",
           "? queue q steals=1 claims=2", "A done q 1 -> lost", "A done q 1 token=$a -> lost",
           "B done q 1 -> ok", "? item q 1 gone", "? queue q ready=0 claimed=0 done=1", "? live 0");
}

static void a_wide_limit_is_no_deadlock(void **state) {
    (void)state;
    SCRIPT("B queue pool?limit=2 -> granted", "C queue pool?limit=2 -> granted",
           "A queue x -> granted", "A queue pool?limit=2 -> waiting for=B,C",
           "B queue x -> waiting for=A", "C release pool -> ok", "? A pool held", "? A x held");
    SCRIPT("B queue pool?limit=1 -> granted", "A queue x -> granted",
           "A queue pool?limit=1 -> waiting for=B", "B queue x -> deadlock cycle=B,A");
}

static void a_raised_limit_keeps_its_place(void **state) {
    (void)state;
    SCRIPT("A queue p?limit=3 -> granted", "B queue p?limit=3 -> granted",
           "C queue p?limit=3 -> granted", "D queue p?limit=3 -> waiting for=A,B,C",
           "E queue p?limit=3 -> waiting for=A,B,C,D", "E queue p?limit=4 -> waiting for=A,B,C,D",
           "D queue p?limit=6 -> granted", "? E p waiting",
           "E queue p?limit=6 -> granted in_use=5");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tests_and_a_reset),
        cmocka_unit_test(a_dead_head),
        cmocka_unit_test(a_dead_waiter),
        cmocka_unit_test(limits_that_move),
        cmocka_unit_test(ten_holders_and_a_limit_of_five),
        cmocka_unit_test(readers_and_a_writer),
        cmocka_unit_test(a_reader_of_a_tree),
        cmocka_unit_test(reentrance),
        cmocka_unit_test(two_converters),
        cmocka_unit_test(a_deadlock),
        cmocka_unit_test(all_or_nothing),
        cmocka_unit_test(the_same_ask_twice),
        cmocka_unit_test(weighted),
        cmocka_unit_test(a_paused_queue),
        cmocka_unit_test(a_stolen_claim),
        cmocka_unit_test(a_wide_limit_is_no_deadlock),
        cmocka_unit_test(a_raised_limit_keeps_its_place),
    };

    return cmocka_run_group_tests_name("worked examples", tests, NULL, NULL);
}
