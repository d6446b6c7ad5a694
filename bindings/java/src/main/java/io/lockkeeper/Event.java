// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import io.lockkeeper.internal.Functions;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs.WatchEvent;
import java.time.Instant;
import java.util.List;

/**
 * An event of a store (rule R21). `kind` is "granted", "released", ..., or "gap": the events up to
 * `sequence` are not known. Texts that do not apply to the kind are null, and so
 * is `user`, whose owner it is, but of a service with users.
 */
public record Event(String kind, Outcome refusal, long sequence, Instant at, List<String> paths,
    List<String> parts, String owner, String note, long ticket, long token, String queue,
    String id, long attempt, boolean isDeletion, String by, String reason, String user) {

    static Event read(Pointer event) {
        WatchEvent one = new WatchEvent(event);
        return new Event(Memories.string(Functions.LIBRARY.lk_watch_kind_name(one.kind)),
            Outcome.of(one.refusal), one.sequence, Instant.ofEpochMilli(one.at_unix_ms),
            Memories.strings(one.paths, one.part_count),
            Memories.strings(one.parts, one.part_count), Memories.string(one.owner),
            Memories.string(one.note), one.ticket, one.token, Memories.string(one.queue),
            Memories.string(one.id), Integer.toUnsignedLong(one.attempt), one.is_deletion != 0,
            Memories.string(one.by), Memories.string(one.reason), Memories.string(one.user));
    }
}
