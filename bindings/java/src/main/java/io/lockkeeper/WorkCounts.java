// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.internal.Structs;

/** What has become of the items of one Work so far; lk_work_counts. */
public record WorkCounts(long claims, long steals, long done, long retried, long parked, long lost,
    long unknown, long announced, long duplicates, long left, long skipped) {

    static WorkCounts read(Structs.WorkCounts counts) {
        return new WorkCounts(counts.claims, counts.steals, counts.done, counts.retried,
            counts.parked, counts.lost, counts.unknown, counts.announced, counts.duplicates,
            counts.left, counts.skipped);
    }
}
