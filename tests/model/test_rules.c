/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts for rules that the worked examples do not reach, and for what once went wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "script.h"

/* ---- R3 -------------------------------------------------------------------------------------- */

static void r3_the_order_of_paths_does_not_matter(void **state) {
    (void)state;
    SCRIPT("A queue x y -> granted created keep=a", "A queue y x -> granted again token=$a",
           "? live 1", "A renew y x -> ok", "A release y x -> ok", "? live 0");
}

static void r3_other_paths_are_another_request(void **state) {
    (void)state;
    SCRIPT("A queue x y -> granted", "A queue x -> granted created",
           "A queue x y z -> granted created", "? live 3");
}

static void r3_a_repeated_release_is_answered_as_the_first_time(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted keep=a", "A release x token=$a -> ok",
           "A release x token=$a -> ok", "A release x -> lost", "B release x token=$a -> lost",
           "A release y token=$a -> lost", "A queue x -> granted keep=b",
           "A release x token=$a -> ok", "? A x held token=$b");
}

static void r3_ended_tokens_are_remembered_for_five_minutes(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted keep=a", "A release x token=$a -> ok", "pass 299990 -> ok",
           "A release x token=$a -> ok", "pass 7 -> ok", "A release x token=$a -> ok",
           "A release x token=$a -> lost");
}

static void r3_only_a_named_token_is_remembered(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted keep=a", "A release x -> ok", "A release x token=$a -> lost");
}

/* ---- R4 -------------------------------------------------------------------------------------- */

static void r4_an_immediate_grant_uses_its_ticket(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted keep=a", "B queue x -> waiting", "A release x -> ok",
           "? B x held token>$a");
}

static void r4_numbers_rise_when_the_wall_clock_falls_back(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted keep=a", "+1000/-3600000000 A release x -> ok",
           "B queue x -> granted token>$a keep=b", "B release x -> ok", "pass 1 -> ok",
           "C queue x -> granted token>$b", "C release x -> ok", "pass 1 -> ok",
           "D queue x y -> granted token>$b");
}

/* ---- R7, R8 ---------------------------------------------------------------------------------- */

static void r7_no_request_overtakes_by_a_part_of_a_batch(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted", "B queue x y -> waiting for=A", "C queue y -> waiting for=B",
           "D queue y?shared -> waiting for=B,C", "B release x y -> ok", "? C y held",
           "? D y waiting");
}

static void r7_each_request_is_checked_against_its_own_limit(void **state) {
    (void)state;
    SCRIPT("A queue p?limit=2 -> granted", "B queue p?shared -> granted in_use=2",
           "C queue p?limit=2 -> waiting for=A,B", "D queue p?limit=9 -> granted in_use=3",
           "A release p -> ok", "? C p waiting", "D release p -> ok", "? C p held");
}

static void r7_an_exclusive_part_counts_no_unit(void **state) {
    (void)state;
    /* More units than 32 bits hold: a conversion that is no stronger checks no limit (R9). */
    SCRIPT("A queue p -> granted", "A queue p q1 -> granted", "A queue p q2 -> granted",
           "A queue p?limit=2147483647&units=2147483647 -> granted",
           "A queue p?limit=2147483647&units=2147483647 q1 -> granted",
           "A queue p?limit=2147483647&units=2147483647 q2 -> granted in_use=6442450941",
           "B try p?limit=2147483647 -> busy");
    SCRIPT("A queue p -> granted in_use=0", "A queue p q?limit=1 -> granted",
           "A queue p?limit=1 q -> granted again in_use=1");
}

static void r8_a_covered_request_is_checked_against_its_limit(void **state) {
    (void)state;
    SCRIPT("A queue r -> granted", "A queue r/p?limit=1 -> granted",
           "A queue r/p?limit=1 r/q -> deadlock cycle=A", "A try r/p?limit=1 r/q -> busy for=A",
           "A queue r/p?limit=2 r/q -> granted");
}

static void r8_covered_requests_pass_all_waiters_once_a_limit_has_room(void **state) {
    (void)state;
    SCRIPT("A queue r -> granted", "B queue r -> waiting for=A", "A queue r/p?limit=1 -> granted",
           "B queue r/p?limit=1 -> waiting", "A queue r/p?limit=2 r/q -> waiting for=A,B",
           "A release r/p -> ok", "? A r/p r/q held", "? B r/p waiting");
}

static void r8_a_shared_lease_covers_only_shared_requests(void **state) {
    (void)state;
    SCRIPT("A queue r?shared -> granted", "W queue r -> waiting for=A",
           "A queue r/a?shared -> granted created", "A try r/b -> busy for=W",
           "A try r/p?limit=3 -> busy for=W");
}

/* ---- R9 -------------------------------------------------------------------------------------- */

static void r9_a_downgrade_admits_waiters_at_once(void **state) {
    (void)state;
    SCRIPT("A queue t -> granted keep=a", "B queue t?shared -> waiting for=A",
           "A queue t?shared -> granted again token=$a", "? B t held");
}

static void r9_a_conversion_passes_waiters(void **state) {
    (void)state;
    SCRIPT("A queue t?shared -> granted keep=a", "W queue t -> waiting for=A",
           "A queue t -> granted token>$a", "? W t waiting", "A release t -> ok", "? W t held");
}

static void r9_a_refused_conversion_refreshes(void **state) {
    (void)state;
    SCRIPT("A queue t?shared ttl=500 -> granted keep=a", "B queue t?shared -> granted",
           "A try t ttl=900 -> busy for=B", "? A t held token=$a left=900",
           "A queue p?limit=3 -> granted keep=b", "B queue p?limit=3&units=2 -> granted",
           "A wait p?limit=3&units=2 -> busy for=B", "? A p held token=$b",
           "A queue p?limit=4&units=2 -> granted in_use=4 token>$b");
}

static void r9_a_stronger_waiter_goes_to_the_end(void **state) {
    (void)state;
    SCRIPT("H queue t -> granted", "A queue t?shared -> waiting for=H",
           "B queue t?shared -> waiting for=H", "A queue t -> waiting again for=H,B",
           "H release t -> ok", "? B t held", "? A t waiting");
}

static void r9_a_weaker_waiter_keeps_its_position(void **state) {
    (void)state;
    SCRIPT("H queue t?shared -> granted", "A queue t -> waiting for=H",
           "B queue t?shared -> waiting for=A", "A queue t?shared -> granted again", "? B t held");
}

static void r9_a_refused_try_for_more_keeps_the_position_of_the_waiter(void **state) {
    (void)state;
    SCRIPT("H queue t -> granted", "A queue t?shared -> waiting", "B queue t -> waiting for=H,A",
           "A try t -> busy again", "B queue t -> waiting for=H,A", "H release t -> ok",
           "? A t held", "? B t waiting");
}

/* ---- R10 ------------------------------------------------------------------------------------- */

static void r10_a_refused_try_keeps_only_an_earlier_request(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted", "B try x -> busy for=A", "? B x gone",
           "B queue x -> waiting created", "B try x ttl=700 -> busy again",
           "? B x waiting left=700", "A release x -> ok", "? B x held");
}

static void r10_a_grant_to_a_blocked_wait_sets_its_deadline(void **state) {
    (void)state;
    SCRIPT("A queue x ttl=1000 -> granted", "B wait x ttl=5000 -> waiting", "pass 999 -> ok",
           "? B x held left=5000", "C queue x ttl=6000 -> waiting", "B release x -> ok",
           "? C x held left=5999");
}

/* ---- R11 ------------------------------------------------------------------------------------- */

static void r11_a_fixed_end_does_not_move(void **state) {
    (void)state;
    SCRIPT("A queue x until=500 -> granted left=500", "A renew x ttl=9000 -> ok",
           "? A x held left=499", "A queue x ttl=9000 note=seen -> granted left=498 note=seen",
           "pass 498 -> ok", "? A x gone", "A renew x -> lost");
}

static void r11_a_ttl_becomes_a_fixed_end(void **state) {
    (void)state;
    SCRIPT("A queue x ttl=200 -> granted", "A queue x until=900 -> granted again left=900",
           "A renew x -> ok", "? A x held left=899");
}

static void r11_bounds_of_ttl_and_until(void **state) {
    (void)state;
    SCRIPT("A queue x ttl=49 -> invalid", "A queue x ttl=50 -> granted left=50",
           "B queue y ttl=31622400000 -> granted", "B queue y ttl=31622400001 -> invalid",
           "C queue z until=31622400000 -> granted", "D queue w until=31622400001 -> invalid",
           "B renew y ttl=49 -> invalid", "B renew y ttl=50 -> ok", "? B y held left=50");
}

static void r11_a_renewal_at_the_deadline_is_too_late(void **state) {
    (void)state;
    SCRIPT("A queue x ttl=100 -> granted", "pass 98 -> ok", "? A x held left=2",
           "A renew x ttl=100 -> ok", "pass 99 -> ok", "A renew x -> lost");
}

static void r11_deadlines_take_effect_in_their_order(void **state) {
    (void)state;
    SCRIPT("A queue x ttl=100 -> granted", "B wait x ttl=200 -> waiting",
           "C queue x ttl=5000 -> waiting", "pass 1000 -> ok", "? A x gone", "? B x gone",
           "? C x held");
}

static void r11_nothing_revives_a_lease_at_its_deadline(void **state) {
    (void)state;
    SCRIPT("A queue x ttl=100 -> granted", "+0/0 B wait x ttl=100 -> waiting", "pass 150 -> ok",
           "? B x gone", "? live 0");
}

static void r11_an_ask_without_ttl_means_a_minute(void **state) {
    (void)state;
    SCRIPT("A queue x ttl=100 -> granted", "A queue x -> granted left=60000",
           "A renew x ttl=300 -> ok", "A renew x -> ok left=300");
}

static void r11_a_waiting_request_is_not_renewed(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted", "B queue x ttl=500 -> waiting", "B renew x ttl=900 -> lost",
           "? B x waiting left=499");
}

/* ---- R12 ------------------------------------------------------------------------------------- */

static void r12_a_token_that_is_named_must_match(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted keep=a", "A renew x token=1 -> lost",
           "A release x token=1 -> lost", "A renew x token=$a -> ok", "B queue x -> waiting",
           "B release x token=$a -> lost", "? B x waiting", "B release x -> ok",
           "A release x token=$a -> ok", "? live 0");
}

static void r12_break_withdraws_and_revokes(void **state) {
    (void)state;
    SCRIPT("A queue x ttl=5000 -> granted keep=a", "B queue x -> waiting", "C queue x/y -> waiting",
           "break x -> ok broken=2", "? A x held revoked token=$a", "? B x gone", "? C x/y waiting",
           "A renew x -> lost", "A queue x -> lost", "? A x held left=4995",
           "break x -> ok broken=0", "A release x -> ok", "? C x/y held");
}

static void r12_a_revoked_lease_is_passed_on_at_its_deadline(void **state) {
    (void)state;
    SCRIPT("A queue x ttl=100 -> granted", "B queue x/y -> waiting",
           "break x owner=A -> ok broken=1", "pass 100 -> ok", "? A x gone", "? B x/y held");
}

static void r12_break_now_passes_the_lease_on_at_once(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted", "B queue x -> waiting", "break x owner=A now -> ok broken=1",
           "? B x held", "break x -> ok broken=1", "break x now -> ok broken=1", "? live 0",
           "break x -> ok broken=0");
}

static void r12_a_revoked_lease_covers_no_new_request(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted", "B queue x/y -> waiting", "break x owner=A -> ok broken=1",
           "A try x/y -> busy for=B");
}

/* ---- R13 ------------------------------------------------------------------------------------- */

static void r13_a_cycle_of_three(void **state) {
    (void)state;
    SCRIPT("A queue x -> granted", "B queue y -> granted", "C queue z -> granted",
           "A queue y -> waiting", "B queue z -> waiting", "C try x -> busy",
           "C queue x -> deadlock cycle=C,A,B", "? C x gone", "? C z held");
}

static void r13_a_cycle_through_a_waiter_ahead(void **state) {
    (void)state;
    SCRIPT("H queue x -> granted", "A queue x -> waiting", "B queue y -> granted",
           "B queue x?shared -> waiting for=H,A", "A queue y -> deadlock cycle=A,B");
}

static void r13_a_conversion_that_closes_a_cycle_leaves_the_lease(void **state) {
    (void)state;
    SCRIPT("A queue t?limit=3 ttl=5000 -> granted keep=a", "B queue x -> granted",
           "B queue t?limit=3&units=2 y -> granted", "B release t y -> ok",
           "C queue t?limit=2&units=1 x -> waiting for=B", "A queue x/1 -> waiting",
           "C queue t?limit=2&units=1 x -> waiting", "A queue t?limit=3&units=2 -> deadlock",
           "? A t held token=$a left=4993");
}

static void r13_a_greater_limit_may_close_a_cycle_too(void **state) {
    (void)state;
    SCRIPT("L queue q?shared -> granted", "D queue q p?limit=1 -> waiting for=L",
           "L queue p?shared -> granted", "D queue p?limit=2 -> waiting",
           "D queue p?shared -> deadlock cycle=D", "? D p gone", "? D q p waiting");
}

static void r13_a_cycle_that_formed_unseen_is_found_by_the_next_ask(void **state) {
    (void)state;
    SCRIPT("E queue q?shared -> granted", "L queue p -> granted",
           "L queue p?limit=1 q?limit=2&units=2 -> waiting for=E",
           "L queue p?shared -> granted again",
           "L queue p?limit=1 q?limit=2&units=2 -> deadlock cycle=L", "? live 2");
}

/* ---- R19, R20 -------------------------------------------------------------------------------- */

static void r19_a_note_is_kept_until_another_is_given(void **state) {
    (void)state;
    SCRIPT("A queue x note=one -> granted note=one", "A queue x -> granted note=one",
           "A queue x note=two -> granted note=two", "A renew x -> ok note=two",
           "A queue x note= -> granted note=");
}

static void r20_blockers_are_holders_first_then_by_ticket(void **state) {
    (void)state;
    SCRIPT("A queue p?limit=3 -> granted", "W queue p/x?shared -> granted",
           "V queue p/x -> waiting for=A,W", "B queue p?limit=3 -> waiting for=V",
           "X queue p -> waiting for=A,W,V,B", "V release p/x -> ok", "? B p held",
           "X queue p -> waiting for=A,W,B", "Y try p?limit=2 -> busy for=A,B,X");
}

/* ---- R22 ------------------------------------------------------------------------------------- */

static void r22_bounds(void **state) {
    static const char *const in_all[] = {
        "A queue x -> granted", "B queue y -> granted", "C queue z -> full",   "C try x -> busy",
        "A queue x -> granted", "A release x -> ok",    "C queue z -> granted"};
    static const char *const per_owner[] = {"A queue x -> granted", "A queue y -> full",
                                            "B queue y -> granted", "A release x -> ok",
                                            "A queue z -> granted"};
    static const char *const per_root[] = {"A queue x/1 -> granted", "A queue x/2 y -> granted",
                                           "B queue x/3 -> full",    "B queue y -> waiting",
                                           "C queue z x/3 -> full",  "C queue y/1 -> full"};
    static const char *const waiters[] = {"A queue x -> granted",   "B queue x -> waiting",
                                          "C queue x -> full",      "C queue y x -> full",
                                          "C queue x/y -> waiting", "B queue x -> waiting again",
                                          "B release x -> ok",      "C queue x -> waiting"};

    (void)state;
    script_run(&(struct lk_quotas){.live_max = 2}, in_all, sizeof in_all / sizeof *in_all);
    script_run(&(struct lk_quotas){.live_per_owner_max = 1}, per_owner,
               sizeof per_owner / sizeof *per_owner);
    script_run(&(struct lk_quotas){.live_per_root_max = 2}, per_root,
               sizeof per_root / sizeof *per_root);
    script_run(&(struct lk_quotas){.waiters_per_path_max = 1}, waiters,
               sizeof waiters / sizeof *waiters);
}

/* ---- histories that fuzzing found: model and reference agree on each step -------------------- */

static void found_breaks_and_ends(void **state) {
    (void)state;
    SCRIPT("A wait x ttl=100 note=one max=2 -> granted", "B queue x?shared until=5000 -> waiting",
           "C try x?limit=3&units=2 -> busy", "break x owner=A -> ok", "A renew x ttl=50 -> lost",
           "pass 100 -> ok", "B renew x -> ok", "break x now -> ok",
           "C queue x y -> granted keep=c", "C release y x token=$c -> ok",
           "C release y x token=$c -> ok");
}

static void found_covered_by_an_exclusive_lease(void **state) {
    (void)state;
    SCRIPT("A queue r -> granted", "B queue r -> waiting", "A queue r/p?limit=1 -> granted",
           "B queue r/p?limit=1 -> waiting", "A queue r/p?limit=2 r/q -> waiting",
           "A release r/p -> ok");
}

static void found_granted_into_a_cycle(void **state) {
    (void)state;
    SCRIPT("L queue q?shared -> granted", "D queue q p/x?limit=1&units=1 -> waiting",
           "L queue p/x?shared -> granted", "D queue p/x?limit=2&units=1 -> waiting",
           "D queue p/x?shared note=a-note -> deadlock");
}

static void found_same_moment(void **state) {
    (void)state;
    SCRIPT("+50000/1 C queue d/1?limit=6&units=3 -> granted",
           "+0/4917662 E wait d/2 d d/1?shared -> waiting", "+59850001/59850001 pass -> ok",
           "+1000000/0 E release d/2 d d/1 -> lost");
}

static void found_an_unseen_cycle(void **state) {
    (void)state;
    SCRIPT("E queue q?shared -> granted", "L queue p -> granted",
           "L queue p?limit=1 q?limit=2&units=2 -> waiting", "L queue p?shared -> granted",
           "L queue p?limit=1 q?limit=2&units=2 -> deadlock");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(r3_the_order_of_paths_does_not_matter),
        cmocka_unit_test(r3_other_paths_are_another_request),
        cmocka_unit_test(r3_a_repeated_release_is_answered_as_the_first_time),
        cmocka_unit_test(r3_ended_tokens_are_remembered_for_five_minutes),
        cmocka_unit_test(r3_only_a_named_token_is_remembered),
        cmocka_unit_test(r4_an_immediate_grant_uses_its_ticket),
        cmocka_unit_test(r4_numbers_rise_when_the_wall_clock_falls_back),
        cmocka_unit_test(r7_no_request_overtakes_by_a_part_of_a_batch),
        cmocka_unit_test(r7_each_request_is_checked_against_its_own_limit),
        cmocka_unit_test(r7_an_exclusive_part_counts_no_unit),
        cmocka_unit_test(r8_a_covered_request_is_checked_against_its_limit),
        cmocka_unit_test(r8_covered_requests_pass_all_waiters_once_a_limit_has_room),
        cmocka_unit_test(r8_a_shared_lease_covers_only_shared_requests),
        cmocka_unit_test(r9_a_downgrade_admits_waiters_at_once),
        cmocka_unit_test(r9_a_conversion_passes_waiters),
        cmocka_unit_test(r9_a_refused_conversion_refreshes),
        cmocka_unit_test(r9_a_stronger_waiter_goes_to_the_end),
        cmocka_unit_test(r9_a_weaker_waiter_keeps_its_position),
        cmocka_unit_test(r9_a_refused_try_for_more_keeps_the_position_of_the_waiter),
        cmocka_unit_test(r10_a_refused_try_keeps_only_an_earlier_request),
        cmocka_unit_test(r10_a_grant_to_a_blocked_wait_sets_its_deadline),
        cmocka_unit_test(r11_a_fixed_end_does_not_move),
        cmocka_unit_test(r11_a_ttl_becomes_a_fixed_end),
        cmocka_unit_test(r11_bounds_of_ttl_and_until),
        cmocka_unit_test(r11_a_renewal_at_the_deadline_is_too_late),
        cmocka_unit_test(r11_deadlines_take_effect_in_their_order),
        cmocka_unit_test(r11_nothing_revives_a_lease_at_its_deadline),
        cmocka_unit_test(r11_an_ask_without_ttl_means_a_minute),
        cmocka_unit_test(r11_a_waiting_request_is_not_renewed),
        cmocka_unit_test(r12_a_token_that_is_named_must_match),
        cmocka_unit_test(r12_break_withdraws_and_revokes),
        cmocka_unit_test(r12_a_revoked_lease_is_passed_on_at_its_deadline),
        cmocka_unit_test(r12_break_now_passes_the_lease_on_at_once),
        cmocka_unit_test(r12_a_revoked_lease_covers_no_new_request),
        cmocka_unit_test(r13_a_cycle_of_three),
        cmocka_unit_test(r13_a_cycle_through_a_waiter_ahead),
        cmocka_unit_test(r13_a_conversion_that_closes_a_cycle_leaves_the_lease),
        cmocka_unit_test(r13_a_greater_limit_may_close_a_cycle_too),
        cmocka_unit_test(r13_a_cycle_that_formed_unseen_is_found_by_the_next_ask),
        cmocka_unit_test(r19_a_note_is_kept_until_another_is_given),
        cmocka_unit_test(r20_blockers_are_holders_first_then_by_ticket),
        cmocka_unit_test(r22_bounds),
        cmocka_unit_test(found_breaks_and_ends),
        cmocka_unit_test(found_covered_by_an_exclusive_lease),
        cmocka_unit_test(found_granted_into_a_cycle),
        cmocka_unit_test(found_same_moment),
        cmocka_unit_test(found_an_unseen_cycle),
    };

    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
