// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * An item of a queue: "ready", "delayed", "claimed", "parked"; "again": claimed, and new work when
 * the claim ends; "cancelled": claimed, and removed when the claim ends; or "done": its value is its
 * result, and it is forgotten when `dueIn` is over. null is what it does not have: a value, an owner
 * and `left` unless it is claimed, `dueIn` unless it is delayed or done, what its last failure told,
 * a user, a progress.
 */
public record ItemInfo(String id, String owner, byte[] value, String state, long attempts,
    Duration dueIn, Duration left, List<String> needs, int priority, Integer lastExit,
    byte[] lastError, String user, byte[] progress) {

    static List<ItemInfo> read(Pointer place) {
        Structs.ItemList list = new Structs.ItemList(place);
        List<ItemInfo> items = new ArrayList<>();
        long size = new Structs.ItemInfo().size();
        for (long i = 0; i < list.count; i++) {
            Structs.ItemInfo one = new Structs.ItemInfo(list.items.share(i * size));
            items.add(new ItemInfo(Memories.string(one.id), Memories.string(one.owner),
                Memories.octets(one.value, one.value_size), Memories.string(one.state),
                Integer.toUnsignedLong(one.attempts), duration(one.due_in_ms),
                duration(one.expires_in_ms), Memories.strings(one.needs, one.need_count),
                one.priority, one.has_last_exit == 0 ? null : one.last_exit,
                Memories.octets(one.last_error, one.last_error_size), Memories.string(one.user),
                Memories.octets(one.progress, one.progress_size)));
        }
        return List.copyOf(items);
    }

    private static Duration duration(long ms) {
        return ms < 0 ? null : Duration.ofMillis(ms);
    }
}
