/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that watches receive (R21), over crashes and failed writes: a number always denotes the
 * same event, and no event is skipped without a gap.
 */
#include <inttypes.h>

#include "sim.h"

static void check_one(struct sim *sim, uint64_t sequence, uint64_t sum) {
    uint64_t *known;

    if (sequence >= SIM_EVENTS_KNOWN) {
        sim_fail(sim, "event %" PRIu64 ": there are too many", sequence);
        return;
    }
    known = &sim->events_known[sequence];
    if (*known != 0 && *known != sum) {
        sim_fail(sim, "event %" PRIu64 " is not the one that was answered before", sequence);
    }
    *known = sum;
    sim->events_answered++;
}

void check_events(struct sim *sim, const struct sim_client *client,
                  const struct sim_answer *answer) {
    uint64_t at = client->call.selection.after;

    for (size_t i = 0; i < answer->event_count; i++) {
        uint64_t sequence = answer->events[i].sequence;

        if (answer->events[i].sum == 0) {
            sim->gaps_answered++;
        } else {
            if (at != 0 && sequence != at + 1) {
                sim_fail(sim, "event %" PRIu64 " comes behind %" PRIu64, sequence, at);
            }
            check_one(sim, sequence, answer->events[i].sum);
        }
        at = sequence;
    }
    if (at != 0 && at != answer->last) {
        sim_fail(sim, "events from %" PRIu64 " to %" PRIu64 " are passed over", at, answer->last);
    }
}
