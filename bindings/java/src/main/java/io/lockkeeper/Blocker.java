// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs.BlockerInfo;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A request in the way of another one. `note` may be null; `isHeld` false: it waits, too. `user` is
 * whose owner it is, of a service with users; else null.
 */
public record Blocker(String path, String owner, String note, boolean isHeld, Duration left,
    String user) {
    static List<Blocker> read(Pointer array, long count) {
        List<Blocker> blockers = new ArrayList<>();
        long size = new BlockerInfo().size();
        for (long i = 0; i < count; i++) {
            BlockerInfo one = new BlockerInfo(array.share(i * size));
            blockers.add(new Blocker(Memories.string(one.path), Memories.string(one.owner),
                Memories.string(one.note), one.held != 0,
                Duration.ofMillis(Math.max(0, one.expires_in_ms)), Memories.string(one.user)));
        }
        return List.copyOf(blockers);
    }
}
