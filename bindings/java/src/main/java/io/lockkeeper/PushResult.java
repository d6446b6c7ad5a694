// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs;

/**
 * What a push has found and done. `changed`: the item that was there has what the push said. `was`:
 * the state that it was in, as in {@link ItemInfo}; null: added.
 */
public record PushResult(boolean added, boolean changed, String was) {
    static PushResult read(Structs.PushResult raw) {
        return new PushResult(raw.added != 0, raw.changed != 0, Memories.string(raw.was));
    }
}
