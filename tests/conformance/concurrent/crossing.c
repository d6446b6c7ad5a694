/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A restart that forgets goes on from a state that has the calls answered before its kept_us, and
 * of the later ones none, some of the first, or all. What all these states have in common is
 * certain behind the restart; nothing else is.
 */
#include "crossing.h"

#include <string.h>

enum { GRACE_MAX_US = 60000000 }; /* R11 */

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t greatest(int64_t a, int64_t b) {
    return a > b ? a : b;
}

bool sighting_forgets(const struct restart *restart) {
    return restart->kept_us != SIGHTING_NEVER;
}

/*
 * R11: what was live lives at least until now + the smaller of its ttl and 60 s, once. That now
 * is a moment of the store before it was back.
 */
static void give_grace(struct sightings *sightings, size_t number, bool was_live,
                       struct followed *followed) {
    const struct restart *restart = &sightings->restarts[number];
    int64_t former_us = number > 0 ? sightings->restarts[number - 1].back_us : 0;
    int64_t grace_us = restart->gone_us + least(followed->ttl_us, GRACE_MAX_US);
    bool has_grace = was_live && !restart->unnoticed && followed->deadline_us > restart->taken_us
                     && followed->refreshed_us > former_us;
    if (followed->held && has_grace && followed->deadline_us < grace_us) {
        followed->deadline_us = grace_us;
        sightings->graced_count++;
    }
    if (followed->held && followed->deadline_us > restart->gone_us) {
        sightings->stood_count++;
    }
}

/* Whether a path of the call is under a root that went. */
static bool concerns(const struct restart *restart, const struct call *call) {
    for (size_t i = 0; i < call->part_count; i++) {
        char root[SIGHTING_PATH_MAX + 2] = " ";
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
static void cross(struct sightings *sightings, struct crossing *crossing, const struct call *call,
                  struct followed *followed, int64_t end_us) {
    const struct restart *restart = &sightings->restarts[crossing->next];
    bool was_live = followed->held && followed->deadline_us > restart->gone_us;
    if (crossing->has_lost) {
        followed_put_hold(sightings, call, followed, least(restart->gone_us, end_us));
        followed_put_presence(sightings, call, followed, SIGHTING_NEVER);
        *followed = crossing->firm;
        followed->from_us = restart->gone_us;
    }
    give_grace(sightings, crossing->next, was_live, followed);
    crossing->is_crossed = true;
}

static void go_on(struct crossing *crossing) {
    *crossing = (struct crossing){.next = crossing->next + 1};
}

bool crossing_before(struct sightings *sightings, struct crossing *crossing,
                     const struct call *call, struct followed *followed) {
    while (crossing->next < sightings->restart_count) {
        const struct restart *restart = &sightings->restarts[crossing->next];
        if (!concerns(restart, call)) {
            go_on(crossing);
            continue;
        }
        if (!crossing->is_crossed) {
            if (!crossing->has_firm && call->ended_us >= restart->kept_us) {
                crossing->firm = *followed;
                crossing->has_firm = true;
            }
            if (call->ended_us <= restart->gone_us) {
                return false;
            }
            cross(sightings, crossing, call, followed, call->called_us);
        }
        if (call->called_us <= restart->back_us) {
            return sighting_forgets(restart);
        }
        go_on(crossing);
    }
    return false;
}

void crossing_after(const struct sightings *sightings, struct crossing *crossing,
                    const struct call *call, struct followed *followed) {
    struct followed *firm = &crossing->firm;
    if (!crossing->has_firm || crossing->is_crossed) {
        return;
    }
    followed->forgotten_us = sightings->restarts[crossing->next].gone_us;
    crossing->has_lost = true;
    firm->held = firm->held && followed->held;
    if (call->verb == VERB_ASK) {
        followed_weaken(firm, call);
    }
    firm->deadline_us = least(firm->deadline_us, followed->deadline_us);
    firm->ttl_us = least(firm->ttl_us, followed->ttl_us);
    firm->longest_us = greatest(firm->longest_us, followed->longest_us);
    firm->asked_us = firm->asked_us != 0 ? firm->asked_us : call->called_us;
    firm->may_stand = true;
    firm->ungranted_us = 0;
    if (firm->arrival != followed->arrival) {
        firm->arrival = NULL;
    }
    if (firm->ticket != followed->ticket || firm->token != followed->token) {
        firm->disputed = true;
        firm->token = firm->token > followed->token ? firm->token : followed->token;
        memset(firm->drawn_for, 0, sizeof firm->drawn_for);
    }
}

void crossing_end(struct sightings *sightings, struct crossing *crossing, const struct call *last,
                  struct followed *followed) {
    while (crossing->next < sightings->restart_count) {
        if (!crossing->is_crossed && concerns(&sightings->restarts[crossing->next], last)) {
            cross(sightings, crossing, last, followed, SIGHTING_NEVER);
        }
        go_on(crossing);
    }
}
