/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges what keepers saw (keeper.c). Tokens order all: a value, a touch of a resource and a claim
 * have the token of the lease that they came under, and no clock is needed to tell which is older.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence.h"

enum { PRINTED_MAX = 20 };

static bool may_print(size_t count) {
    return count <= PRINTED_MAX;
}

static bool is_answered(const struct call *call) {
    return call->answered_us != EVIDENCE_NEVER;
}

static bool is_acknowledged(const struct call *call) {
    return is_answered(call) && call->outcome == LK_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool puts_at(const struct call *call, const char *path) {
    return call->verb == VERB_RELEASE && call->named != 0 && strcmp(call->parts[0].path, path) == 0;
}

/* The grant came with the value that was put last under a smaller token, as far as is known. */
static void check_value(const struct evidence *evidence, const struct call *grant,
                        struct kept *kept) {
    const char *path = grant->parts[0].path;
    uint64_t seen = strtoull(grant->given, NULL, 10);
    const char *wrong = NULL;
    uint64_t missing = 0;
    bool may_be_put = seen == 0;
    for (size_t i = 0; i < evidence->call_count; i++) {
        const struct call *put = &evidence->calls[i];
        if (!puts_at(put, path)) {
            continue;
        }
        if (put->named == seen && (!is_answered(put) || put->outcome == LK_OK)) {
            may_be_put = true;
        }
        if (is_acknowledged(put) && put->named > seen && put->named < grant->token) {
            missing = put->named;
        }
    }
    if (seen >= grant->token) {
        wrong = "which no earlier lease has put";
    } else if (!may_be_put) {
        wrong = "which was never put";
    } else if (missing != 0) {
        wrong = "and the acknowledged one behind it is lost";
    }
    kept->values++;
    if (wrong != NULL && may_print(++kept->value)) {
        printf("# violation value: %s was granted %s with token %" PRIu64
               " and value %s, %s (%" PRIu64 ")\n",
               grant->owner, path, grant->token, grant->given, wrong, missing);
    }
}

static void check_values(const struct evidence *evidence, struct kept *kept) {
    for (size_t i = 0; i < evidence->call_count; i++) {
        const struct call *call = &evidence->calls[i];
        if (call->verb == VERB_ASK && call->given[0] != '\0') {
            check_value(evidence, call, kept);
        }
    }
}

/* ---- the resource ---------------------------------------------------------------------------- */

/* Whether the touch, which lies within the hold, says that another held the lease meanwhile. */
static bool is_contradicted(const struct hold *hold, const struct touch *touch) {
    bool is_own = strcmp(hold->owner, touch->owner) == 0 && hold->token == touch->token;
    bool is_accepted = touch->before <= touch->token;
    if (is_own) {
        return !is_accepted; /* a greater token was there before the lease was over */
    }
    return is_accepted && touch->token > hold->token;
}

static void check_touches(const struct evidence *evidence, struct kept *kept) {
    for (size_t i = 0; i < evidence->touch_count; i++) {
        const struct touch *touch = &evidence->touches[i];
        kept->touches++;
        kept->refused += touch->before > touch->token ? 1 : 0;
        for (size_t j = 0; j < evidence->hold_count; j++) {
            const struct hold *hold = &evidence->holds[j];
            if (hold->from_us <= touch->begun_us && hold->to_us >= touch->ended_us
                && !hold->parts[0].shared && strcmp(hold->parts[0].path, touch->path) == 0
                && is_contradicted(hold, touch) && may_print(++kept->fence)) {
                printf("# violation fence: %s used %s with token %" PRIu64
                       ", which had seen %" PRIu64 ", while %s held it with token %" PRIu64 "\n",
                       touch->owner, touch->path, touch->token, touch->before, hold->owner,
                       hold->token);
            }
        }
    }
}

/* ---- work ------------------------------------------------------------------------------------ */

/* A call on an item, or a claim that gave it. */
struct deed {
    char item[EVIDENCE_GIVEN_MAX];
    const struct call *call;
};

static int compare_deeds(const void *a, const void *b) {
    const struct deed *left = a;
    const struct deed *right = b;
    int order = strcmp(left->item, right->item);
    return order != 0 ? order
                      : (left->call->called_us > right->call->called_us)
                            - (left->call->called_us < right->call->called_us);
}

static void report_work(struct kept *kept, const struct deed *deed, const char *what) {
    if (may_print(++kept->work)) {
        printf("# violation work: item %s (%s, call %lu at %" PRId64 ", token %" PRIu64 "): %s\n",
               deed->item, deed->call->owner, deed->call->number, deed->call->called_us,
               deed->call->token + deed->call->named, what);
    }
}

static bool is_claim(const struct call *call) {
    return call->verb == VERB_CLAIM && is_answered(call) && call->outcome == LK_GRANTED;
}

/* Until when the claim certainly stood: its ttl, or the call that may have ended it. */
static int64_t claim_end_us(const struct deed *deeds, size_t count, const struct call *claim) {
    int64_t end_us = claim->called_us + claim->promise_us;
    for (size_t i = 0; i < count; i++) {
        const struct call *call = deeds[i].call;
        if (!is_claim(call) && call->named == claim->token && call->called_us < end_us) {
            end_us = call->called_us;
        }
    }
    return end_us;
}

/* Two claims of one item, of which the second was called later. */
static void compare_claims(struct kept *kept, const struct deed *deeds, size_t count,
                           const struct deed *first, const struct deed *second) {
    const struct call *a = first->call;
    const struct call *b = second->call;
    int64_t a_end_us = claim_end_us(deeds, count, a);
    int64_t b_end_us = claim_end_us(deeds, count, b);
    if (a->answered_us < b_end_us && b->answered_us < a_end_us) {
        report_work(kept, second, "is claimed by another already");
    }
    if (a->token == b->token || (a->answered_us < b->called_us && a->token > b->token)) {
        report_work(kept, second, "its token does not rise");
    }
}

static void compare_end(struct kept *kept, const struct deed *end, const struct deed *other) {
    if (is_claim(other->call) && other->call->called_us > end->call->answered_us) {
        report_work(kept, other, "is claimed behind its acknowledged end");
    }
    if (is_claim(other->call) && other->call->token > end->call->named
        && other->call->answered_us < end->call->called_us) {
        report_work(kept, end, "is ended by an older claim");
    }
    if (other > end && other->call->verb == VERB_DONE && is_acknowledged(other->call)
        && other->call->named != end->call->named) {
        report_work(kept, other, "is ended twice");
    }
}

/* All calls about one item. */
static void check_item(const struct evidence *evidence, struct kept *kept, const struct deed *deeds,
                       size_t count) {
    const struct deed *pushed = NULL;
    bool acknowledged = false;
    bool may_be_done = false;
    kept->items++;
    for (size_t i = 0; i < count; i++) {
        const struct call *call = deeds[i].call;
        if (call->verb == VERB_PUSH) {
            pushed = &deeds[i];
            acknowledged = is_acknowledged(call);
        }
        may_be_done = may_be_done
                      || (call->verb == VERB_DONE && (!is_answered(call) || is_acknowledged(call)));
        kept->claims += is_claim(call) ? 1 : 0;
        for (size_t j = i + 1; is_claim(call) && j < count; j++) {
            if (is_claim(deeds[j].call)) {
                compare_claims(kept, deeds, count, &deeds[i], &deeds[j]);
            }
        }
        for (size_t j = 0; call->verb == VERB_DONE && is_acknowledged(call) && j < count; j++) {
            compare_end(kept, &deeds[i], &deeds[j]);
        }
    }
    if (pushed == NULL) {
        report_work(kept, &deeds[0], "was never pushed");
    } else if (acknowledged && !may_be_done && evidence->drained_us != 0) {
        report_work(kept, pushed, "is lost: it was pushed, and never done");
    }
}

static void check_work(const struct evidence *evidence, struct kept *kept) {
    struct deed *deeds = NULL;
    size_t count = 0;
    for (size_t i = 0; i < evidence->call_count; i++) {
        const struct call *call = &evidence->calls[i];
        if (call_locks(call) || (call->verb == VERB_CLAIM && !is_claim(call))) {
            continue;
        }
        deeds = evidence_grow(deeds, count, sizeof *deeds);
        struct deed *deed = &deeds[count++];
        const char *slash = strchr(call->parts[0].path, '/');
        *deed = (struct deed){.call = call};
        snprintf(deed->item, sizeof deed->item, "%s",
                 is_claim(call) || slash == NULL ? call->given : slash + 1);
    }
    if (count > 0) {
        qsort(deeds, count, sizeof *deeds, compare_deeds);
    }
    for (size_t from = 0, to = 0; from < count; from = to) {
        while (to < count && strcmp(deeds[to].item, deeds[from].item) == 0) {
            to++;
        }
        check_item(evidence, kept, deeds + from, to - from);
    }
    free(deeds);
}

/* ---- progress -------------------------------------------------------------------------------- */

static int64_t last_fault_us(const struct evidence *evidence) {
    int64_t last_us = 0;
    for (size_t i = 0; i < evidence->fault_count; i++) {
        last_us = evidence->faults[i].ended_us > last_us ? evidence->faults[i].ended_us : last_us;
    }
    return last_us;
}

static bool same_root(const char *a, const char *b) {
    size_t size = strcspn(a, "/");
    return size == strcspn(b, "/") && memcmp(a, b, size) == 0;
}

static bool is_granted_behind(const struct evidence *evidence, const char *path, int64_t us) {
    for (size_t i = evidence->call_count; i > 0; i--) {
        const struct call *call = &evidence->calls[i - 1];
        for (size_t j = 0; call->called_us > us && call->verb == VERB_ASK && is_answered(call)
                           && call->outcome == LK_GRANTED && j < call->part_count;
             j++) {
            if (same_root(call->parts[j].path, path)) {
                return true;
            }
        }
    }
    return false;
}

/* Faults are over at the end of a history; then every root is granted again, and work is done. */
static void check_progress(const struct evidence *evidence, struct kept *kept) {
    int64_t last_us = last_fault_us(evidence);
    char stuck[EVIDENCE_PATH_MAX] = "";
    bool has_work = false;
    for (size_t i = 0; last_us != 0 && i < evidence->call_count; i++) {
        const struct call *call = &evidence->calls[i];
        has_work = has_work || !call_locks(call);
        if (call->verb == VERB_ASK && (stuck[0] == '\0' || !same_root(stuck, call->parts[0].path))
            && !is_granted_behind(evidence, call->parts[0].path, last_us)) {
            memcpy(stuck, call->parts[0].path, sizeof stuck);
            kept->progress++;
            printf("# violation progress: nothing is granted at %s behind the last fault\n", stuck);
        }
    }
    if (has_work && evidence->drained_us < last_us) {
        kept->progress++;
        printf("# violation progress: work is left\n");
    }
}

void kept_check(const struct evidence *evidence, struct kept *ret_kept) {
    *ret_kept = (struct kept){0};
    check_values(evidence, ret_kept);
    check_touches(evidence, ret_kept);
    check_work(evidence, ret_kept);
    check_progress(evidence, ret_kept);
    for (size_t i = 0; i < evidence->call_count; i++) {
        const struct call *call = &evidence->calls[i];
        if (is_answered(call) && call->outcome == LK_INTERNAL && may_print(++ret_kept->defect)) {
            printf("# violation defect: %s call %lu was answered INTERNAL\n", call->owner,
                   call->number);
        }
    }
}
