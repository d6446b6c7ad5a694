// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.internal.Structs;

/** Counts over the life of a queue; the last four are numbers of items at this moment. */
public record QueueCounts(long pushed, long duplicates, long claims, long steals, long done,
    long retried, long parked, long readyNow, long delayedNow, long claimedNow, long parkedNow) {

    static QueueCounts read(Structs.QueueStats stats) {
        return new QueueCounts(stats.pushed, stats.duplicates, stats.claims, stats.steals,
            stats.done, stats.retried, stats.parked, stats.ready_now, stats.delayed_now,
            stats.claimed_now, stats.parked_now);
    }
}
