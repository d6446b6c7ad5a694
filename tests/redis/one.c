/* SPDX-License-Identifier: Apache-2.0 */
/* Asks and releases in short. */
#include "one.h"

#include <stdio.h>
#include <stdlib.h>

#include "../calls.h"
#include "base/clock.h"

#define PATIENCE_US INT64_C(60000000)

_Noreturn void one_give_up(const char *what, const char *why) {
    (void)printf("Bail out! %s: %s\n", what, why);
    exit(1);
}

struct lk_patience one_patience(void) {
    return (struct lk_patience){.until_us = lk_clock_now_us() + PATIENCE_US};
}

void one_name(struct one *one, const char *format, unsigned root, unsigned number) {
    *one = (struct one){.part = {.mode = LK_EXCLUSIVE}};
    (void)snprintf(one->text, sizeof one->text, format, root, number);
    (void)snprintf(one->owner, sizeof one->owner, "owner %u", number);
    (void)lk_path_parse(lk_slice_of(one->text), &one->part.path, NULL);
}

void one_ask(struct lk_engine *engine, struct one *one, lk_style style, int64_t ttl_ms,
             lk_outcome expected) {
    const struct lk_patience until = one_patience();
    const struct lk_ask asked = {.owner = lk_slice_of(one->owner),
                                 .parts = &one->part,
                                 .part_count = 1,
                                 .style = style,
                                 .ttl_ms = ttl_ms};
    lk_result result = {.outcome = LK_OK};

    if (call_ask(engine, &asked, &until, &result) != expected) {
        one_give_up(one->text,
                    result.error != NULL ? result.error : lk_outcome_name(result.outcome));
    }
    one->token = result.token;
    lk_result_clear(&result);
}

lk_outcome one_try_release(struct lk_engine *engine, const struct one *one) {
    const struct lk_patience until = one_patience();
    const struct lk_release released = {.target = {.owner = lk_slice_of(one->owner),
                                                   .parts = &one->part,
                                                   .part_count = 1,
                                                   .token = one->token}};
    lk_result result = {.outcome = LK_OK};
    lk_outcome outcome = call_release(engine, &released, &until, &result);

    lk_result_clear(&result);
    return outcome;
}

void one_release(struct lk_engine *engine, const struct one *one) {
    lk_outcome outcome = one_try_release(engine, one);

    if (outcome != LK_OK) {
        one_give_up(one->text, lk_outcome_name(outcome));
    }
}
