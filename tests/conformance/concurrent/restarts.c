/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A restart that forgets goes on from a state that has the calls answered before its kept_us, and
 * of the later ones none, some of the first, or all. What all these states have in common is
 * certain behind the restart; nothing else is.
 */
#include <string.h>

#include "evidence.h"

enum { GRACE_MAX_US = 60000000 }; /* R11 */

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t greatest(int64_t a, int64_t b) {
    return a > b ? a : b;
}

bool restart_forgets(const struct restart *restart) {
    return restart->kept_us != EVIDENCE_NEVER;
}

/*
 * R11: what was live lives at least until now + the smaller of its ttl and 60 s, once. That now
 * is a moment of the store before it was back.
 */
static void give_grace(struct evidence *evidence, size_t number, bool was_live,
                       struct followed *followed) {
    const struct restart *restart = &evidence->restarts[number];
    int64_t former_us = number > 0 ? evidence->restarts[number - 1].back_us : 0;
    int64_t grace_us = restart->gone_us + least(followed->ttl_us, GRACE_MAX_US);
    bool has_grace = was_live && !restart->unnoticed && followed->deadline_us > restart->taken_us
                     && followed->refreshed_us > former_us;
    if (followed->held && has_grace && followed->deadline_us < grace_us) {
        followed->deadline_us = grace_us;
        evidence->graced_count++;
    }
    if (followed->held && followed->deadline_us > restart->down_us) {
        evidence->stood_count++;
    }
}

/* Whether a path of the call is under a root that went. */
static bool concerns(const struct restart *restart, const struct call *call) {
    for (size_t i = 0; i < call->part_count; i++) {
        char root[EVIDENCE_PATH_MAX + 2] = " ";
        size_t size = strcspn(call->parts[i].path, "/");
        memcpy(root + 1, call->parts[i].path, size);
        root[size + 1] = ' ';
        if (restart->roots[0] == '\0' || strstr(restart->roots, root) != NULL) {
            return true;
        }
    }
    return false;
}

/* `end_us`: when the next call began, which may have changed what is held. */
static void cross(struct evidence *evidence, struct restart_cursor *cursor, const struct call *call,
                  struct followed *followed, int64_t end_us) {
    const struct restart *restart = &evidence->restarts[cursor->next];
    bool was_live = followed->held && followed->deadline_us > restart->down_us;
    if (cursor->has_lost) {
        followed_put_hold(evidence, call, followed, least(restart->gone_us, end_us));
        followed_put_presence(evidence, call, followed, EVIDENCE_NEVER);
        *followed = cursor->baseline;
        followed->from_us = restart->gone_us;
    } else if (restart_forgets(restart) && followed->held
               && followed->deadline_us <= restart->gone_us) {
        /* It may have perished, and be live again in the state from which the store goes on. */
        followed_put_hold(evidence, call, followed, least(followed->deadline_us, end_us));
        followed->from_us = restart->back_us;
    }
    give_grace(evidence, cursor->next, was_live, followed);
    cursor->is_crossed = true;
}

static void go_on(struct restart_cursor *cursor) {
    *cursor = (struct restart_cursor){.next = cursor->next + 1};
}

bool restarts_before(struct evidence *evidence, struct restart_cursor *cursor,
                     const struct call *call, struct followed *followed) {
    while (cursor->next < evidence->restart_count) {
        const struct restart *restart = &evidence->restarts[cursor->next];
        if (!concerns(restart, call)) {
            go_on(cursor);
            continue;
        }
        if (!cursor->is_crossed) {
            if (!cursor->has_baseline && call->ended_us >= restart->kept_us) {
                cursor->baseline = *followed;
                cursor->has_baseline = true;
            }
            if (call->ended_us <= restart->gone_us) {
                return false;
            }
            cross(evidence, cursor, call, followed, call->called_us);
        }
        if (call->called_us <= restart->back_us) {
            return restart_forgets(restart);
        }
        go_on(cursor);
    }
    return false;
}

void restarts_after(const struct evidence *evidence, struct restart_cursor *cursor,
                    const struct call *call, struct followed *followed) {
    struct followed *baseline = &cursor->baseline;
    if (!cursor->has_baseline || cursor->is_crossed) {
        return;
    }
    followed->forgotten_us = evidence->restarts[cursor->next].gone_us;
    cursor->has_lost = true;
    baseline->held = baseline->held && followed->held;
    if (call->verb == VERB_ASK) {
        followed_weaken(baseline, call);
    }
    baseline->deadline_us = least(baseline->deadline_us, followed->deadline_us);
    baseline->ttl_us = least(baseline->ttl_us, followed->ttl_us);
    baseline->longest_us = greatest(baseline->longest_us, followed->longest_us);
    baseline->asked_us = baseline->asked_us != 0 ? baseline->asked_us : call->called_us;
    baseline->may_stand = true;
    baseline->ungranted_us = 0;
    if (baseline->arrival != followed->arrival) {
        baseline->arrival = NULL;
    }
    if (baseline->ticket != followed->ticket || baseline->token != followed->token) {
        baseline->disputed = true;
        baseline->token = baseline->token > followed->token ? baseline->token : followed->token;
        memset(baseline->drawn_for, 0, sizeof baseline->drawn_for);
    }
}

void restarts_end(struct evidence *evidence, struct restart_cursor *cursor, const struct call *last,
                  struct followed *followed) {
    while (cursor->next < evidence->restart_count) {
        if (!cursor->is_crossed && concerns(&evidence->restarts[cursor->next], last)) {
            cross(evidence, cursor, last, followed, EVIDENCE_NEVER);
        }
        go_on(cursor);
    }
}
