// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.internal.Structs;
import java.time.Duration;

/**
 * Counts over the life of a queue; those named ...Now are numbers of items at this moment.
 *
 * @param doneNow items that are done, and kept with their results
 * @param oldestReady for how long the oldest ready item has been; null: none is
 */
public record QueueCounts(long pushed, long duplicates, long claims, long steals, long done,
    long retried, long parked, long readyNow, long delayedNow, long claimedNow, long parkedNow,
    long doneNow, Duration oldestReady) {

    static QueueCounts read(Structs.QueueStats stats) {
        return new QueueCounts(stats.pushed, stats.duplicates, stats.claims, stats.steals,
            stats.done, stats.retried, stats.parked, stats.ready_now, stats.delayed_now,
            stats.claimed_now, stats.parked_now, stats.done_now,
            stats.oldest_ready_ms < 0 ? null : Duration.ofMillis(stats.oldest_ready_ms));
    }
}
