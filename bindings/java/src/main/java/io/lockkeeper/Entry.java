// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * One part of a live request. `note` may be null; `token` is 0 while it waits, and `limit` where
 * there is none. Blockers are named by Store.show() only; `position` is how many there are. `user` is whose owner it is, of a
 * service with users; else null.
 */
public record Entry(String path, String owner, String note, long ticket, long token,
    boolean isHeld, boolean isShared, boolean isRevoked, long limit, long units, Duration ttl,
    Duration left, Duration age, List<Blocker> blockers, long position, String user) {

    static List<Entry> read(Pointer listing) {
        Structs.Listing list = new Structs.Listing(listing);
        List<Entry> entries = new ArrayList<>();
        long size = new Structs.Entry().size();
        for (long i = 0; i < list.count; i++) {
            Structs.Entry one = new Structs.Entry(list.entries.share(i * size));
            entries.add(new Entry(Memories.string(one.path), Memories.string(one.owner),
                Memories.string(one.note), one.ticket, one.token, one.held != 0, one.shared != 0,
                one.revoked != 0, Integer.toUnsignedLong(one.limit),
                Integer.toUnsignedLong(one.units), Duration.ofMillis(one.ttl_ms),
                Duration.ofMillis(Math.max(0, one.expires_in_ms)), Duration.ofMillis(one.age_ms),
                Blocker.read(one.blockers, one.blocker_count), one.position,
                Memories.string(one.user)));
        }
        return List.copyOf(entries);
    }
}
