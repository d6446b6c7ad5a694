/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts: the worked examples of docs/rules.md, and R15 sentence by sentence. */
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

/* ---- values (R15) ---------------------------------------------------------------------------- */

static void a_grant_returns_the_value(void **state) {
    (void)state;
    SCRIPT("put x value=one -> ok", "? value x one sure",
           "A queue x get=yes -> granted value=one sure", "B queue x get=yes -> waiting novalue",
           "B try x get=yes -> busy novalue", "A put x value=two -> ok", "A release x -> ok",
           "B queue x get=yes -> granted again value=two", "B queue x -> granted again novalue",
           "C queue y get=yes -> granted novalue", "D queue z?shared -> granted",
           "D queue z get=yes -> granted novalue");
}

static void the_value_is_that_of_the_first_part(void **state) {
    (void)state;
    SCRIPT("put x value=of-x -> ok", "put y value=of-y -> ok",
           "A queue y x get=yes -> granted value=of-y", "A release x y put=new -> ok",
           "? value x new sure", "? value y of-y sure");
}

static void a_batch_returns_the_values_of_all_its_parts(void **state) {
    (void)state;
    SCRIPT("put x value=of-x -> ok", "put z value=of-z -> ok",
           "A queue z y x?shared get=yes -> granted values=of-z,-,of-x",
           "A queue x?shared y z get=yes -> granted again values=of-x,-,of-z",
           "A queue x?shared y z -> granted again values=", "B queue y get=yes -> waiting values=",
           "A release x y z -> ok", "B queue y get=yes -> granted values=-");
}

static void a_release_puts_the_values_of_several_parts(void **state) {
    (void)state;
    SCRIPT("A queue x y z -> granted", "A release x y z put=one put=two put=three -> ok",
           "? value x one sure", "? value y two sure", "? value z three sure",
           "A queue x y z get=yes -> granted values=one,two,three",
           "A release z x y put=new put-nothing= put=other -> ok", "? value x one sure",
           "? value y other sure", "? value z new sure");
    /* All or none. */
    SCRIPT("A queue x y?shared z -> granted", "A release x y z put=no put=no -> lost",
           "A release z y put=no -> lost", "? value x none", "? value y none",
           "A release x y z put=one put-nothing= put=three -> ok", "? value x one sure",
           "? value y none", "? value z three sure");
    SCRIPT("A queue x y -> granted", "A release x y put=one put=two put=three -> invalid",
           "? A x y held", "? value x none");
}

static void a_dead_batch_leaves_what_it_could_write_in_doubt(void **state) {
    (void)state;
    SCRIPT("put x value=of-x -> ok", "put y value=of-y -> ok", "put z value=of-z -> ok",
           "A queue x y?shared z get=yes ttl=100 -> granted", "pass 100 -> ok",
           "? value x of-x doubted", "? value y of-y sure", "? value z of-z doubted",
           "B queue y z x get=yes -> granted values=of-y,of-z!,of-x!",
           "B release x y z put=new put-nothing= put-nothing= -> ok",
           "C queue x y z get=yes -> granted values=new,of-y,of-z!");
    SCRIPT("put x value=of-x -> ok", "put y value=of-y -> ok", "A queue x y get=yes -> granted",
           "break y now -> ok broken=1", "? value x of-x doubted", "? value y of-y doubted");
}

static void a_release_can_put_a_value(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted", "B queue x get=yes -> waiting", "A release x put=one -> ok",
           "? B x held", "B queue x get=yes -> granted value=one sure", "B release x put= -> ok",
           "A queue x get=yes -> granted value= sure");
}

static void only_an_exclusive_lease_can_put(void **state) {
    (void)state;
    SCRIPT("A queue x?shared -> granted", "A release x put=no -> lost", "? A x held",
           "? value x none", "A release x -> ok", "A release x put=no -> lost");
    SCRIPT("A queue x y?shared -> granted", "A release y x put=no -> lost", "? A x y held",
           "? value y none", "A release x y put=yes -> ok", "? value x yes sure");
    SCRIPT("A queue x?limit=2 -> granted", "A release x put=no -> lost", "? value x none");
}

static void only_a_held_lease_can_put(void **state) {
    (void)state;
    SCRIPT("A queue x ttl=100 -> granted keep=a", "B queue x -> waiting",
           "B release x put=no -> lost", "? B x waiting", "pass 100 -> ok", "? B x held keep=b",
           "A release x put=no -> lost", "A release x token=$a put=no -> lost",
           "B release x token=$a put=no -> lost", "? B x held", "? value x none",
           "B release x token=$b put=yes -> ok", "? value x yes sure");
}

static void a_revoked_lease_can_put_until_its_deadline(void **state) {
    (void)state;
    SCRIPT("A queue x ttl=100 -> granted", "break x -> ok broken=1", "A put x value=one -> ok",
           "B put x value=no -> busy", "A release x put=two -> ok", "? value x two sure");
}

static void a_repeated_release_does_not_put_again(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted keep=a", "A release x token=$a put=one -> ok",
           "put x value=two -> ok", "A release x token=$a put=one -> ok", "? value x two sure",
           "pass 300000 -> ok", "A release x token=$a put=one -> lost");
}

static void a_value_outlives_leases(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted", "A release x put=one -> ok", "pass 100000000 -> ok", "? live 0",
           "? value x one sure", "del x -> ok", "? value x none", "del x -> ok");
}

static void an_expired_lease_leaves_the_value_in_doubt(void **state) {
    (void)state;
    SCRIPT("put x value=one -> ok", "A queue x get=yes ttl=100 -> granted sure", "pass 100 -> ok",
           "? value x one doubted", "B queue x get=yes -> granted value=one doubted",
           "B release x -> ok", "? value x one doubted", "B queue x -> granted",
           "B release x put=two -> ok", "? value x two sure");
    SCRIPT("put x value=one -> ok", "A queue x get=yes ttl=100 -> granted", "pass 100 -> ok",
           "put x value=one -> ok", "? value x one sure");
    SCRIPT("put x value=one -> ok", "A queue x get=yes ttl=100 -> granted", "pass 100 -> ok",
           "del x -> ok", "? value x none", "put x value=one -> ok", "? value x one sure");
}

static void a_broken_lease_leaves_the_value_in_doubt(void **state) {
    (void)state;
    SCRIPT("put x value=one -> ok", "A queue x get=yes -> granted", "break x now -> ok broken=1",
           "? value x one doubted");
    SCRIPT("put x value=one -> ok", "A queue x get=yes ttl=100 -> granted",
           "break x -> ok broken=1", "? value x one sure", "pass 100 -> ok",
           "? value x one doubted");
}

static void other_requests_leave_no_doubt(void **state) {
    (void)state;
    SCRIPT("put x value=one -> ok", "A queue x ttl=100 -> granted", "pass 100 -> ok",
           "? value x one sure", "A queue x?shared get=yes ttl=100 -> granted value=one",
           "pass 100 -> ok", "? value x one sure", "A queue x -> granted",
           "B queue x get=yes ttl=100 -> waiting", "pass 100 -> ok", "? B x gone",
           "? value x one sure", "A queue x get=yes -> granted", "A release x -> ok",
           "? value x one sure", "A queue x/y get=yes ttl=100 -> granted novalue", "pass 100 -> ok",
           "? value x one sure", "? value x/y none");
    /* A value that was not there cannot be half done. */
    SCRIPT("A queue x get=yes ttl=100 -> granted novalue", "pass 100 -> ok", "? value x none");
}

static void a_request_for_the_value_is_kept(void **state) {
    (void)state;
    SCRIPT("put x value=one -> ok", "A queue x get=yes ttl=100 -> granted value=one",
           "A queue x ttl=100 -> granted again novalue", "pass 100 -> ok", "? value x one doubted");
    SCRIPT("put x value=one -> ok", "A queue x -> granted", "A queue x get=yes ttl=100 -> granted",
           "pass 100 -> ok", "? value x one doubted");
}

static void a_lease_refuses_puts_of_other_owners(void **state) {
    (void)state;
    SCRIPT("A queue db/t -> granted", "put db/t value=no -> busy", "B put db/t value=no -> busy",
           "B del db/t -> busy", "put db/t/below value=no -> busy", "put db value=yes -> ok",
           "put db/u value=yes -> ok", "A put db/t value=yes -> ok",
           "A put db/t/below value=yes -> ok", "del db/t/below -> busy", "A del db/t/below -> ok",
           "A release db/t -> ok", "put db/t value=nobodys -> ok", "? value db/t nobodys sure");
    SCRIPT("A queue x?shared -> granted", "put x value=one -> ok", "B queue x -> waiting",
           "put x value=two -> ok", "? value x two sure");
}

static void a_put_checks_its_token(void **state) {
    (void)state;
    SCRIPT("A queue db ttl=100 -> granted keep=a", "A put db/t token=$a value=one -> ok",
           "A put db token=1 value=no -> lost", "A put other token=$a value=no -> lost",
           "B put db token=$a value=no -> lost", "put db token=$a value=no -> invalid",
           "pass 100 -> ok", "A put db/t token=$a value=no -> lost", "A del db/t token=$a -> lost",
           "? value db/t one sure", "A put db/t value=two -> ok");
    SCRIPT("A queue x?shared -> granted keep=a", "A put x token=$a value=no -> lost",
           "? value x none");
}

static void a_claim_is_a_lock_on_its_item(void **state) {
    (void)state;
    SCRIPT("push q 1 -> ok", "A claim q -> granted keep=a", "put q/1 value=no -> busy",
           "A put q/1/result token=$a value=half -> ok", "A done q 1 -> ok",
           "? value q/1/result half sure", "put q/1 value=yes -> ok");
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
        cmocka_unit_test(a_grant_returns_the_value),
        cmocka_unit_test(the_value_is_that_of_the_first_part),
        cmocka_unit_test(a_batch_returns_the_values_of_all_its_parts),
        cmocka_unit_test(a_release_puts_the_values_of_several_parts),
        cmocka_unit_test(a_dead_batch_leaves_what_it_could_write_in_doubt),
        cmocka_unit_test(a_release_can_put_a_value),
        cmocka_unit_test(only_an_exclusive_lease_can_put),
        cmocka_unit_test(only_a_held_lease_can_put),
        cmocka_unit_test(a_revoked_lease_can_put_until_its_deadline),
        cmocka_unit_test(a_repeated_release_does_not_put_again),
        cmocka_unit_test(a_value_outlives_leases),
        cmocka_unit_test(an_expired_lease_leaves_the_value_in_doubt),
        cmocka_unit_test(a_broken_lease_leaves_the_value_in_doubt),
        cmocka_unit_test(other_requests_leave_no_doubt),
        cmocka_unit_test(a_request_for_the_value_is_kept),
        cmocka_unit_test(a_lease_refuses_puts_of_other_owners),
        cmocka_unit_test(a_put_checks_its_token),
        cmocka_unit_test(a_claim_is_a_lock_on_its_item),
    };

    return cmocka_run_group_tests_name("worked examples", tests, NULL, NULL);
}
