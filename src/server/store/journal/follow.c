/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A follower: what it sees of the leader, and the state that it keeps for the case that it has to
 * take over.
 *
 * No two clocks are compared. A follower takes over when it has seen the leader's record unchanged
 * for the time of the lease, on its own clock; what the home was away does not count. Taking over
 * too early costs an interruption and nothing else: the former leader's transactions fail from then
 * on.
 *
 * Entries of the log and snapshots are never changed once they are valid, so what was read stays
 * true, and each look reads the entries behind it. If some are missing, the leader has deleted them
 * meanwhile, and the next attempt begins with its new snapshot. Only if the home was restored from
 * a copy may there be other entries of the same numbers. That takes it away for a while, and
 * another epoch begins: what was read before such a while counts only if the epoch is still the
 * same.
 */
#include <string.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "server/store/journal/state.h"

#define LOOK_US INT64_C(200000)        /* a look that takes longer counts as one of so long */
#define READ_AGAIN_US INT64_C(1000000) /* after reading has failed */

void lk_journal_image_drop(struct lk_journal *store) {
    lk_journal_image_close(store->image);
    store->image = NULL;
    store->applied = 0;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* Whether what was read has led to what is found now. */
static bool is_continued(const struct lk_journal *store, const struct lk_journal_leader *found,
                         uint64_t revision, int64_t now_us) {
    const struct lk_journal_leader *known = &store->leader;
    bool is_same = found->epoch == known->epoch && strcmp(found->process, known->process) == 0;
    bool was_away = store->observed.has_failed
                    || now_us - store->observed.last_us > lk_max(known->lease_us, LOOK_US);

    return revision >= store->observed.revision && found->last >= store->applied
           && (is_same || !was_away);
}

/* Of the time that the look took little counts: the home may have been away for the leader, too. */
static void keep_observation(struct lk_journal_observation *observed, uint64_t revision,
                             int64_t begun_us, int64_t now_us) {
    if (revision != observed->revision) {
        *observed = (struct lk_journal_observation){.revision = revision, .first_us = now_us};
    } else if (!observed->has_failed) {
        observed->counted_us += lk_min(now_us, begun_us + LOOK_US) - observed->last_us;
    }
    observed->last_us = now_us;
    observed->has_failed = false;
}

void lk_journal_observe(struct lk_journal *store, const struct lk_journal_leader *found,
                        uint64_t revision, int64_t begun_us, int64_t took_us) {
    if (!is_continued(store, found, revision, begun_us)) {
        lk_journal_image_drop(store);
    }
    if (found->snapshot != store->leader.snapshot) {
        store->snapshot_bytes = store->log_bytes = 0;
    }
    store->leader = *found;
    keep_observation(&store->observed, revision, begun_us, begun_us + took_us);
}

bool lk_journal_may_lead(const struct lk_journal *store) {
    const struct lk_journal_leader *leader = &store->leader;

    return store->observed.revision == 0 || leader->is_free
           || strcmp(leader->process, store->process) == 0
           || store->observed.counted_us >= leader->lease_us;
}

/* ---- keeping up ------------------------------------------------------------------------------ */

/*
 * Not while the home is slow, which this would not help. The time that it takes counts as that of a
 * look: if the home is away or slow, the leader may be silent for that. A failure is told when it
 * matters, by load().
 */
void lk_journal_keep_up(struct lk_journal *store, int64_t now_us, int64_t took_us) {
    int64_t begun_us = lk_clock_now_us();
    lk_error error;

    if (took_us > LOOK_US || now_us < store->read_after_us) {
        return;
    }
    if (lk_journal_replay(store, &error) != LK_OK) {
        store->observed.has_failed = error.outcome == LK_UNAVAILABLE;
        store->read_after_us = now_us + READ_AGAIN_US;
    }
    store->observed.last_us += lk_max(lk_clock_now_us() - begun_us - LOOK_US, 0);
}
